package main

import (
	"os"
	"os/exec"
	"path/filepath"
)

// self is the path of this program, which is the built-in server too. Where
// the kernel does not tell, as without /proc, it is what was called.
func self() (string, error) {
	if exe, err := os.Executable(); err == nil {
		return exe, nil
	}
	exe, err := exec.LookPath(os.Args[0])
	if err != nil {
		return "", err
	}
	return filepath.Abs(exe)
}
