//go:build unix

package main

import (
	"path/filepath"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/diag"
)

// Many workers are there soon, since each costs little: 64 within five seconds on two cores is
// 156 ms of CPU for each, with all that they do. A machine that is busy needs longer, and no more.
func TestManyWorkersStartCheaply(t *testing.T) {
	t.Parallel()
	const workers, each = 32, 156 * time.Millisecond
	dir := t.TempDir()
	write(t, dir, "rate.yaml", kubeRate)
	p := aiperf(t, dir, "run", "rate.yaml", "--artifact-dir", "out", "--workers", "32")
	p.wants(diag.OK)
	if n := lines(filepath.Join(dir, "out", "requests.csv")); n != 61 {
		t.Errorf("%d lines of requests, want a head and 60", n)
	}
	used := p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime() // with those it waited for
	if used > workers*each {
		t.Errorf("%d workers took %v of CPU, at most %v", workers, used, workers*each)
	}
	t.Logf("%d workers took %v of CPU", workers, used)
}
