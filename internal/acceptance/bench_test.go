package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/mockserver"
)

// Benchmarks of the program as people start it: CPU and memory of the process,
// as the kernel accounts for them, not wall time.

func BenchmarkHelp(b *testing.B) { benchmarkProcess(b, "--help") }

func BenchmarkProfileHelp(b *testing.B) { benchmarkProcess(b, "profile", "--help") }

func BenchmarkValidate(b *testing.B) {
	benchmarkProcess(b, "validate", "examples/experiments/quickstart.cue")
}

// BenchmarkPlan1000 expands a thousand cells from a file and prints the plan.
func BenchmarkPlan1000(b *testing.B) {
	values := func(n, step int) string {
		list := make([]int, n)
		for i := range list {
			list[i] = (i + 1) * step
		}
		js, err := json.Marshal(list)
		if err != nil {
			b.Fatal(err)
		}
		return string(js)
	}
	benchmarkProcess(
		b, "plan", "examples/experiments/quickstart.cue", "-u", "mock:",
		"--set", "sweep.parameters.concurrency="+values(25, 1), "--set", "sweep.parameters.dataset.isl="+values(40, 16),
	)
}

// benchmarkProcess reports CPU per start and the largest resident size.
func benchmarkProcess(b *testing.B, args ...string) {
	exe, err := program()
	if err != nil {
		b.Fatal(err)
	}
	usage(b, exe, args...) // the program's file is in memory from now on
	var cpu time.Duration
	var peak float64
	for b.Loop() {
		c, mb := usage(b, exe, args...)
		cpu += c
		peak = max(peak, mb)
	}
	b.ReportMetric(float64(cpu)/float64(b.N)/1e6, "cpu-ms/op")
	b.ReportMetric(peak, "peak-MB")
}

// usage runs the program to its end: CPU time and largest resident size.
func usage(b *testing.B, exe string, args ...string) (cpu time.Duration, peakMB float64) {
	b.Helper()
	cmd := exec.Command(exe, args...)
	cmd.Dir = filepath.Join("..", "..")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 4 { // 4: this machine is busy
		b.Fatalf("aiperf %v: %v\n%s", args, err, &out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), peakResident(cmd.ProcessState)
}

// BenchmarkQuickstart runs the README's first command against two servers of
// its own, so that the CPU counted is the client's. Run with -benchtime=1x.
func BenchmarkQuickstart(b *testing.B) {
	exe, err := program()
	if err != nil {
		b.Fatal(err)
	}
	var cpu, wall time.Duration
	var peak float64
	for b.Loop() {
		urls := [2]string{}
		for i, url := range []string{"mock:?ttft=20ms&itl=2ms", "mock:?ttft=16ms&itl=2ms"} {
			child, err := mockserver.Spawn(context.Background(), exe, url, "")
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = child.Stop() }) // nothing to report: it keeps no log
			urls[i] = child.URL
		}
		began := time.Now()
		c, mb := usage(
			b, exe, "run", "examples/experiments/quickstart.cue", "--artifact-dir", filepath.Join(b.TempDir(), "out"),
			"--set", fmt.Sprintf("sweep.parameters.endpoint=[{label: baseline, url: %q}, {label: candidate, url: %q}]", urls[0], urls[1]),
		)
		wall += time.Since(began)
		cpu += c
		peak = max(peak, mb)
	}
	b.ReportMetric(100*cpu.Seconds()/wall.Seconds(), "%core")
	b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/op")
	b.ReportMetric(peak, "peak-MB")
}
