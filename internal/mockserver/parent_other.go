//go:build !unix

package mockserver

import "syscall"

func childAttributes() *syscall.SysProcAttr { return nil }

// followParent has nothing to do: the end of stdin tells.
func followParent(int) error { return nil }
