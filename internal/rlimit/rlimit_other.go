//go:build !unix

package rlimit

func Raise() {}

func Descriptors() (limit, open int, ok bool) { return 0, 0, false }
