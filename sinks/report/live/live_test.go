package live

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
)

var began = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

// demo is a plan of three cells in its fourth of six runs.
func demo() *State {
	s := New(Plan{Name: "isl-by-concurrency", Cells: []string{"isl 128, concurrency 1", "isl 128, concurrency 16", "isl 1024, concurrency 16, candidate"}, Trials: 2, Runs: 6}, began)
	for i := range 3 {
		s.Begin(i, i, 0)
		s.End(Done{Cell: i, Throughput: 100 * float64(i+1), TTFT: 40, ITL: 5, Good: 0.5, Failed: int64(i), Verdict: "VALID"})
	}
	s.Begin(3, 0, 1)
	for i := range 20 {
		s.Snapshot(snapshot(i))
	}
	return s
}

func snapshot(i int) loadgen.Snapshot {
	return loadgen.Snapshot{
		Phase: "profiling", At: int64(i) * 5e8, Planned: 1600, Ends: record.None, Sent: 812, Done: 800, InFlight: 16, Target: 16, RequestsPerSecond: 48.5,
		LagP99: 0.08, TTFTP50: 41 + float64(i), TTFTP99: 63, ITLP50: 5.1, ITLP99: 6, OutputTokensPerSecond: 3100,
	}
}

func picture(t *testing.T, s *State, w, h int, pane Pane) []string {
	t.Helper()
	var b bytes.Buffer
	if err := Frame(&b, s, began.Add(time.Minute), w, h, pane); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// At 80×24 and at 150×45 nothing is cut that matters: both percentiles, both
// rates, the place in the plan, the keys.
func TestFrameFits(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {150, 45}, {40, 10}, {20, 4}, {1, 1}} {
		for pane := Cells; pane <= Help; pane++ {
			lines := picture(t, demo(), size[0], size[1], pane)
			if len(lines) > size[1] {
				t.Errorf("%v: %d lines", size, len(lines))
			}
			for _, l := range lines {
				if n := utf8.RuneCountInString(l); n > size[0] {
					t.Errorf("%v: a line of %d columns: %q", size, n, l)
				}
			}
			if size[0] < 80 {
				continue
			}
			text := strings.Join(lines, "\n")
			for _, want := range []string{
				"cell 1/3 · trial 2/2", "isl 128, concurrency 1", "lag p99 80.0 µs", "3/6 runs", "sent 812/1,600", "in flight 16/16", "p50 60.0 ms", "p99 63.0 ms",
				"p50 5.10 ms", "p99 6.00 ms", "req/s 48.5", "tok/s 3,100", "ETA", "VALID so far", "q drain",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("%v, pane %d: no %q in\n%s", size, pane, want, text)
				}
			}
		}
	}
}

// The ETA is the pace so far: three runs and a half in a minute leave two and a
// half, and nothing is said before a twentieth of a run is over.
func TestETA(t *testing.T) {
	t.Parallel()
	s := demo()
	got, ok := s.eta(began.Add(time.Minute))
	want := 42857 * time.Millisecond
	if !ok || (got-want).Abs() > time.Second {
		t.Errorf("%v %v, want %v", got, ok, want)
	}
	fresh := New(Plan{Runs: 6}, began)
	fresh.Begin(0, 0, 0)
	if _, ok := fresh.eta(began.Add(time.Second)); ok {
		t.Error("an ETA before anything is known")
	}
}

// At 80 columns the cells of the quick start can be told apart.
func TestNamesAreWhole(t *testing.T) {
	t.Parallel()
	const name = "isl 256, candidate, concurrency 4"
	s := New(Plan{Name: "quickstart", Cells: []string{name}, Trials: 1, Runs: 1}, began)
	s.Begin(0, 0, 0)
	s.End(Done{Cell: 0, Throughput: 123456, TTFT: 123.4, Good: 1, Verdict: "DEGRADED"})
	text := strings.Join(picture(t, s, 80, 24, Cells), "\n")
	if !strings.Contains(text, " "+name+"      1 ") || !strings.Contains(text, "100 % DEGRADED") {
		t.Error(text)
	}
}

// A cell that is done shows the mean and the range of its trials.
func TestDoneCells(t *testing.T) {
	t.Parallel()
	s := demo()
	s.End(Done{Cell: 0, Trial: 1, Throughput: 120, TTFT: 44, ITL: math.NaN(), Good: math.NaN(), Verdict: "INVALID", Err: "connection \x1b[31mrefused"})
	text := strings.Join(picture(t, s, 120, 24, Cells), "\n")
	if !strings.Contains(text, "110 (100–120)") || !strings.Contains(text, "INVALID so far") {
		t.Error(text)
	}
	if log := strings.Join(picture(t, s, 100, 24, Log), "\n"); !strings.Contains(log, "connection refused") || strings.Contains(log, "\x1b") {
		t.Errorf("the log is %q", log)
	}
}

// Keys: the panes, a pause that holds the next run back, a stop that is asked
// for each time.
func TestKeys(t *testing.T) {
	t.Parallel()
	stops := 0
	s := &Screen{}
	s.going = sync.NewCond(&s.mu)
	m := &model{state: demo(), screen: s, stop: func() { stops++ }, clock: func() time.Time { return began }, width: 80, height: 24}
	press := func(k tea.KeyPressMsg) { _, _ = m.Update(k) }
	for _, c := range []struct {
		key  rune
		pane Pane
	}{{'e', Errors}, {'l', Log}, {'?', Help}, {'c', Cells}} {
		press(tea.KeyPressMsg{Code: c.key, Text: string(c.key)})
		if m.pane != c.pane {
			t.Errorf("%c shows pane %d, want %d", c.key, m.pane, c.pane)
		}
	}
	press(tea.KeyPressMsg{Code: 'p', Text: "p"})
	if !m.paused || !s.paused || !strings.Contains(m.View().Content, "PAUSED") {
		t.Error("p does not pause")
	}
	press(tea.KeyPressMsg{Code: 'q', Text: "q"})
	press(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
	if stops != 2 || s.paused {
		t.Errorf("%d stops, paused %v", stops, s.paused)
	}
	if !m.View().AltScreen {
		t.Error("the screen would stay in the scrollback")
	}
}

// Events come through JSON as they were, without NaN.
func TestEventsRoundTrip(t *testing.T) {
	t.Parallel()
	s := snapshot(3)
	s.TTFTP50, s.Ends = math.NaN(), 7e9
	var b bytes.Buffer
	file := filepath.Join(t.TempDir(), FileName)
	e := NewEvents(&b, 6)
	e.File(file)
	e.Begin(2, 1, 0, "cell \"x\"")
	e.Snapshot(s)
	var left Event
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &left) != nil {
		t.Fatal(err, string(text))
	}
	if diff := cmp.Diff(s, left.Live.Snapshot(), cmpopts.EquateNaNs()); diff != "" || left.Index != 2 || left.Cell != 1 {
		t.Errorf("(-want +got)\n%s%+v", diff, left)
	}
	e.Done(Done{Cell: 1, Throughput: math.NaN(), TTFT: 3, Verdict: "VALID"}, 2, "x")
	e.Close()
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is left behind")
	}
	kinds := ""
	for line := range strings.Lines(b.String()) {
		var x Event
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		kinds += x.Event + " "
	}
	if kinds != "begin live done end " {
		t.Error(kinds)
	}
}

// A watcher sees what the process that fills the directory sees: the runs that
// are done, with their figures, and the one under way.
func TestWatcher(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := NewWatcher(dir); err == nil || !strings.Contains(err.Error(), "no plan was begun there") {
		t.Errorf("%v", err)
	}
	put("plan.lock.json", `{"name":"demo","trials":1,"cells":[{"id":"a","label":"phases.profiling.concurrency=1"},{"id":"b","label":"phases.profiling.concurrency=4, endpoint=x"}],"runs":[{"id":"b-t0","cell":"b","trial":0},{"id":"a-t0","cell":"a","trial":0}]}`)
	put("journal.jsonl", `{"event":"begin","time":"2026-11-21T09:30:00Z"}`+"\n"+`{"event":"start","time":"2026-11-21T09:30:00Z","run":"b-t0"}`+"\n"+
		`{"event":"done","time":"2026-11-21T09:30:20Z","run":"b-t0","dir":"runs/b"}`+"\n"+`{"event":"start","time":"2026-11-21T09:30:20Z","run":"a-t0"}`+"\n"+`{"event":"do`)
	put("runs/b/run.json", `{"verdict":"DEGRADED","phases":[{"warmup":true,"failed":9},{"failed":2}]}`)
	put("runs/b/profile_export_aiperf.json", `{"output_token_throughput":{"avg":702},"time_to_first_token":{"avg":1,"p99":46}}`)
	put(FileName, string(Event{Event: "live", Time: began, Index: 1, Runs: 2, Cell: 0, Live: FiguresOf(snapshot(1))}.Line()))
	w, err := NewWatcher(dir)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(picture(t, w.State(), 100, 24, Cells), "\n")
	for _, want := range []string{"cell 1/2", "1/2 runs", "DEGRADED so far", "concurrency 4, x", "702", "46.0", "sent 812/1,600"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if errs := strings.Join(picture(t, w.State(), 100, 24, Errors), "\n"); !strings.Contains(errs, "concurrency 4, x: 2 requests failed") {
		t.Error(errs)
	}
	if w.Next(w.State()) {
		t.Error("over before its end")
	}
	put("manifest.json", "{}")
	if !w.Next(w.State()) || len(w.State().done) != 1 {
		t.Errorf("not over, or a run was taken twice: %d", len(w.State().done))
	}
}

func BenchmarkFrame(b *testing.B) {
	s := demo()
	for b.Loop() {
		f := frame{State: s, at: began, width: 150, height: 45}
		_ = f.lines()
	}
}
