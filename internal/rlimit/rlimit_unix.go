//go:build unix

package rlimit

import (
	"math"
	"syscall"
)

// Raise lifts the soft limit on open files to the hard one. Where
// that is refused the limit stays, and Descriptors tells.
func Raise() {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) == nil && r.Cur < r.Max {
		r.Cur = r.Max
		syscall.Setrlimit(syscall.RLIMIT_NOFILE, &r) //nolint:errcheck // see above
	}
}

// Descriptors is the limit on open files and how many are open.
func Descriptors() (limit, open int, ok bool) {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return 0, 0, false
	}
	return int(min(uint64(r.Cur), math.MaxInt32)), openDescriptors(), true
}
