package sweep

import (
	"fmt"
	"math"
	"slices"
	"time"

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
	Mode       string // "concurrency burst", "poisson rate", …
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
		for i := range c.Resolved.Benchmark.Phases {
			f := &c.Resolved.Benchmark.Phases[i]
			bound := boundPhase(f)
			if f.Type == "fixed_schedule" && replay != nil {
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
	f.Stop = fmt.Sprintf("%d requests, the last due at %v", requests, last)
}

func boundPhase(f *schema.Phase) PhaseBound {
	out := PhaseBound{Name: f.Name, Kind: f.Kind}
	out.Mode, out.Reason = mode(f)
	n, stop := plannedRequests(f)
	var limit float64 // seconds; 0: none
	if f.Duration != nil && !math.IsInf(float64(*f.Duration), 1) {
		limit = float64(*f.Duration)
		stop = append(stop, seconds(limit).String())
	}
	switch {
	case len(f.RateSeries) > 0 && limit > 0:
		n = atMost(n, int64(seriesRequests(f.RateSeries, limit)))
	case f.Type != "concurrency" && f.Rate > 0 && limit > 0:
		n = atMost(n, int64(f.Rate*limit))
	}
	out.Requests, out.MaxRequests = n, n
	out.AtLeast = seconds(leastSeconds(f, n, limit))
	out.Stop = "not bounded"
	for k, s := range stop {
		if out.Stop = s; k > 0 {
			out.Stop = stop[0] + " or " + s
		}
	}
	return out
}

// mode is the load mode in words and why it applies.
func mode(f *schema.Phase) (mode, reason string) {
	reason = "type " + f.Type
	switch f.Type {
	case "concurrency":
		return "concurrency burst", reason
	case "poisson", "gamma", "constant":
		if len(f.RateSeries) > 0 {
			return "rate series", "a rate_series is given"
		}
		return f.Type + " rate", reason
	case "user_centric":
		return "user-centric", reason
	case "fixed_schedule":
		return "fixed schedule", reason
	}
	return f.Type, reason
}

// plannedRequests is the number of requests that ends the phase, 0 when none
// does, and what ends it in words. Without any bound the default applies:
// max(10, 2·concurrency) in a burst, 10 at a rate, every row of a schedule.
func plannedRequests(f *schema.Phase) (n int64, stop []string) {
	if f.Requests > 0 {
		n, stop = f.Requests, append(stop, fmt.Sprintf("%d requests", f.Requests))
	}
	if f.Sessions > 0 {
		stop = append(stop, fmt.Sprintf("%d sessions", f.Sessions))
	}
	if n > 0 || len(stop) > 0 || f.Duration != nil {
		return n, stop
	}
	switch f.Type {
	case "concurrency":
		n = max(10, 2*int64(f.Concurrency))
	case "fixed_schedule":
		return 0, []string{"end of the schedule"}
	case "user_centric":
		return 0, nil
	default:
		n = 10
	}
	return n, []string{fmt.Sprintf("%d requests by default", n)}
}

// leastSeconds is how long the schedule alone takes: n requests at a rate r
// are sent in n/r seconds; a phase with a duration and no count lasts that long.
func leastSeconds(f *schema.Phase, n int64, limit float64) float64 {
	counted := f.Requests > 0 || f.Sessions > 0 || limit == 0
	switch {
	case f.Type == "concurrency" && counted, f.Type == "fixed_schedule" && limit == 0:
		return 0
	case !counted:
		return limit
	case f.Sessions > 0 && f.Requests == 0:
		return 0
	case f.Rate > 0 && len(f.RateSeries) == 0:
		return atMostFloat(float64(n)/f.Rate, limit)
	}
	return 0
}

// seriesRequests is the area under a piecewise linear rate up to limit; the
// last rate holds to the end.
func seriesRequests(s []schema.RatePoint, limit float64) float64 {
	area := 0.0
	for i, a := range s {
		end, rate := limit, a.QPS
		if i+1 < len(s) {
			end = s[i+1].TimeS
			rate = s[i+1].QPS
		}
		if a.TimeS >= limit || end <= a.TimeS {
			continue
		}
		cut := min(end, limit)
		last := a.QPS + (rate-a.QPS)*(cut-a.TimeS)/(end-a.TimeS)
		area += (a.QPS + last) / 2 * (cut - a.TimeS)
	}
	return area
}

// atMost is the smaller count, where 0 means that there is none.
func atMost(n, limit int64) int64 {
	if n == 0 {
		return limit
	}
	return min(n, limit)
}

func atMostFloat(v, limit float64) float64 {
	if limit == 0 {
		return v
	}
	return min(v, limit)
}

func seconds(s float64) time.Duration { return schema.Duration(s).Go() }
