//go:build unix

package hook

import (
	"os/exec"
	"syscall"
)

// OwnGroup gives the command a process group: Ctrl-C is not its business, and
// who ends it ends what it started. The function that is returned ends the rest
// of the group at once.
func OwnGroup(cmd *exec.Cmd) (end func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	signal := func(s syscall.Signal) error {
		if cmd.Process == nil {
			return nil
		}
		return syscall.Kill(-cmd.Process.Pid, s)
	}
	cmd.Cancel = func() error { return signal(syscall.SIGTERM) }
	return func() { _ = signal(syscall.SIGKILL) } // mostly nothing is left
}
