//go:build unix

package faults

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"aiperf.dev/aiperf/internal/mockserver"
)

// role says what a copy of this test binary has to be instead of a test.
const role = "AIPERF_FAULTS_ROLE"

func TestMain(m *testing.M) {
	if play := roles()[os.Getenv(role)]; play != nil {
		play()
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "mock-server" { // as the built-in server's parent starts it
		if err := mockserver.Serve(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// A program that is started while hangups are ignored, as under nohup, goes on
	// ignoring them; one that is started while they are caught does not.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	var err error
	if home, err = os.MkdirTemp("", "aiperf-faults"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(home) //nolint:errcheck // a temporary directory
		os.Exit(code)
	}))
}
