package sinks_test

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sinks"
)

// python is the interpreter of the tests' environment; without python3 the
// test is skipped here and fails in CI.
func python(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("python3 is needed in CI")
		}
		t.Skip("no python3")
	}
	cmd := exec.Command("../internal/repo/venv.sh")
	var hints strings.Builder
	cmd.Stderr = &hints
	out, err := cmd.Output()
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("venv.sh: %v\n%s", err, hints.String())
		}
		t.Skipf("no Python environment: %v\n%s", err, hints.String())
	}
	return strings.TrimSpace(string(out))
}

// input is the whole path of a file that another program reads. It is opened here, so that
// go test does not take a result from its cache after the file has changed.
func input(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// expected is what one experiment's readers must find.
type expected struct {
	Rows     map[string]int64     `json:"rows"`
	Nulls    map[string]int       `json:"nulls"`
	TTFT     map[string][]float64 `json:"ttft"` // concurrency → p50, p99 of what counts
	Zero     int                  `json:"temperature_zero"`
	StartMin int64                `json:"start_min"`
}

// world is what a query over both experiments must find.
type world struct {
	Alpha   expected             `json:"alpha"`
	Beta    expected             `json:"beta"`
	Types   map[string]string    `json:"types"`
	Gaps    map[string][]float64 `json:"gaps"`
	Seconds []int64              `json:"seconds"`
	Errors  []float64            `json:"errors"`
	Good    []float64            `json:"good"`
	Doubts  int                  `json:"doubts"`
	Journal int64                `json:"journal"`

	gaps         map[int64][]float64
	failed, sent map[int64]float64
	good, all    map[int64]float64
}

const (
	readerCells, readerTrials, readerRequests, readerChunks = 3, 2, 150, 5
)

// experiment writes a result directory and adds to w what its readers must
// find, computed from the generated records and not from any file.
func (w *world) experiment(t *testing.T, dir, name string) expected {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p := demoPlan(name, readerCells, readerTrials)
	in := inputOf(t, dir, p, readerRequests, readerChunks)
	in.Formats = []string{"arrow", "csv"}
	info, err := sinks.WriteTables(dir, in)
	if err != nil {
		t.Fatal(err)
	}
	e := expected{Rows: map[string]int64{}, TTFT: map[string][]float64{}, Nulls: map[string]int{
		"request_id": 0,
		"ttfo_ms":    0, "osl": 0, "reasoning_tokens": 0, "axis_request_rate": 0, "axis_concurrency": 0,
	}}
	for _, f := range info.Files {
		if table, ok := strings.CutSuffix(f.Path, ".parquet"); ok {
			e.Rows[table] = f.Rows
		}
	}
	e.StartMin = math.MaxInt64
	ttft := map[int64][]float64{}
	for i, run := range p.Runs {
		c := run.Cell.Point[0].Value.(int64)
		zero := int64(i) * 3600e9
		g := newGenerator(uint64(i), readerChunks)
		for r := range outOfOrder(g, readerRequests) {
			w.add(r, c, zero)
			e.StartMin = min(e.StartMin, t0.UnixNano()+zero+r.Sent)
			if i/readerTrials == 0 {
				e.Zero++ // the first cell's temperature is 0
			}
			e.Nulls["reasoning_tokens"]++
			e.Nulls["axis_request_rate"]++
			if !r.Succeeded() {
				e.Nulls["ttfo_ms"]++
				e.Nulls["osl"]++
			} else {
				ttft[c] = append(ttft[c], r.TTFT())
			}
		}
	}
	for c, v := range ttft {
		slices.Sort(v)
		e.TTFT[strconv.FormatInt(c, 10)] = []float64{stats.Quantile(v, 0.5), stats.Quantile(v, 0.99)}
	}
	w.Doubts += 2 // of the three checks one passes
	return e
}

// add takes a request of both experiments into account.
func (w *world) add(r *record.Record, c, zero int64) {
	sec := int64(math.RoundToEven(math.Floor(float64(r.Sent+zero) / 1e9)))
	w.sent[sec]++
	w.all[c]++
	if !r.Succeeded() {
		w.failed[sec]++
		return
	}
	if r.TTFT() < 150 && r.ITL() < 9 {
		w.good[c]++
	}
	for i := 1; i < len(r.Chunks); i++ {
		gap := float64(float32(float64(r.Chunks[i].At-r.Chunks[i-1].At) / 1e6))
		w.gaps[c] = append(w.gaps[c], gap)
	}
}

// finish turns sums into what the queries print.
func (w *world) finish() {
	w.Gaps = map[string][]float64{}
	for c, v := range w.gaps {
		slices.Sort(v)
		q := []float64{stats.Quantile(v, 0.5), stats.Quantile(v, 0.99), stats.Quantile(v, 0.999)}
		for i := range q {
			q[i] = float64(float32(q[i])) // the column is float32, so the answer is
		}
		w.Gaps[strconv.FormatInt(c, 10)] = q
	}
	for sec := range w.sent {
		w.Seconds = append(w.Seconds, sec)
	}
	slices.Sort(w.Seconds)
	for _, sec := range w.Seconds {
		w.Errors = append(w.Errors, w.failed[sec]/w.sent[sec])
	}
	cs := make([]int64, 0, len(w.all))
	for c := range w.all {
		cs = append(cs, c)
	}
	sort.Slice(cs, func(i, j int) bool { return cs[i] < cs[j] })
	for _, c := range cs {
		w.Good = append(w.Good, w.good[c]/w.all[c])
	}
}

// Four readers nobody here wrote find what was written: rows, types, nulls and
// quantiles, and the queries of the documentation run unchanged.
func TestReaders(t *testing.T) {
	t.Parallel()
	py := python(t)
	dir := t.TempDir()
	w := world{
		gaps: map[int64][]float64{}, failed: map[int64]float64{}, sent: map[int64]float64{}, good: map[int64]float64{},
		all: map[int64]float64{},
		Types: map[string]string{
			"experiment": "string", "cell_index": "int32", "axis_concurrency": "int64", "axis_request_rate": "double", "axis_model": "string",
			"axis_temperature": "double", "trial": "int16", "request_id": "int64", "turn": "int16", "start_time": "timestamp[ns, tz=UTC]",
			"http_status": "int16", "in_window": "bool", "osl": "int32", "ttft_ms": "double", "slo_ok": "bool",
		},
	}
	results := filepath.Join(dir, "results")
	w.Alpha = w.experiment(t, filepath.Join(results, "alpha-1"), "alpha")
	w.Beta = w.experiment(t, filepath.Join(results, "beta-1"), "beta")
	w.finish()
	p := demoPlan("alpha", 1, 1)
	writeJournal(t, filepath.Join(results, "alpha-1", "stream.arrow"), p, 0, 0, t0, outOfOrder(newGenerator(9, 2), 77))
	w.Journal = 77
	b, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "want.json"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	script, page := input(t, filepath.Join("testdata", "readers.py")),
		input(t, filepath.Join("..", "docs", "tables.md"))
	if out, err := exec.Command(py, script, dir, page).CombinedOutput(); err != nil {
		t.Errorf("readers.py: %v\n%s", err, out)
	}
}
