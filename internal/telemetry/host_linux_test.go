package telemetry

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What the kernel counts, before and after two seconds, becomes the shares of
// the verdict.
func TestDelays(t *testing.T) {
	t.Parallel()
	const (
		stat = "/proc/stat"
		one  = "/proc/self/task/10/schedstat"
		two  = "/proc/self/task/11/schedstat"
		own  = "/proc/self/cgroup"
		root = "/sys/fs/cgroup/cpu.stat"
		ours = "/sys/fs/cgroup/a.slice/b/cpu.stat"
	)
	none := math.NaN()
	for _, c := range []struct {
		name                    string
		before, after           map[string]string
		throttled, steal, delay float64
	}{
		{
			"a container with a limit",
			map[string]string{
				own: "0::/\n", root: "usage_usec 5\nnr_periods 100\nnr_throttled 10\n",
				stat: "cpu  100 0 50 800 10 0 5 20 7 0\ncpu0 1 1 1 1 1 1 1 1\n", one: "9 500000000 3\n",
			},
			map[string]string{
				own: "0::/\n", root: "usage_usec 9\nnr_periods 120\nnr_throttled 15\n",
				stat: "cpu  200 0 100 900 10 0 5 70 7 0\ncpu0 9 9 9 9 9 9 9 9\n",
				one:  "9 900000000 3\n", two: "1 200000000 1\n",
			},
			0.25, 50.0 / 300, 0.3, // of 20 periods 5; of 300 ticks 50; 0.6 s of 2
		},
		{
			"a limit of our group",
			map[string]string{
				own: "1:cpu:/x\n0::/a.slice/b\n", root: "usage_usec 5\n",
				ours: "nr_periods 10\nnr_throttled 0\n", stat: "cpu  1 1 1 1 1 1 1 1\n",
			},
			map[string]string{
				own: "1:cpu:/x\n0::/a.slice/b\n", root: "usage_usec 9\n",
				ours: "nr_periods 20\nnr_throttled 1\n", stat: "cpu  2 2 2 2 2 2 2 1\n",
			},
			0.1, 0, none,
		},
		{
			"a limit of the outermost, none of our group",
			map[string]string{
				own: "0::/a.slice/b\n", root: "nr_periods 10\nnr_throttled 0\n",
				ours: "nr_periods 0\nnr_throttled 0\n",
			},
			map[string]string{
				own: "0::/a.slice/b\n", root: "nr_periods 20\nnr_throttled 5\n",
				ours: "nr_periods 0\nnr_throttled 0\n",
			},
			0.5, none, none,
		},
		{"nothing to read", nil, nil, none, none, none},
	} {
		dir := t.TempDir()
		write(t, dir, c.before)
		d := readDelays(dir)
		write(t, dir, c.after)
		throttled, steal, delay := d.since(2 * time.Second)
		got, want := [3]float64{throttled, steal, delay}, [3]float64{c.throttled, c.steal, c.delay}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-9 || math.IsNaN(got[i]) != math.IsNaN(want[i]) {
				t.Errorf("%s: throttled, stolen, delayed %v, want %v", c.name, got, want)
				break
			}
		}
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
