//go:build unix

package faults

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// role says what a copy of this test binary has to be instead of a test.
const role = "AIPERF_FAULTS_ROLE"

func TestMain(m *testing.M) {
	if play := roles()[os.Getenv(role)]; play != nil {
		play()
		return
	}
	var err error
	if home, err = os.MkdirTemp("", "aiperf-faults"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(home) //nolint:errcheck // a temporary directory
		os.Exit(code)
	}))
}
