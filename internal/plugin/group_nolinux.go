//go:build unix && !linux

package plugin

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a program a process group.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
