package sim

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// childKey names the folder that a child process of TestTenMinutesOfSeries works in.
const childKey = "AIPERF_SERIES"

// Ten minutes of 500 series that change at each of three readings a second take at most 60 MB
// of memory beyond what the same load takes without them, and 30 MB of Parquet.
func TestTenMinutesOfSeries(t *testing.T) {
	if dir := os.Getenv(childKey); dir != "" {
		readSeries(t, dir, filepath.Base(dir) == "read")
		return
	}
	t.Parallel()
	if testing.Short() || raced {
		t.Skip("takes memory to measure")
	}
	var most [2]int64
	root := t.TempDir()
	for i, name := range []string{"plain", "read"} {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run", "^TestTenMinutesOfSeries$", "-test.count=1")
		cmd.Env = append(os.Environ(), childKey+"="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		most[i] = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss * 1024
	}
	size := int64(0)
	_ = filepath.WalkDir(filepath.Join(root, "read"), func(path string, e os.DirEntry, _ error) error {
		if info, err := e.Info(); err == nil && e.Name() == "telemetry.parquet" {
			size = info.Size()
		}
		return nil
	})
	more := most[1] - most[0]
	if more > 60e6 || size == 0 || size > 30e6 {
		t.Errorf("%.1f MB of memory beyond the %.1f MB without, and %.1f MB of Parquet; at most 60 and 30",
			float64(more)/1e6, float64(most[0])/1e6, float64(size)/1e6)
	}
	t.Logf("%.1f MB of memory beyond the %.1f MB without, %.1f MB of Parquet", float64(more)/1e6, float64(most[0])/1e6, float64(size)/1e6)
}

// readSeries is a load of ten minutes, whose server has 500 series if they are to be read.
func readSeries(t *testing.T, dir string, read bool) {
	t.Helper()
	reading := 0
	rng := rand.New(rand.NewPCG(23, 1))
	var values [20][25]float64 // that grow by what nobody can guess
	worlds := &Worlds{Scrape: read, Garble: func([]byte) []byte {
		reading++
		var b strings.Builder
		for f := range 20 {
			for e := range values[f] {
				values[f][e] += float64(rng.IntN(1000))
			}
			fmt.Fprintf(&b, "# TYPE vllm:h%d_seconds histogram\n", f)
			for e := range 23 {
				fmt.Fprintf(&b, "vllm:h%d_seconds_bucket{engine=\"0\",model_name=\"meta/llama\",le=\"%d.0\"} %g\n", f, e, values[f][e])
			}
			fmt.Fprintf(&b, "vllm:h%d_seconds_count{engine=\"0\",model_name=\"meta/llama\"} %g\n", f, values[f][23])
			fmt.Fprintf(&b, "vllm:h%d_seconds_sum{engine=\"0\",model_name=\"meta/llama\"} %.6f\n", f, values[f][24]*rng.Float64())
		}
		return []byte(b.String())
	}}
	if _, err := runText(`benchmark:
  models: demo
  endpoint: {url: "mock:?ttft=10ms"}
  datasets: [{name: main, type: synthetic, prompts: {isl: 16, osl: 4}}]
  phases: [{name: profiling, type: constant, rate: 1, duration: 600}]
  tokenizer: {name: builtin}
random_seed: 1
allow_invalid: true
`, dir, worlds); err != nil {
		t.Fatal(err)
	}
	if read && reading < 1800 {
		t.Fatalf("read %d times", reading)
	}
}
