package pycode

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
)

const supported = true

// apart gives a command a process group of its own, and where the system allows it a
// world without network and without other processes, which ends with its first process.
func apart(cmd *exec.Cmd, groupOnly bool) {
	cmd.SysProcAttr = group()
	if !groupOnly && namespaces() {
		cmd.SysProcAttr = world()
	}
}

// group is a process group that ends with this program.
func group() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// world is a group in namespaces of its own.
func world() *syscall.SysProcAttr {
	a := group()
	a.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	return a
}

// namespaces reports whether the system lets this program make them; containers often
// do not.
var namespaces = sync.OnceValue(func() bool {
	name, err := exec.LookPath("true")
	if err != nil {
		return false
	}
	cmd := exec.Command(name)
	cmd.SysProcAttr = world()
	return cmd.Run() == nil
})

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
