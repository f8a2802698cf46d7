//go:build !linux

// Command bench measures what the engine costs and how true it is. It needs
// the kernel stamps and the epoll of Linux.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench: it runs on Linux only; elsewhere use go test -bench .")
	os.Exit(1)
}
