//go:build !unix

package pycode

import (
	"errors"
	"os/exec"
)

// supported says that this system has the limits that code is run behind.
const supported = false

func apart(*exec.Cmd, bool) {}

func killGroup(int) error { return errors.ErrUnsupported }
