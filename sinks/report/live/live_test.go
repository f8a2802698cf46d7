package live

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/sinks/report/forecast"
)

// Whoever runs the tests may have a terminal that shows nothing but ASCII.
func TestMain(m *testing.M) {
	if err := os.Setenv("LC_ALL", "C.UTF-8"); err != nil {
		panic(err)
	}
	m.Run()
}

var began = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

// demo is a plan of three cells in its fourth of six runs.
func demo() *State {
	s := New(Plan{Name: "isl-by-concurrency", Cells: []Cell{
		{"isl 128, concurrency 1", "isl 128"},
		{"isl 128, concurrency 16", "isl 128"},
		{"isl 1024, concurrency 16, candidate", "isl 1024"},
	}, Trials: 2, Runs: make([]forecast.Run, 6)}, began)
	for i := range 3 {
		s.Begin(i, i, 0, began)
		s.End(Done{Cell: i, Figures: figuresOf(100*float64(i+1), 40, 0.5), Failed: int64(i), Verdict: validity.Valid},
			began)
	}
	s.Begin(3, 0, 1, began)
	for i := range 20 {
		s.Snapshot(snapshot(i))
	}
	return s
}

// figuresOf are those of a run that took so many tokens a second and ms to the first one.
func figuresOf(tokens, ttft, good float64) map[string]float64 {
	return map[string]float64{
		outputRate: tokens, "requests_per_s": tokens / 16, "ttft_p50_ms": ttft / 2, ttftP99: ttft,
		"itl_p50_ms": 4, "itl_p99_ms": 5, goodShare: good,
	}
}

func snapshot(i int) loadgen.Snapshot {
	return loadgen.Snapshot{
		Phase: "profiling", At: int64(i) * 5e8, Planned: 1600, Ends: record.None, Sent: 812, Done: 800,
		InFlight: 16, Target: 16, RequestsPerSecond: 48.5,
		LagP99: 0.08, TTFTP50: 41 + float64(i), TTFTP99: 63, ITLP50: 5.1, ITLP99: 6, OutputTokensPerSecond: 3100,
	}
}

func picture(t *testing.T, s *State, w, h int, pane Pane) []string {
	t.Helper()
	var b bytes.Buffer
	if err := Frame(&b, s, began.Add(time.Minute), w, h, pane, Steering); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// pictureFor is the screen as somebody sees it who may press these keys.
func pictureFor(t *testing.T, s *State, keys Keys) []string {
	t.Helper()
	var b bytes.Buffer
	if err := Frame(&b, s, began.Add(time.Hour), 100, 24, Cells, keys); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// From 40 columns on nothing is cut that matters: both percentiles, both rates,
// the place in the plan, the keys.
func TestFrameFits(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {150, 45}, {200, 50}, {79, 24}, {40, 24}, {40, 10}, {20, 4}, {1, 1}} {
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
			if size[1] < 20 {
				continue
			}
			text := strings.Join(lines, "\n")
			if head, _, _ := strings.Cut(text, "done so far"); strings.Contains(head, "…") {
				t.Errorf("%v: cut off in\n%s", size, text)
			}
			if pane == Cells && !strings.Contains(text, "40.0 ms") && size[0] < 80 {
				t.Errorf("%v: no TTFT of a cell that is done in\n%s", size, text)
			}
			for _, want := range []string{
				"cell 1/3 · trial 2/2", "isl 128, concurrency 1", "lag p99 80.0 µs", "3/6 runs", "sent 812/1,600", "in flight 16/16", "p50 60.0 ms", "p99 63.0 ms",
				"p50 5.10 ms", "p99 6.00 ms", "req/s 48.5", "tok/s 3,100", "ETA", "VALID so far", "q ",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("%v, pane %d: no %q in\n%s", size, pane, want, text)
				}
			}
		}
	}
}

// Ten answers a second, in bursts of fifty: nothing is said before there is a
// pace, and then never twice or half of what is left.
func TestETAOfBursts(t *testing.T) {
	t.Parallel()
	s := New(Plan{Cells: []Cell{{Name: "a"}}, Runs: []forecast.Run{{Last: "profiling"}}}, began)
	s.Begin(0, 0, 0, began)
	const planned, perSecond, burst = 1000, 10, 50
	said := 0
	for half := range 2 * planned / perSecond {
		passed := time.Duration(half) * time.Second / 2
		done := int64(passed.Seconds()*perSecond) / burst * burst
		s.Snapshot(loadgen.Snapshot{
			Phase: "profiling", At: passed.Nanoseconds(), Ends: record.None, Planned: planned,
			Sent: min(done+burst, planned), Done: done, Target: burst,
		})
		got := s.left(began.Add(passed))
		if done < 2*burst {
			if got != "" {
				t.Errorf("after %v, %d answers: %q", passed, done, got)
			}
			continue
		}
		said++
		left := planETA(t, got)
		truth := planned/perSecond*time.Second - passed
		if left > 2*truth+5*time.Second || left < truth/2 {
			t.Errorf("after %v: %q, the truth is %v", passed, got, truth)
		}
	}
	if said < 150 {
		t.Errorf("an ETA was said %d times only", said)
	}
}

// planETA reads "ETA 1m05s" or "ETA 20 s".
func planETA(t *testing.T, said string) time.Duration {
	t.Helper()
	span, ok := strings.CutPrefix(said, "ETA ")
	d, err := time.ParseDuration(strings.ReplaceAll(span, " ", ""))
	if !ok || err != nil {
		t.Fatalf("%q is no ETA", said)
	}
	return d
}

// What ended a run of a cell before is what the next one takes.
func TestETAOfRunsBefore(t *testing.T) {
	t.Parallel()
	s := New(Plan{Cells: []Cell{{Name: "a"}}, Runs: make([]forecast.Run, 3)}, began)
	s.Begin(0, 0, 0, began)
	if got := s.left(began.Add(time.Second)); got != "" {
		t.Errorf("before anything is known: %q", got)
	}
	s.End(Done{}, began.Add(30*time.Second))
	s.Begin(1, 0, 1, began.Add(30*time.Second))
	if got, want := s.left(began.Add(40*time.Second)), "ETA 50 s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// At 80 columns the cells of the quick start can be told apart.
func TestNamesAreWhole(t *testing.T) {
	t.Parallel()
	const name = "isl 256, candidate, concurrency 4"
	s := New(Plan{Name: "quickstart", Cells: []Cell{{Name: name}}, Trials: 1, Runs: make([]forecast.Run, 1)}, began)
	s.Begin(0, 0, 0, began)
	s.End(Done{Cell: 0, Figures: figuresOf(123456, 123.4, 1), Verdict: validity.Degraded}, began)
	text := strings.Join(picture(t, s, 80, 24, Cells), "\n")
	if !strings.Contains(text, " "+name+"   123,000 ") || !strings.Contains(text, "100 % DEGRADED") {
		t.Error(text)
	}
}

// A cell that is done shows the mean and the range of its trials.
func TestDoneCells(t *testing.T) {
	t.Parallel()
	s := demo()
	s.End(Done{
		Cell: 0, Trial: 1, Figures: map[string]float64{outputRate: 120, ttftP99: 44}, Verdict: validity.Invalid,
		Err: "connection \x1b[31mrefused",
	}, began)
	text := strings.Join(picture(t, s, 120, 24, Cells), "\n")
	if !strings.Contains(text, "110 (100–120)") || !strings.Contains(text, "INVALID so far") {
		t.Error(text)
	}
	if log := strings.Join(picture(t, s, 100, 24, Log), "\n"); !strings.Contains(log, "connection refused") ||
		strings.Contains(log, "\x1b") {
		t.Errorf("the log is %q", log)
	}
}

// A window shows as much as it has room for: what is best so far, then the range of
// trials, then more figures. Cells of other work are not ranked against each other, and
// an INVALID cell is never the best. A sparkline takes what the numbers leave.
func TestRoomIsUsed(t *testing.T) {
	t.Parallel()
	s := demo()
	s.plan.Cells[0] = Cell{"isl 64, concurrency 1", "isl 64"}
	s.plan.Cells[2] = Cell{"isl 128, concurrency 64", "isl 128"}
	s.End(Done{Cell: 0, Trial: 1, Figures: figuresOf(9000, 1, 1), Verdict: validity.Valid}, began)
	s.End(Done{Cell: 1, Trial: 1, Figures: figuresOf(220, 44, 1), Verdict: validity.Valid}, began)
	s.Begin(5, 2, 1, began)
	for i := range historyLength {
		s.Snapshot(snapshot(i))
	}
	for width, want := range map[int][]string{
		80: {
			" done so far                   out tok/s      TTFT p99 ms goodput % verdict",
			" isl 128, concurrency 16   210 (200–220) 42.0 (40.0–44.0)    75.0 % VALID",
			" isl 64, concurrency 1   949 (100–9,000) 6.32 (1.00–40.0)    75.0 % VALID",
			" isl 128, concurrency 64             300             40.0    50.0 % VALID",
		},
		120: {
			" done so far             trials       out tok/s      TTFT p99 ms goodput % verdict",
			" isl 128, concurrency 16      2   210 (200–220) 42.0 (40.0–44.0)    75.0 % VALID",
			" isl 64, concurrency 1        2 949 (100–9,000) 6.32 (1.00–40.0)    75.0 % VALID",
			" isl 128, concurrency 64      1             300             40.0    50.0 % VALID    leads: tok/s, TTFT p99 at isl 128",
		},
		200: {
			" done so far             trials       out tok/s            req/s       TTFT p50 ms      TTFT p99 ms ITL p50 ms ITL p99 ms goodput % errors verdict",
			" isl 128, concurrency 16      2   210 (200–220) 13.1 (12.5–13.8)  21.0 (20.0–22.0) 42.0 (40.0–44.0)       4.00       5.00    75.0 %      1 VALID",
			" isl 128, concurrency 64      1             300             18.8              20.0             40.0       4.00       5.00    50.0 %      2 VALID    leads: tok/s, TTFT p99 at isl 128",
		},
	} {
		lines := picture(t, s, width, 50, Cells)
		for _, w := range want {
			if !slices.Contains(lines, w) {
				t.Errorf("%d columns: no line\n%q in\n%s", width, w, strings.Join(lines, "\n"))
			}
		}
		for _, l := range lines {
			if strings.HasPrefix(l, " TTFT p50") && utf8.RuneCountInString(l) < width-3 {
				t.Errorf("%d columns of %d are used: %s", utf8.RuneCountInString(l), width, l)
			}
		}
	}
	s.End(Done{Cell: 2, Trial: 1, Figures: figuresOf(9000, 1, 1), Verdict: validity.Invalid}, began)
	if text := strings.Join(picture(t, s, 200, 50, Cells), "\n"); !strings.Contains(text,
		"1 VALID    leads: tok/s, TTFT p99 at isl 128") || strings.Count(text, "leads") != 1 {
		t.Errorf("an INVALID cell is best, or none is:\n%s", text)
	}
}

// Runs of the sentinel are no trials: they are called what they are, and stand in
// no figure of their cell.
func TestSentinel(t *testing.T) {
	t.Parallel()
	s := New(Plan{Name: "s", Cells: []Cell{{Name: "concurrency 1"}}, Trials: 2, Runs: make([]forecast.Run, 5)}, began)
	for i, trial := range []int{2, 0, 3} {
		s.Begin(i, 0, trial, began)
		s.End(Done{
			Cell: 0, Trial: trial, Figures: figuresOf(100*float64(1+i), 40, 1),
			Verdict: validity.Valid, Err: "gone",
		}, began)
	}
	s.Begin(3, 0, 4, began)
	text := strings.Join(picture(t, s, 100, 24, Cells), "\n")
	if !strings.Contains(text, "cell 1/1 · sentinel 3/3") ||
		!strings.Contains(text, " concurrency 1      1       200 ") {
		t.Error(text)
	}
	if log := strings.Join(picture(t, s, 100, 24, Log), "\n"); !strings.Contains(log,
		"concurrency 1, sentinel 2/3: gone") || !strings.Contains(log, "trial 1/2: gone") {
		t.Error(log)
	}
}

// Keys: the panes, a pause that holds the next run back, a stop that is asked
// for each time.
func TestKeys(t *testing.T) {
	t.Parallel()
	stops := 0
	s := &Screen{}
	s.going = sync.NewCond(&s.mu)
	m := &model{
		state: demo(), screen: s, stop: func() { stops++ }, clock: func() time.Time { return began }, width: 80,
		height: 24,
	}
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

// What servers say of themselves is a line, in any window, and none where no server tells
// it.
func TestServersOnScreen(t *testing.T) {
	t.Parallel()
	s := demo()
	now := snapshot(3)
	if text := strings.Join(picture(t, s, 80, 24, Cells), "\n"); strings.Contains(text, "server") {
		t.Errorf("no server tells anything:\n%s", text)
	}
	now.Server = &loadgen.ServerSnapshot{Running: 16, Waiting: 3, KVUse: 0.81}
	s.Snapshot(now)
	for _, width := range []int{80, 40} {
		text := strings.Join(picture(t, s, width, 24, Cells), "\n")
		if !strings.Contains(text, " server  running 16  waiting 3") || !strings.Contains(text, "81") {
			t.Errorf("%d columns:\n%s", width, text)
		}
	}
	now.Server = &loadgen.ServerSnapshot{Running: 16, Waiting: math.NaN(), KVUse: math.NaN()}
	s.Snapshot(now)
	if text := strings.Join(picture(t, s, 80, 24, Cells), "\n"); !strings.Contains(text, " server  running 16\n") {
		t.Errorf("what is not known is shown:\n%s", text)
	}
}

// Events come through JSON as they were, without NaN.
func TestEventsRoundTrip(t *testing.T) {
	t.Parallel()
	s := snapshot(3)
	s.TTFTP50, s.Ends = math.NaN(), 7e9
	s.Server = &loadgen.ServerSnapshot{Running: 4, Waiting: math.NaN(), KVUse: 0.5}
	var b bytes.Buffer
	file := filepath.Join(t.TempDir(), resultdir.LiveName)
	e := NewEvents(&b, 6)
	e.File(file)
	e.Begin(2, 1, 0, "cell \"x\"")
	e.Snapshot(s)
	var left Event
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &left) != nil {
		t.Fatal(err, string(text))
	}
	if diff := cmp.Diff(s, left.Live.Snapshot(), cmpopts.EquateNaNs()); diff != "" || left.Index != 2 ||
		left.Cell != 1 {
		t.Errorf("(-want +got)\n%s%+v", diff, left)
	}
	e.Done(Done{Cell: 1, Figures: map[string]float64{ttftP99: 3}, Verdict: validity.Valid}, 2, "x")
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
	held := true
	if _, err := NewWatcher(dir, nil); err == nil || !strings.Contains(err.Error(), "no plan was begun there") {
		t.Errorf("%v", err)
	}
	put("plan.lock.json", `{"name":"demo","trials":1,"cells":[{"id":"a","label":"phases.profiling.concurrency=1"},{"id":"b","label":"phases.profiling.concurrency=4, endpoint=x","short":"concurrency 4, x"}],"runs":[{"id":"b-t0","cell":"b","trial":0},{"id":"a-t0","cell":"a","trial":0}]}`)
	begun := `{"event":"begin","time":"2026-11-21T09:30:00Z"}` + "\n" +
		`{"event":"start","time":"2026-11-21T09:30:00Z","run":"b-t0"}` + "\n" +
		`{"event":"done","time":"2026-11-21T09:30:20Z","run":"b-t0","dir":"runs/b"}` + "\n" +
		`{"event":"start","time":"2026-11-21T09:30:20Z","run":"a-t0"}` + "\n" + `{"event":"do`
	put("journal.jsonl", begun)
	put("runs/b/run.json", `{"verdict":"DEGRADED","phases":[{"warmup":true,"failed":9},{"failed":2}],"figures":{"output_tps":702,"ttft_p99_ms":46}}`)
	put(resultdir.LiveName, string(Event{
		Event: "live", Time: began, Index: 1, Runs: 2,
		Cell: 0, Live: FiguresOf(snapshot(1)),
	}.Line()))
	w, err := NewWatcher(dir, func() bool { return held })
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(picture(t, w.State(), 100, 24, Cells), "\n")
	for _, want := range []string{
		"cell 1/2", "1/2 runs", "DEGRADED so far", "concurrency 4, x", "702", "46.0",
		"sent 812/1,600",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if errs := strings.Join(picture(t, w.State(), 100, 24, Errors), "\n"); !strings.Contains(errs,
		"concurrency 4, x: 2 requests failed") {
		t.Error(errs)
	}
	if w.Next(w.State()) {
		t.Error("over before its end")
	}
	if text := strings.Join(pictureFor(t, w.State(), Watching), "\n"); !strings.Contains(text, "q leave") ||
		strings.Contains(text, "p pause") {
		t.Errorf("one that watches cannot pause or stop:\n%s", text)
	}
	w.silence(w.State(), began.Add(time.Hour))
	if text := strings.Join(pictureFor(t, w.State(), Watching), "\n"); !strings.Contains(text, "this run") {
		t.Errorf("a plan whose process is there, however quiet, has not stopped:\n%s", text)
	}
	held = false
	w.silence(w.State(), began.Add(25*time.Second)) // 5 s after the journal's last line
	if text := strings.Join(pictureFor(t, w.State(), Watching), "\n"); !strings.Contains(text, "this run") {
		t.Errorf("a plan that wrote just now has not stopped:\n%s", text)
	}
	w.silence(w.State(), began.Add(time.Hour))
	text = strings.Join(pictureFor(t, w.State(), NoKeys), "\n")
	for _, want := range []string{
		"stopped, not finished", "1/2 runs", "DEGRADED so far",
		"nothing was written since 2026-11-21 09:30:20 UTC", "--resume",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "this run") || strings.Contains(text, "left") {
		t.Errorf("what nobody works at goes on:\n%s", text)
	}
	held = true // resumed
	if w.Next(w.State()); !w.State().silent.IsZero() {
		t.Error("a plan that was resumed stays silent")
	}
	put("journal.jsonl", begun+`ne","time":"2026-11-21T09:30:42Z","run":"a-t0","dir":"runs/a"}`+"\n"+
		`{"event":"end","time":"2026-11-21T09:30:42.5Z"}`+"\n")
	put("manifest.json", `{"verdict":"INVALID"}`)
	if !w.Next(w.State()) || len(w.State().done) != 2 {
		t.Errorf("not over, or a run was taken twice: %d", len(w.State().done))
	}
	for _, keys := range []Keys{NoKeys, Watching} {
		text := strings.Join(pictureFor(t, w.State(), keys), "\n")
		for _, want := range []string{"2 cells × 1 trial", "finished, took 42.5 s", "2/2 runs", "INVALID\n", " cell "} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		for _, not := range []string{"so far", "sent", "drain", "this run"} {
			if strings.Contains(text, not) {
				t.Errorf("%q of a plan that is over in\n%s", not, text)
			}
		}
		if strings.Contains(text, "q leave") != (keys == Watching) {
			t.Errorf("keys of %d in\n%s", keys, text)
		}
	}
}

func BenchmarkFrame(b *testing.B) {
	s := demo()
	for b.Loop() {
		f := frame{State: s, at: began, width: 150, height: 45}
		_ = f.lines()
	}
}

// A minute fits into few columns, and no peak is lost.
func TestColumnsKeepPeaks(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, c := range []struct {
		in   series
		n    int
		want string
	}{
		{series{1, 8, 1, 1, 1, 1, nan, 4}, 4, "█▂▂▅"},
		{series{4, 1, 8}, 2, "▅█"}, // the part that is shorter comes first
		{series{4, 8}, 20, "▅█"},
		{series{nan, nan, 8, nan}, 2, " █"},
		{nil, 5, ""},
		{series{1}, 0, ""},
	} {
		if got := c.in.spark(c.n); got != c.want {
			t.Errorf("%v in %d columns: %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

// Each setting of a long name is still told, and what nothing limits has no column.
func TestLongNamesOfCells(t *testing.T) {
	t.Parallel()
	const cell = "isl 64, candidate-with-a-long-name-of-its-own, concurrency "
	s := New(Plan{
		Name: "long", Cells: []Cell{{Name: cell + "4"}, {Name: cell + "16"}},
		Trials: 1, Runs: make([]forecast.Run, 2),
	}, began)
	for i := range 2 {
		s.Begin(i, i, 0, began)
		s.End(Done{Cell: i, Figures: map[string]float64{outputRate: 100, ttftP99: 40}, Verdict: validity.Valid}, began)
	}
	s.Begin(1, 1, 0, began)
	for _, width := range []int{80, 40} {
		text := strings.Join(picture(t, s, width, 24, Cells), "\n")
		for _, want := range []string{"isl 64, ", "concurrency 4 ", "concurrency 16 "} {
			if !strings.Contains(text, want) && width == 80 {
				t.Errorf("%d columns: no %q in\n%s", width, want, text)
			}
		}
		if strings.Contains(text, "goodput") {
			t.Errorf("a column for nothing in\n%s", text)
		}
	}
}

// What a name holds that a terminal would obey is not on the screen.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	s := New(Plan{
		Name: "plan\x1b[2J\u202e", Cells: []Cell{{Name: "cell\x1b]0;title\x07 a\nb"}},
		Trials: 1, Runs: make([]forecast.Run, 1),
	}, began)
	s.Begin(0, 0, 0, began)
	s.End(Done{Verdict: validity.Valid}, began)
	text := strings.Join(picture(t, s, 80, 24, Cells), "\n")
	if strings.ContainsAny(text, "\x1b\x07\u202e") || !strings.Contains(text, " plan ") ||
		!strings.Contains(text, " cell a b ") {
		t.Errorf("%q", text)
	}
}

// A search shows its bracket, what is left of the budget, and the next probe with its
// reason, also of a load that the plan did not list.
func TestSearchOnScreen(t *testing.T) {
	t.Parallel()
	s := New(Plan{Name: "limit", Cells: []Cell{{"concurrency 1", ""}}, Trials: 1}, began)
	s.Begin(0, 0, 0, began)
	s.End(Done{Cell: 0, Verdict: validity.Valid}, began)
	s.Know(1, Cell{"concurrency 32", ""})
	s.Decided("the middle of 16 and 64", "16 holds, 64 fails; 31 probes left")
	s.Begin(1, 1, 1, began)
	s.Snapshot(snapshot(1))
	for _, width := range []int{60, 120} {
		text := strings.Join(picture(t, s, width, 24, Cells), "\n")
		for _, want := range []string{
			"probe 2 · 16 holds, 64 fails; 31 probes left",
			" concurrency 32: the middle of 16 and 64",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns: no %q in\n%s", width, want, text)
			}
		}
	}
}

// Who watches a search from outside sees the same.
func TestSearchWatched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name string, v any) {
		b, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), append(b, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(resultdir.LockName, resultdir.Lock{
		Name: "limit", Trials: 1,
		Cells: []resultdir.LockCell{{ID: "a", Short: "concurrency 1"}},
	})
	w, err := NewWatcher(dir, func() bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	var journal []byte
	for _, e := range []resultdir.Event{
		{Event: "begin"},
		{Event: "decision", Run: "b-t0", Why: "nothing fails up to 1", Standing: "1 holds; 39 probes left"},
		{Event: "cell", Made: &resultdir.LockCell{ID: "b", Short: "concurrency 2"}},
		{Event: "start", Run: "b-t0", Cell: "b"},
	} {
		e.Time = began
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		journal = append(append(journal, b...), '\n')
	}
	if err := os.WriteFile(filepath.Join(dir, resultdir.JournalName), journal, 0o644); err != nil {
		t.Fatal(err)
	}
	w.Next(w.State())
	w.State().silent = time.Time{}
	text := strings.Join(picture(t, w.State(), 120, 24, Cells), "\n")
	for _, want := range []string{"probe 1 · 1 holds; 39 probes left", " concurrency 2: nothing fails up to 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
