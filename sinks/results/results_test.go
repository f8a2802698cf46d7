package results_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/sinks/results"
	"aiperf.dev/aiperf/sweep/decide"
)

// foreign writes a directory as AIPerf lays one out: a summary per run.
func foreign(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// summary is one run with a TTFT median and a throughput.
func summary(ttft, throughput, concurrency string) string {
	return `{"schema_version": "1.4", "request_count": {"unit": "requests", "avg": 100},
 "time_to_first_token": {"unit": "ms", "avg": ` + ttft + `, "p50": ` + ttft + `, "count": 100},
 "output_token_throughput": {"unit": "tokens/sec", "avg": ` + throughput + `}, "request_latency": {"unit": "s", "avg": 1, "p50": 1},
 "input_config": {"endpoint": {"type": "chat", "streaming": true}, "phases": [{"name": "profiling", "type": "concurrency", "concurrency": ` + concurrency + `}]}, "was_cancelled": false}`
}

func TestReadsAIPerfsDirectories(t *testing.T) {
	t.Parallel()
	dir := foreign(t, map[string]string{
		"profile_runs/run_0001/profile_export_aiperf.json": summary("40", "400", "4"),
		"profile_runs/run_0002/profile_export_aiperf.json": summary("41", "404", "4"),
		"aggregate/profile_export_aiperf.json":             "{}",
		"profile_runs/run_0001/phases/x_aiperf.json":       "not read",
		"profile_runs/run_0001/other_aiperf.json":          `{"no": "summary"}`,
	})
	s, err := results.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Cells) != 1 || s.Cells[0].Label != "base" || !s.Cells[0].Closed || len(s.Cells[0].Runs) != 2 ||
		s.Trials != 2 {
		t.Fatalf("read %+v", s.Arm)
	}
	run := s.Cells[0].Runs[1]
	st, ok := run.Summaries[0].Get("time_to_first_token")
	if !ok || st.P50 != 41 || st.Count != 100 || st.Scalar || run.OK != 100 || run.Run.Trial != 1 {
		t.Errorf("second run = %+v, TTFT %+v", run, st)
	}
	if st, ok := run.Summaries[0].Get("output_token_throughput"); !ok || !st.Scalar || st.Avg != 404 {
		t.Errorf("throughput = %+v", st)
	}
	if _, ok := run.Summaries[0].Get("request_latency"); ok {
		t.Error("a latency in another unit was taken")
	}
	sweep := foreign(t, map[string]string{
		"concurrency_1/profile_export_aiperf.json": summary("40", "400", "1"),
		"concurrency_2/mine_aiperf.json":           summary("41", "404", "2"),
	})
	if s, err = results.Read(sweep); err != nil || len(s.Cells) != 2 || s.Cells[1].Label != "concurrency_2" {
		t.Errorf("a sweep: %v, %+v", err, s)
	}
}

// Two directories of AIPerf's give the outcome that a hand computation gives:
// ln ratios of means 1.1, Welch over three runs each.
func TestComparesAIPerfsDirectories(t *testing.T) {
	t.Parallel()
	of := func(ttfts ...string) string {
		files := map[string]string{}
		for i, ttft := range ttfts {
			files["profile_runs/run_000"+string(rune('1'+i))+"/profile_export_aiperf.json"] = summary(ttft, "400", "4")
		}
		return foreign(t, files)
	}
	a, b, err := results.Two(of("40.0", "40.2", "40.4"), of("44.0", "44.22", "44.44"))
	if err != nil {
		t.Fatal(err)
	}
	key := decide.Key{Tag: "time_to_first_token", Stat: "p50"}
	c, err := decide.Compare(a.Arm, b.Arm, decide.Terms{Primary: []decide.Key{key}})
	if err != nil {
		t.Fatal(err)
	}
	// s = 0.004975 of each side's logarithms: SE 0.004062, t(0.975, 4) = 2.7764
	r := c.Rows[0]
	if r.Outcome != decide.Worse ||
		r.Change < .0999 || r.Change > .1001 || r.Low < .0876 || r.Low > .0878 || r.High < .1124 || r.High > .1126 {
		t.Errorf("row = %+v, want WORSE, +10.0 %% [8.77, 11.25]", r)
	}
}

// What cannot be read is refused with the directory's name and something to try.
func TestRefusesWhatIsNoResult(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string]string{
		"holds no results": {"readme": "x"},
		"profile_export_aiperf.json: byte 2: no JSON: invalid character": {"profile_export_aiperf.json": "{torn"},
		"not finished: it has no manifest.json":                          {"plan.lock.json": "{}"},
		`written in "aiperf.manifest/9"`: {
			"plan.lock.json": "{}",
			"manifest.json":  `{"schema": "aiperf.manifest/9"}`,
		},
		"manifest.json: unexpected end":                   {"plan.lock.json": "{}", "manifest.json": `{"schema": `},
		"plan.lock.json is not in its manifest":           {"plan.lock.json": "{}", "manifest.json": `{"schema": "aiperf.manifest/1"}`},
		"plan.lock.json is not the file that was written": {"plan.lock.json": "{}", "manifest.json": `{"schema": "aiperf.manifest/1", "files": [{"path": "plan.lock.json", "sha256": "00"}]}`},
	} {
		dir := foreign(t, files)
		_, err := results.Read(dir)
		var d *diag.Error
		if !errors.As(err, &d) || !strings.Contains(d.Message, want) || d.Place != dir || d.Hint == "" {
			t.Errorf("%v: %v, want %s", files, err, want)
		}
	}
	if _, err := results.Read(filepath.Join(t.TempDir(), "none")); err == nil ||
		!strings.Contains(err.Error(), "no such directory") {
		t.Errorf("no directory: %v", err)
	}
}

// Of two directories ours is read by the other's reader only where that one finds its
// files there; else by its own.
func TestTwoOfDifferentPrograms(t *testing.T) {
	t.Parallel()
	theirs := foreign(t, map[string]string{"profile_export_aiperf.json": summary("40", "400", "4")})
	for _, first := range []bool{true, false} {
		dirs := []string{ours(t, 100, 102, 98), theirs}
		if !first {
			slices.Reverse(dirs)
		}
		a, b, err := results.Two(dirs[0], dirs[1])
		if err != nil {
			t.Fatal(err)
		}
		if !first {
			a, b = b, a
		}
		if !a.Ours || len(a.Cells) == 0 || len(a.Cells[0].Runs) != 3 || b.Ours || len(b.Cells[0].Runs) != 1 {
			t.Errorf("%v: ours %+v, theirs %+v", dirs, a, b)
		}
	}
}
