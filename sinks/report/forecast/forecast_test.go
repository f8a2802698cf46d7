package forecast

import (
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// cellOf is a cell whose runs have these phases.
func cellOf(phases ...schema.Phase) *sweep.Cell {
	r := &schema.Resolved{}
	r.Benchmark.Phases = phases
	return &sweep.Cell{Resolved: r}
}

func planOf(cells ...*sweep.Cell) *sweep.Plan {
	p := &sweep.Plan{Trials: 1, Cells: cells}
	for i, c := range cells {
		c.Index = i
		p.Runs = append(p.Runs, sweep.Run{Cell: c})
	}
	return p
}

func lasting(seconds float64) schema.Phase {
	d := schema.Duration(seconds)
	return schema.Phase{Name: "profiling", Kind: "profiling", Type: "concurrency", Concurrency: 4, Duration: &d}
}

func counting(n int64) schema.Phase {
	return schema.Phase{Name: "profiling", Kind: "profiling", Type: "concurrency", Concurrency: 4, Requests: n}
}

// answers is a phase of n planned requests of which so many are done after so
// many seconds.
func answers(done, planned int64, seconds float64) *loadgen.Snapshot {
	return &loadgen.Snapshot{
		Phase: "profiling", Start: 1e9, At: 1e9 + int64(seconds*1e9), Ends: record.None,
		Planned: planned, Sent: min(done+4, planned), Done: done, InFlight: 4, Target: 4,
	}
}

func TestForecast(t *testing.T) {
	t.Parallel()
	two := planOf(cellOf(counting(100)), cellOf(counting(100)))
	timed := planOf(cellOf(lasting(60)), cellOf(lasting(30)))
	same := planOf(cellOf(counting(100)))
	same.Runs = append(same.Runs, same.Runs[0], same.Runs[0])
	for _, c := range []struct {
		name   string
		plan   *sweep.Plan
		index  int
		passed float64 // seconds since the run began
		s      *loadgen.Snapshot
		took   time.Duration // of a run of the same cell before
		want   string
	}{
		{"nothing came back yet", same, 2, 5, answers(0, 100, 5), 0, ""},
		{"seven answers say nothing", same, 2, 5, answers(7, 100, 5), 0, ""},
		{"eight do", same, 2, 8, answers(8, 100, 8), 0, "ETA 1m32s"},
		{"another cell is not known", two, 0, 50, answers(50, 100, 50), 0, "at least 50 s left"},
		{"its last cell is", two, 1, 50, answers(50, 100, 50), 0, "ETA 50 s"},
		{"a run like the one before", same, 1, 10, answers(1, 100, 10), 40 * time.Second, "ETA 1m10s"},
		{"phases that end by the clock", timed, 0, 0, nil, 0, "ETA 1m30s"},
		{"before any snapshot nothing is known of answers", two, 0, 0, nil, 0, ""},
	} {
		began := time.Unix(100, 0)
		f := New(Of(c.plan))
		if c.took > 0 {
			f.Begin(began.Add(-c.took))
			f.End(0, began)
		}
		f.Begin(began)
		if got := f.Text(c.index, c.s, began.Add(time.Duration(c.passed*1e9))); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Runs that end by the clock take a little longer than that, each by as much: once one has shown it, the end of the
// plan does not move away with every further run.
func TestForecastDoesNotGrowWithEveryRun(t *testing.T) {
	t.Parallel()
	var cells []*sweep.Cell
	for i := range 6 {
		cells = append(cells, cellOf(lasting(float64(10+i))))
	}
	f := New(Of(planOf(cells...)))
	now, before := time.Unix(100, 0), time.Time{}
	for i := range 6 {
		f.Begin(now)
		left, known := f.current(&f.runs[i], nil, now)
		for k := i + 1; k < 6; k++ {
			took, _ := f.expected(&f.runs[k])
			left += took
		}
		if end := now.Add(left); !known || i > 1 && end.After(before) {
			t.Errorf("run %d: the end moves from %v to %v", i, before, end)
		} else {
			before = end
		}
		now = now.Add(time.Duration(10+i)*time.Second + 3*time.Second)
		f.End(i, now)
	}
}

// Ten slow requests, answers between 1 s and 100 s apart: what is said never
// jumps by more than a factor of two from one second to the next.
func TestForecastDoesNotJump(t *testing.T) {
	t.Parallel()
	ends := []float64{1, 101, 103, 190, 192, 250, 300, 301, 390, 400, 410, 480, 500, 560, 600, 620, 640, 700, 770, 800}
	planned := int64(len(ends))
	before := 0.0
	for at := 0.5; at < 800; at++ {
		done := int64(0)
		for _, e := range ends {
			if e <= at {
				done++
			}
		}
		left, known := phaseLeft(*answers(done, planned, at))
		if !known {
			continue
		}
		if truth := 800 - at; truth > 60 && (left.Seconds() > 2.2*truth || left.Seconds() < truth/2.2) {
			t.Errorf("at %v s: %v left, the truth is %v s", at, left, truth)
		}
		if now := left.Seconds(); before > 90 && (now > 2*before || now < before/2) {
			t.Errorf("at %v s: from %v s to %v", at, before, left)
		}
		before = left.Seconds()
	}
}

// Answers that end together look like twice the pace for half a second, and
// again when nothing is sent any more.
func TestPaceIsOfTheLoad(t *testing.T) {
	t.Parallel()
	var p Pace
	tokens := func(s *loadgen.Snapshot) float64 { p.Smooth(s); return s.OutputTokensPerSecond }
	for i := range 40 {
		s := answers(int64(i), 100, float64(i+1)/2)
		s.OutputTokensPerSecond = 2000 * float64(i%2) // all of a second's tokens in one half of it
		if got := tokens(s); i >= 10 && (got < 900 || got > 1100) {
			t.Errorf("snapshot %d: %v tok/s, want about 1000", i, got)
		}
	}
	s := answers(98, 100, 21)
	s.OutputTokensPerSecond = 4000
	if got := tokens(s); got != 0 {
		t.Errorf("while draining: %v tok/s, want none", got)
	}
}
