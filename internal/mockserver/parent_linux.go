package mockserver

import (
	"fmt"
	"os"
	"syscall"
)

// childAttributes make the kernel end the child with the thread that started
// it, and keep a terminal's Ctrl-C away from it: the client drains first.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// followParent refuses to start when the parent died before the kernel was
// told to link our lives.
func followParent(pid int) error {
	if os.Getppid() != pid {
		return fmt.Errorf("mock-server: process %d, which started this one, is gone", pid)
	}
	return nil
}
