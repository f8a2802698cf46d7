package plugin

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a program a process group, and an end with this program.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
