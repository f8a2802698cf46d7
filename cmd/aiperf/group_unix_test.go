//go:build unix

package main

import (
	"syscall"
)

// ownGroup puts a child into a process group of its own, as a shell does with
// a job: a signal to the group is a Ctrl-C at the terminal.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// signal sends sig to the program and to all that share its group.
func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := syscall.Kill(-p.cmd.Process.Pid, sig); err != nil && err != syscall.ESRCH {
		p.t.Fatal(err)
	}
}
