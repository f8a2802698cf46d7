//go:build !unix

package transport

func raiseDescriptors() {}

func descriptors() (limit, open int, ok bool) { return 0, 0, false }
