package acceptance

import (
	"path/filepath"
	"slices"
	"testing"
)

// figures is what testdata/figures.py finds in a notebook.
type figures struct {
	Figures  []int
	Latency  int      // rows of TTFT: cells × p50 and p99
	Said     []string // of the TTFT of the candidate
	Rows     int
	Requests int
	Exact    float64
	Gaps     int
	Joined   int     // requests with what the server said before them
	Busiest  float64 // the most requests that waited then
}

func (d desk) notebook(t *testing.T, name string) figures {
	t.Helper()
	var got figures
	d.python(t, &got, nil, "figures.py", filepath.Join(repository(t), "examples", "notebooks", name))
	if len(got.Figures) != 1 || got.Figures[0] < 5000 {
		t.Errorf("%s: figures of %v bytes, want one with something in it", name, got.Figures)
	}
	return got
}

// The notebooks on a sweep run from top to bottom on a fresh result and find
// what is in it: a candidate whose TTFT is half the baseline's.
func TestNotebooksOnASweep(t *testing.T) {
	t.Parallel()
	python(t, "notebooks")
	d := desk{dir: t.TempDir(), packages: []string{"notebooks"}}
	d.result = run(t,
		"examples/experiments/quickstart.cue", "--isl", "64", "--concurrency", "2", "--set", "multi_run.num_runs=3", "--set", "allow_invalid=true",
		"--set", `sweep.parameters.endpoint=[{label: "baseline", url: "mock:?ttft=60ms&itl=1ms"}, {label: "candidate", url: "mock:?ttft=30ms&itl=1ms"}]`,
		"--artifact-dir", filepath.Join(d.dir, "results", "ab-1"))
	if got := d.notebook(t, "latency_by_load.ipynb"); got.Latency != 4 {
		t.Errorf("%d rows of TTFT, want p50 and p99 of two cells", got.Latency)
	}
	if got := d.notebook(t, "ab_decision.ipynb"); got.Rows != 4 || !slices.Equal(got.Said, []string{"lower"}) {
		t.Errorf("%d rows; the TTFT of a server twice as fast is said to be %v", got.Rows, got.Said)
	}
	if got := d.notebook(t, "token_timeline.ipynb"); got.Gaps < 100 {
		t.Errorf("%d gaps", got.Gaps)
	}
}

// The notebook on a replay finds every request of the trace, with the lengths
// that were asked for.
func TestNotebookOnATrace(t *testing.T) {
	t.Parallel()
	python(t, "notebooks")
	d := desk{dir: t.TempDir(), packages: []string{"notebooks"}}
	d.result = run(t, "examples/experiments/trace.yaml", "--artifact-dir", filepath.Join(d.dir, "results", "trace-1"),
		"--set", "allow_invalid=true")
	if got := d.notebook(t, "trace_replay.ipynb"); got.Requests != 24 || got.Exact != 1 {
		t.Errorf("%d requests, %v of them with the length asked for; want 24 and all", got.Requests, got.Exact)
	}
}

// The notebook on telemetry gives nearly each request what the server said before it:
// eight in flight at a server of two slots leave requests waiting.
func TestNotebookOnTelemetry(t *testing.T) {
	t.Parallel()
	python(t, "notebooks")
	d := desk{dir: t.TempDir(), packages: []string{"notebooks"}}
	d.result = run(t, "examples/experiments/quickstart.cue", "-u", "mock:?step=10ms&batch=2", "--isl", "64",
		"--concurrency", "8", "--set", "multi_run.num_runs=1", "--set", "allow_invalid=true",
		"--artifact-dir", filepath.Join(d.dir, "results", "told-1"))
	if got := d.notebook(t, "telemetry.ipynb"); got.Joined < 20 || got.Busiest < 4 || got.Busiest > 8 {
		t.Errorf("%d requests with what the server said, %v waiting at most", got.Joined, got.Busiest)
	}
}
