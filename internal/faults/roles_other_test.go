//go:build unix && !linux

package faults

// roles are what a copy of this binary can be.
func roles() map[string]func() { return nil }
