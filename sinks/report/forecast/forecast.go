// Package forecast says how long a plan will still take, and at what pace answers
// come back. In go what is known of a plan's runs before they begin, when each
// begins and ends, and the engine's snapshots; out come words for a screen.
// Nothing here reads a clock.
package forecast

import (
	"fmt"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Run is what is known of a run before it begins.
type Run struct {
	Cell  int           // the number of its cell: runs of one cell take about the same
	Rest  time.Duration // the pause before it
	Takes time.Duration // by its phases' own settings
	Known bool          // the settings say all of it; else Takes is the least
	Last  string        // the name of its last phase, "" where nobody knows
}

// Of is what is known of the runs of a plan.
func Of(plan *sweep.Plan) []Run {
	var out []Run
	for i, run := range plan.Runs {
		r := Run{}
		if i > 0 {
			r.Rest = plan.Cooldown(plan.Runs[i-1], run)
		}
		if run.Cell != nil {
			r.Cell = run.Cell.Index
			r.schedule(run)
		}
		out = append(out, r)
	}
	return out
}

// schedule adds up the phases of a run.
func (r *Run) schedule(run sweep.Run) {
	if run.Cell.Resolved == nil {
		return
	}
	r.Known = true
	phases := run.Cell.Resolved.Benchmark.Phases
	for i := range phases {
		r.Last = phases[i].Name
		if phases[i].Kind == "warmup" && !run.Warmup {
			continue
		}
		took, ok := scheduled(&phases[i])
		r.Takes, r.Known = r.Takes+took, r.Known && ok
	}
}

// Forecast says only what is known within about a factor of two: what phases are
// bounded by, what runs of the same cell took before, and the pace of the run in
// progress once it has one.
type Forecast struct {
	runs  []Run
	took  map[int][]time.Duration // by cell
	extra []time.Duration         // by how much runs took longer than their settings say
	began time.Time               // of the run in progress
}

// New is the forecast of a plan before its first run.
func New(runs []Run) *Forecast { return &Forecast{runs: runs, took: map[int][]time.Duration{}} }

// Begin notes that a run begins.
func (f *Forecast) Begin(now time.Time) { f.began = now }

// End notes that the run that began last, the one at index, was measured.
func (f *Forecast) End(index int, now time.Time) {
	if index < len(f.runs) && !f.began.IsZero() {
		cell := f.runs[index].Cell
		f.took[cell] = append(f.took[cell], now.Sub(f.began))
		if run := &f.runs[index]; run.Known {
			f.extra = append(f.extra, max(now.Sub(f.began)-run.Takes, 0))
		}
	}
}

// Text is "ETA 6m30s", "at least 5m00s left" where some of the rest is not
// known, "" where nothing is. The run at index is in progress, s is its newest
// snapshot, or nil.
func (f *Forecast) Text(index int, s *loadgen.Snapshot, now time.Time) string {
	if index >= len(f.runs) {
		return ""
	}
	rest, all := f.current(&f.runs[index], s, now)
	for i := index + 1; i < len(f.runs); i++ {
		took, known := f.expected(&f.runs[i])
		rest += took + f.runs[i].Rest
		all = all && known
	}
	switch {
	case all:
		return "ETA " + wholeSeconds(max(rest, 0))
	case rest >= time.Second:
		return "at least " + wholeSeconds(rest) + " left"
	}
	return ""
}

// wholeSeconds: nobody reads tenths of a guess.
func wholeSeconds(d time.Duration) string {
	if d = d.Round(time.Second); d < time.Minute {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return words.Span(d)
}

// current is the rest of the run in progress.
func (f *Forecast) current(run *Run, s *loadgen.Snapshot, now time.Time) (time.Duration, bool) {
	if took, ok := f.expected(run); ok && !f.began.IsZero() && (s == nil || s.Warmup || len(f.took[run.Cell]) > 0) {
		return max(took-now.Sub(f.began), 0), true
	}
	if s == nil {
		return 0, false
	}
	left, ok := phaseLeft(*s)
	if ok && run.Known {
		left += mean(f.extra)
	}
	return left, ok && !s.Warmup && (run.Last == "" || run.Last == s.Phase)
}

// expected is what a run takes: as long as earlier runs of its cell, else what
// its settings say.
func (f *Forecast) expected(run *Run) (total time.Duration, known bool) {
	before := f.took[run.Cell]
	switch {
	case len(before) > 0:
		return mean(before), true
	case run.Known: // the runs before it show what connecting, late answers and judging add
		return run.Takes + mean(f.extra), true
	}
	return run.Takes, false
}

func mean(all []time.Duration) (sum time.Duration) {
	for _, d := range all {
		sum += d
	}
	return sum / time.Duration(max(len(all), 1))
}

// scheduled is the time a phase takes by its own settings; ok is false where the
// server's answers decide, and then it is the least.
func scheduled(p *schema.Phase) (took time.Duration, ok bool) {
	m, err := mode.Of(p)
	if err != nil {
		return 0, false
	}
	byTime := p.Duration != nil && p.Requests == 0 && p.Sessions == 0
	return m.Plan(p).AtLeast, byTime || !m.Closed && p.Sessions == 0 && m.Plan(p).AtLeast > 0
}

// fewAnswers are needed before a pace is told: the number of answers in a time
// varies by its square root, so from eight on the pace is within a factor of two
// in 19 of 20 cases.
const fewAnswers = 8

// phaseLeft is the rest of a phase: to its end by the clock, or by the pace of
// its answers, whichever comes first. A pace counts from the third round of
// answers on: the first is slow to come and the second still in step.
func phaseLeft(s loadgen.Snapshot) (left time.Duration, known bool) {
	if s.Ends != record.None {
		left, known = time.Duration(max(s.Ends-s.At, 0)), true
	}
	need := max(fewAnswers, 2*int64(s.Target))
	if s.Planned > 0 && s.Done >= min(need, max(s.Planned-1, 1)) && s.At > s.Start {
		each := float64(s.At-s.Start) / float64(s.Done)
		if pace := time.Duration(each * float64(max(s.Planned-s.Done, 0))); !known || pace < left {
			left, known = pace, true
		}
	}
	return left, known
}
