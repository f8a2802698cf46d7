package results_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/results"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// ours writes a finished directory of ours: one cell, and in each trial the
// median time to first token.
func ours(t *testing.T, medians ...float64) string {
	t.Helper()
	return oursWith(t, nil, medians...)
}

// oursWith has more figures of the first trial.
func oursWith(t *testing.T, more []sinks.MetricRow, medians ...float64) string {
	t.Helper()
	dir := t.TempDir()
	body := json.RawMessage(`{"endpoint": {"type": "chat"}, "phases": [{"name": "profiling", "kind": "profiling", "type": "concurrency", "concurrency": 4, "requests": 100}]}`)
	cell := &sweep.Cell{ID: "c0ffee", Label: "base", Resolved: &schema.Resolved{JSON: body}}
	plan := &sweep.Plan{
		Name: "byhand", Cells: []*sweep.Cell{cell}, Trials: len(medians), Seeded: true,
		Seeds: sweep.Blocks,
	}
	in := sinks.TablesInput{
		Plan: plan, T0: time.Unix(1_700_000_000, 0), Version: "test",
		Verdict: validity.Valid.String(), Formats: []string{"parquet"},
	}
	for i, v := range medians {
		plan.Runs = append(plan.Runs, sweep.Run{
			Cell: cell, Trial: i, ID: fmt.Sprintf("c0ffee-t%d", i),
			Seed: int64(i + 1),
		})
		at := sinks.Place{Cell: 0, Trial: i}
		in.Runs = append(in.Runs, sinks.RunRow{
			Place: at, Sent: 100, OK: 100, Verdict: validity.Valid.String(),
			Attempt: 1, Seed: int64(i + 1), Planned: 100, ClientCPU: math.NaN(), SteadyStart: record.None,
			SteadyEnd: record.None,
		})
		in.Metrics = append(in.Metrics, sinks.MetricRow{
			Place: at, Level: "run", Window: "full", Metric: "time_to_first_token", Stat: "p50", Value: v, Unit: "ms",
			Low: math.NaN(), High: math.NaN(), CV: math.NaN(), N: 100, NEff: 100, Certified: 1, Method: "linear",
		})
	}
	in.Metrics = append(in.Metrics, more...)
	info, err := sinks.WriteTables(dir, in)
	if err != nil {
		t.Fatal(err)
	}
	type file struct {
		Path   string `json:"path"`
		SHA256 string `json:"sha256"`
	}
	var files []file
	write := func(name string, v any) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file{name, fmt.Sprintf("%x", sha256.Sum256(b))})
	}
	write("plan.lock.json", plan.Lock())
	for _, f := range info.Files {
		files = append(files, file{f.Path, f.SHA256})
	}
	write("manifest.json", map[string]any{"schema": "aiperf.manifest/1", "files": files})
	return dir
}

// Two directories of ours give the outcome that a hand computation gives. The
// trials are blocks, so each is compared with its own:
//
//	baseline   100  102    98       ln: mean 4.60503711, SD 0.02000300
//	candidate  108  112.2  109.76   ln: mean 4.70023711, SD 0.01914977
//
//	difference  0.09520000          change  e^0.09520000 − 1 = 9.988 %
//	SE          √(0.02000300²/3 + 0.01914977²/3) = 0.01598785
//	freedom     3.9924 (Satterthwaite),  t(0.975, 3.9924) = 2.77852439
//	95 %        0.09520000 ∓ 0.04442263 = [0.05077734, 0.13962260], in per cent [5.209, 14.984]
//
// All of it is above ln 1.05 = 0.04879: WORSE, beyond the margin.
func TestComparesOurDirectoriesByHand(t *testing.T) {
	t.Parallel()
	a, b, err := results.Two(ours(t, 100, 102, 98), ours(t, 108, 112.2, 109.76))
	if err != nil {
		t.Fatal(err)
	}
	c, err := decide.Compare(a.Arm, b.Arm,
		decide.Terms{Primary: []decide.Key{{Tag: "time_to_first_token", Stat: "p50"}}})
	if err != nil {
		t.Fatal(err)
	}
	r := c.Rows[0]
	for _, x := range []struct {
		what      string
		got, want float64
	}{{"change", r.Change, 0.0998788}, {"low", r.Low, 0.0520886}, {"high", r.High, 0.1498398}} {
		if math.Abs(x.got-x.want) > 2e-6 {
			t.Errorf("%s is %.7f, want %.7f", x.what, x.got, x.want)
		}
	}
	if r.Outcome != decide.Worse || !r.BeyondMargin || r.N != 3 || c.Outcome() != decide.Worse {
		t.Errorf("row = %+v, want WORSE beyond the margin over three trials", r)
	}
}

// What several servers' pages say of one figure is no figure of the run; what one says is.
func TestSeveralPagesAreNotMixed(t *testing.T) {
	t.Parallel()
	page := func(part, metric string, v float64) sinks.MetricRow {
		return sinks.MetricRow{
			Place: sinks.Place{}, Level: "run", Part: part, Window: "full", Metric: metric, Stat: "avg", Value: v,
			Unit: "ratio",
			Low:  math.NaN(), High: math.NaN(), CV: math.NaN(), N: 30, NEff: math.NaN(),
			Certified: record.None, Method: "time_weighted",
		}
	}
	more := []sinks.MetricRow{page("http://a/metrics", "server_kv_use", 0.2), page("http://b/metrics", "server_kv_use",
		0.9), page("http://a/metrics", "server_running", 3)}
	one, _, err := results.Two(oursWith(t, more, 100, 102, 98), ours(t, 100, 102, 98))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, o := range one.Arm.Cells[0].Runs {
		for _, s := range o.Summaries {
			for _, st := range s.Stats {
				got[st.Tag] = st.Avg
			}
		}
	}
	if _, mixed := got["server_kv_use"]; mixed || got["server_running"] != 3 {
		t.Errorf("figures %v; want none of server_kv_use, and server_running 3", got)
	}
}
