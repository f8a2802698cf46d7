//go:build unix && !linux

package pycode

import (
	"os/exec"
	"syscall"
)

const supported = true

// apart gives a command a process group of its own.
func apart(cmd *exec.Cmd, _ bool) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
