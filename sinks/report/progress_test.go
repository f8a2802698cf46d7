package report

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/sinks/report/forecast"
	"aiperf.dev/aiperf/sweep"
)

// terminal shows what a terminal of some width would: it wraps long lines, also
// those that stand there when it becomes narrower.
type terminal struct {
	cols  int
	lines []string // as written, the last one with the cursor
}

var controls = regexp.MustCompile(`\r|\n|\x1b\[(\d*)([AJm])|[^\r\n\x1b]+`)

func (t *terminal) Write(b []byte) (int, error) {
	if len(t.lines) == 0 {
		t.lines = []string{""}
	}
	column, row := -1, len(t.lines)-1 // −1: at the end
	for _, m := range controls.FindAllStringSubmatch(string(b), -1) {
		switch {
		case m[0] == "\r":
			column = 0
		case m[0] == "\n":
			t.lines = append(t.lines, "")
			row, column = row+1, -1
		case m[2] == "A":
			n, _ := strconv.Atoi(m[1])
			n -= t.rows(t.lines[row]) - 1 // to the first row of this line
			for n > 0 && row > 0 {        // rows of the screen, not lines
				row--
				n -= t.rows(t.lines[row])
			}
			if n != 0 {
				return 0, fmt.Errorf("moved into the middle of a line")
			}
		case m[2] == "J":
			t.lines = t.lines[:row+1]
			t.lines[row] = ""
		case m[2] == "m":
		default:
			if column == 0 && t.lines[row] != "" {
				return 0, fmt.Errorf("wrote %q over %q", m[0], t.lines[row])
			}
			t.lines[row] += m[0]
			column = -1
		}
	}
	return len(b), nil
}

func (t *terminal) rows(line string) int { return max(1, (len([]rune(line))+t.cols-1)/t.cols) }

// shown draws p's states on a terminal, one after the other.
func (t *terminal) progress(now *time.Time) *Progress {
	plan := &sweep.Plan{
		Name: "isl-by-concurrency", Trials: 5, Cells: make([]*sweep.Cell, 18),
		Runs: make([]sweep.Run, 31),
	}
	return &Progress{
		w: t, screen: &screen{w: t, width: func() int { return t.cols }, colour: true}, plan: plan,
		now: func() time.Time { return *now }, said: *now, forecast: forecast.New(forecast.Of(plan)),
	}
}

func snapshot() loadgen.Snapshot {
	return loadgen.Snapshot{
		Phase: "profiling", At: 10e9, Ends: record.None, Planned: 1600, Sent: 812, Done: 796, InFlight: 16, Target: 16,
		LagP99:  0.0812,
		TTFTP50: 41.21, TTFTP99: 63.04, ITLP50: 5.1, ITLP99: 6.04, LatencyP50: 364, LatencyP99: 431,
		OutputTokensPerSecond: 3104, RequestsPerSecond: 48.5,
	}
}

func at(index, total int) Step {
	cell := &sweep.Cell{Index: 6, Point: []sweep.Value{
		{Axis: "isl", Label: "1024"},
		{Axis: "concurrency", Label: "16"},
	}}
	return Step{Run: sweep.Run{Cell: cell, Trial: 1}, Index: index, Total: total}
}

func TestProgressRegion(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	term := &terminal{cols: 100}
	fmt.Fprint(term, "what stood there before\n")
	p := term.progress(&now)
	p.Step(at(30, 31))
	now = now.Add(200 * time.Second)
	s := snapshot()
	for _, v := range []float64{41, 41, 41, 60, 41.21} {
		s.TTFTP50 = v
		p.Live(s)
	}
	want := []string{
		"what stood there before",
		"isl-by-concurrency · cell 7/18 · trial 2/5 · isl 1024, concurrency 16                      ETA 10 s",
		"██████████████████████████████  in flight 16/16   sent 812/1600   errors 0   lag p99 0.0812 ms",
		"TTFT p50 41.2 p99 63.0 ms ▂▂▂▆▂   ITL p50 5.10 p99 6.04 ms ▄▄▄▄▄   3.1 k tok/s",
	}
	if diff := cmp.Diff(want, term.lines); diff != "" {
		t.Errorf("screen (-want +got):\n%s", diff)
	}
	p.End()
	if diff := cmp.Diff([]string{"what stood there before", ""}, term.lines); diff != "" {
		t.Errorf("after the end (-want +got):\n%s", diff)
	}
}

// In 80 columns the pictures give way, not the numbers.
func TestProgressIn80Columns(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	term := &terminal{cols: 80}
	p := term.progress(&now)
	p.Step(at(30, 90))
	for range 10 {
		p.Live(snapshot())
	}
	want := "TTFT p50 41.2 p99 63.0 ms ▄▄▄▄▄   ITL p50 5.10 p99 6.04 ms ▄▄▄▄▄   3.1 k tok/s"
	if got := term.lines[len(term.lines)-1]; got != want {
		t.Errorf("third line %q (%d columns), want %q", got, len([]rune(got)), want)
	}
}

// Whatever the window does, what stood above stays and nothing is left over.
func TestProgressInAWindowThatChanges(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	term := &terminal{cols: 200}
	fmt.Fprint(term, "above\n")
	p := term.progress(&now)
	p.Step(at(0, 4))
	for _, cols := range []int{200, 61, 24, 3, 120, 24} {
		term.cols = cols
		p.Live(snapshot())
		if len(term.lines) != 4 || term.lines[0] != "above" {
			t.Fatalf("%d columns: %q", cols, term.lines)
		}
		for _, l := range term.lines[1:] {
			if n := len([]rune(l)); n >= cols {
				t.Errorf("%d columns: a line of %d: %q", cols, n, l)
			}
		}
	}
	p.done = 1
	p.Step(Step{Run: at(1, 4).Run, Index: 1, Total: 4, Err: errors.New("connection refused")})
	p.Draining()
	if n := len(term.lines); n != 4 || !strings.HasSuffix(term.lines[1], "failed: connection refused") ||
		!strings.HasPrefix(term.lines[2], "interrupted: ") {
		t.Errorf("lines for good: %q", term.lines)
	}
}

func TestProgressWithoutTerminal(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	term := &terminal{}
	p := term.progress(&now)
	var out bytes.Buffer
	p.w, p.screen = &out, nil
	p.Step(at(0, 90))
	for range 50 { // 25 s
		now = now.Add(500 * time.Millisecond)
		p.Live(snapshot())
	}
	p.End()
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines in 25 s, want one every 10 s: %q", len(lines), lines)
	}
	want := "isl-by-concurrency · cell 7/18 · trial 2/5 · isl 1024, concurrency 16 · at least 10 s left · in flight 16/16   sent 812/1600   errors 0   lag p99 0.0812 ms · TTFT p50 41.2 p99 63.0 ms   ITL p50 5.10 p99 6.04 ms   3.1 k tok/s"
	if lines[0] != want {
		t.Errorf("line %q\nwant %q", lines[0], want)
	}
	if strings.ContainsAny(out.String(), "\x1b\r█") {
		t.Error("control characters or bars without a terminal")
	}
}

func TestProgressWords(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	s := loadgen.Snapshot{
		Phase: "warmup", Warmup: true, Ends: 4e9, At: 1e9, Sent: 12, LagP99: nan, TTFTP50: nan, TTFTP99: nan,
		ITLP50: nan, ITLP99: nan,
		LatencyP50: 20, LatencyP99: 31.25, RequestsPerSecond: 412.4, OutputTokensPerSecond: 1.234e6,
		Waiting: "for 3 answers",
	}
	if got, want := counts(s), "warmup: in flight 0   sent 12   errors 0"; got != want {
		t.Errorf("counts %q, want %q", got, want)
	}
	if got, want := spans(s, nil, nil), "latency p50 20.0 p99 31.2 ms   412 req/s   1.23 M tok/s"; got != want {
		t.Errorf("spans %q, want %q", got, want)
	}
	if got := share(s); got != 0.25 {
		t.Errorf("share %v, want a quarter of the duration", got)
	}
	if waits(s) != "waits for 3 answers" || waits(loadgen.Snapshot{}) != "" {
		t.Errorf("waits %q", waits(s))
	}
}

func TestColourOfFailures(t *testing.T) {
	t.Parallel()
	colour, plain := &screen{colour: true}, &screen{}
	for line, want := range map[string]string{
		"sent 5   errors 0   lag":  "sent 5   errors 0   lag",
		"sent 5   errors 12   lag": "sent 5   \x1b[31merrors 12\x1b[0m   lag",
		"sent 5   errors 3":        "sent 5   \x1b[31merrors 3\x1b[0m",
		"no such word":             "no such word",
	} {
		if got := colour.paint(line); got != want {
			t.Errorf("paint(%q) = %q, want %q", line, got, want)
		}
		if got := plain.paint(line); got != line {
			t.Errorf("without colour: %q", got)
		}
	}
}

// Two drawings a second are to cost less than a hundredth of a core: 5 ms each.
// One takes some 10 µs; what can be held to is that it does not grow.
func BenchmarkProgress(b *testing.B) {
	now := time.Unix(0, 0)
	term := &terminal{cols: 100}
	p := term.progress(&now)
	var out bytes.Buffer
	p.screen.w = &out
	p.Step(at(0, 90))
	s := snapshot()
	for b.Loop() {
		out.Reset()
		p.Live(s)
	}
}

// A search says at which probe it is, why, what it knows, and what is left.
func TestProgressOfASearch(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	term := &terminal{cols: 120}
	p := term.progress(&now)
	s := at(8, 0)
	s.Why, s.Stand = "the middle of 16 and 64", "16 holds, 64 fails; 31 probes left"
	p.Step(s)
	p.Live(snapshot())
	line := term.lines[len(term.lines)-3]
	if !strings.HasPrefix(line, "isl-by-concurrency · probe 9 · isl 1024, concurrency 16: the middle of 16 and 64 ") ||
		!strings.HasSuffix(line, " 16 holds, 64 fails; 31 probes left") {
		t.Errorf("first line %q", line)
	}
}
