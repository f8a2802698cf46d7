package kube

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Keep holds a pod until nobody in it runs the program any more but for commands such as this
// one, and then for a while: what was written there can be fetched. proc is /proc, in which
// the containers of the pod see each other.
func Keep(ctx context.Context, proc string, then time.Duration) {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for running(proc) {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(then):
	}
}

// running tells whether a process of the pod is the program, and no command of this package.
func running(proc string) bool {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join(proc, e.Name(), "cmdline"))
		if err != nil { // it has ended
			continue
		}
		words := bytes.Split(line, []byte{0})
		if len(words) > 1 && string(words[0]) == program && string(words[1]) != "kube" {
			return true
		}
	}
	return false
}
