//go:build unix

package live

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// apart starts a process in a group of its own: what is sent to the group of the
// one it watches does not reach it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// deaf lets no signal of a terminal end or stop this process. SIGTTOU would stop
// one that sets a terminal from the background.
func deaf() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTOU,
		syscall.SIGTTIN)
}

// foreground is the process group that has the terminal, 0 if nobody can tell.
func foreground(tty *os.File) int {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}
