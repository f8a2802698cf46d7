package sweep

import (
	"fmt"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/schema"
)

// Bound is what a plan costs at least, as far as it can be said before
// anything is sent.
type Bound struct {
	Runs     int
	Requests int64 // planned, over all runs; those of phases without a known count are not in it
	// Open tells that some phase is bounded by time or sessions only, so that
	// there will be more requests than Requests.
	Open bool
	// AtLeast is the time that schedules and durations take even on an
	// infinitely fast server; random arrivals count with their mean. Cooldown
	// comes on top.
	AtLeast  time.Duration
	Cooldown time.Duration
	Cells    []CellBound  // in plan order
	Phases   []PhaseBound // the different ones, over all cells
}

// CellBound is one run of a cell with its warmup.
type CellBound struct {
	Cell   *Cell
	Phases []PhaseBound
}

// PhaseBound is one phase of one cell, or in Bound.Phases all cells' phases
// that differ only in numbers.
type PhaseBound struct {
	Name, Kind string
	Mode       string // the title of its load mode
	Reason     string // why this mode
	Stop       string // what ends it: "100 requests", "30 s", "10 requests by default"
	// Requests is the planned count, 0 when not known; MaxRequests differs only
	// in Bound.Phases.
	Requests, MaxRequests int64
	AtLeast               time.Duration
}

// Replay tells what a fixed schedule of a run sends: how many requests, 0 when
// that cannot be said, and when the last of them is due.
type Replay func(run Run, phase *schema.Phase) (requests int64, last time.Duration)

// Bound computes the cost of the plan. The rows of fixed schedules are in files,
// which a plan does not read: replay does; without it they count as open.
func (p *Plan) Bound(replay Replay) Bound {
	b := Bound{Runs: len(p.Runs)}
	first := map[*Cell]Run{}
	for _, r := range slices.Backward(p.Runs) {
		first[r.Cell] = r
	}
	byCell := map[*Cell][]PhaseBound{}
	for _, c := range p.Cells {
		var phases []PhaseBound
		all := mode.WithPriming(c.Resolved.Benchmark.Phases)
		for i := range all {
			f := &all[i]
			bound := boundPhase(f)
			if m, err := mode.Of(f); err == nil && m.Ends && replay != nil {
				bound.replayed(replay(first[c], f))
			}
			phases = append(phases, bound)
		}
		byCell[c] = phases
		b.Cells = append(b.Cells, CellBound{c, phases})
		for _, f := range phases {
			b.merge(f)
		}
	}
	for i, r := range p.Runs {
		for _, f := range byCell[r.Cell] {
			if f.Kind == "warmup" && !r.Warmup {
				continue
			}
			b.Requests += f.Requests
			b.AtLeast += f.AtLeast
			b.Open = b.Open || f.Requests == 0
		}
		if i > 0 {
			b.Cooldown += p.Cooldown(p.Runs[i-1], r)
		}
	}
	return b
}

// Cooldown is the pause between two runs that follow each other: the trials'
// where the cell stays the same, else the sweep's, or the trials' where a new
// trial begins and the sweep has none.
func (p *Plan) Cooldown(last, next Run) time.Duration {
	wait := p.CooldownSeconds
	if last.Cell == next.Cell || wait == 0 && last.Trial != next.Trial {
		wait = p.MultiRun.CooldownSeconds
	}
	return seconds(wait)
}

// merge widens the phase that differs only in numbers, or adds a new one.
func (b *Bound) merge(f PhaseBound) {
	for i := range b.Phases {
		have := &b.Phases[i]
		if have.Name != f.Name || have.Mode != f.Mode || have.Reason != f.Reason {
			continue
		}
		have.Requests, have.MaxRequests = min(have.Requests, f.Requests), max(have.MaxRequests, f.MaxRequests)
		have.AtLeast = min(have.AtLeast, f.AtLeast)
		if have.Stop != f.Stop {
			have.Stop = "differs per cell"
			if have.Requests > 0 {
				have.Stop = fmt.Sprintf("%d to %d requests", have.Requests, have.MaxRequests)
			}
		}
		return
	}
	b.Phases = append(b.Phases, f)
}

// replayed notes what a fixed schedule sends.
func (f *PhaseBound) replayed(requests int64, last time.Duration) {
	if requests == 0 {
		return
	}
	f.Requests, f.MaxRequests, f.AtLeast = requests, requests, last
	f.Stop = fmt.Sprintf("%s, the last due at %v", words.Count(requests, "request"), last)
}

func boundPhase(f *schema.Phase) PhaseBound {
	out := PhaseBound{Name: f.Name, Kind: f.Kind, Mode: f.Type, Reason: "type " + f.Type, Stop: "not bounded"}
	m, err := mode.Of(f)
	if err != nil {
		return out // said when the phase is opened
	}
	out.Mode = m.Title
	if m.BySetting() {
		out.Reason = "a " + m.Name + " is given"
	}
	if a := f.AdaptiveScale; a != nil {
		out.Mode += ", raises " + a.Range() + " until a limit breaks"
	}
	plan := m.Plan(f)
	out.Requests, out.MaxRequests, out.AtLeast = plan.Requests, plan.Requests, plan.AtLeast
	if n := len(plan.Stops); n > 0 {
		if out.Stop = plan.Stops[0]; n > 1 {
			out.Stop += " or " + plan.Stops[n-1]
		}
	}
	if s := f.Stability; s != nil {
		out.Mode += ", " + s.Words()
	}
	if f.AdaptiveScale != nil || f.Stability != nil { // it ends when a value has held, or windows agree
		out.Stop, out.AtLeast = out.Stop+" at the latest", 0
	}
	return out
}

func seconds(s float64) time.Duration { return schema.Duration(s).Go() }
