//go:build !unix

package plugin

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {} // there are none

// endGroup ends the program alone.
func endGroup(leader *os.Process) { _ = leader.Kill() }
