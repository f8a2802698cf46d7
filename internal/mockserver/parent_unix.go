//go:build unix && !linux

package mockserver

import "syscall"

// childAttributes keep a terminal's Ctrl-C away from the child: the client
// drains first.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// followParent has nothing to do: the end of stdin tells.
func followParent(int) error { return nil }
