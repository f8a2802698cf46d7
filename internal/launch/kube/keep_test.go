package kube

import (
	"os"
	"path/filepath"
	"testing"
)

// A pod is kept while the coordinator runs; its other processes do not count.
func TestRunning(t *testing.T) {
	t.Parallel()
	proc := t.TempDir()
	start := func(pid, cmdline string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(proc, pid), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, pid, "cmdline"), []byte(cmdline), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start("1", "/pause\x00")
	start("9", "/aiperf\x00kube\x00keep\x00/results/big\x00")
	start("12", "/usr/local/bin/envoy\x00-c\x00/etc/envoy\x00")
	start("self", "/aiperf\x00run\x00big.cue\x00")
	if err := os.Mkdir(filepath.Join(proc, "13"), 0o700); err != nil { // it has just ended
		t.Fatal(err)
	}
	if running(proc) {
		t.Error("it waits for what is not the coordinator")
	}
	start("7", "/aiperf\x00run\x00big.cue\x00")
	if !running(proc) {
		t.Error("it does not see the coordinator")
	}
}
