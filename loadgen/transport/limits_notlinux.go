//go:build !linux

package transport

func localPorts() (n int, ok bool) { return 0, false }

func openDescriptors() int { return 0 }
