// Package live shows a plan while it is carried out: a full screen on a
// terminal, events as NDJSON for other programs, and the same screen for a
// directory that another process fills.
//
// In go steps of the plan and snapshots of the run; out come frames of text.
// Nothing here is on the road of a request: a frame is drawn twice a second
// from what the engine counted anyway.
package live

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
)

// Plan is what stays the same while a plan is carried out.
type Plan struct {
	Name   string
	Cells  []string // what each cell is called, by index
	Trials int
	Runs   int
	Client string // machine: "client of 2 cores"
}

// Done is a run that is over.
type Done struct {
	Cell, Trial           int
	Throughput, TTFT, ITL float64 // output tokens/s; p99 in ms; NaN for none
	Good                  float64 // share of good requests, NaN without limits
	Failed                int64
	Verdict               string
	Err                   string
	Skipped               bool // by an earlier process
}

// State is what a screen shows. It is not for concurrent use.
type State struct {
	plan    Plan
	began   time.Time
	index   int // of the run in progress, in the order of execution
	cell    int
	trial   int
	now     loadgen.Snapshot
	alive   bool // now holds a snapshot of this run
	done    []Done
	fresh   int // runs measured by this process
	verdict string
	log     []string // the last lines, newest last

	ttft, itl, rate, tokens series
}

// historyLength is how many half seconds a sparkline may show: one minute.
const historyLength = 120

// series is a figure over the last minute.
type series []float64

func (s *series) add(v float64) {
	*s = append(*s, v)
	if n := len(*s) - historyLength; n > 0 {
		*s = slices.Delete(*s, 0, n)
	}
}

// New is the state of a plan before its first run.
func New(p Plan, began time.Time) *State { return &State{plan: p, began: began, verdict: "VALID"} }

// Begin says that a run begins.
func (s *State) Begin(index, cell, trial int) {
	s.index, s.cell, s.trial, s.alive = index, cell, trial, false
	nan := math.NaN()
	s.now = loadgen.Snapshot{Ends: record.None, LagP99: nan, TTFTP50: nan, TTFTP99: nan, ITLP50: nan, ITLP99: nan}
	s.ttft, s.itl, s.rate, s.tokens = nil, nil, nil, nil
}

// End says that a run is over.
func (s *State) End(d Done) {
	s.alive = false
	s.index++
	s.done = append(s.done, d)
	if !d.Skipped {
		s.fresh++
	}
	order := []string{"", "VALID", "DEGRADED", "INVALID"}
	if slices.Index(order, d.Verdict) > slices.Index(order, s.verdict) {
		s.verdict = d.Verdict
	}
	if d.Err != "" {
		s.Say(fmt.Sprintf("%s, trial %d: %s", s.name(d.Cell), d.Trial+1, words.Line(d.Err)))
	}
}

// Snapshot takes what the engine says twice a second.
func (s *State) Snapshot(n loadgen.Snapshot) {
	s.now, s.alive = n, true
	s.ttft.add(n.TTFTP50)
	s.itl.add(n.ITLP50)
	s.rate.add(n.RequestsPerSecond)
	s.tokens.add(n.OutputTokensPerSecond)
}

// Say keeps a line for the log.
func (s *State) Say(line string) {
	s.log = append(s.log, words.Clip(line, 300))
	s.log = s.log[max(0, len(s.log)-200):]
}

func (s *State) name(cell int) string {
	if cell < 0 || cell >= len(s.plan.Cells) {
		return ""
	}
	return s.plan.Cells[cell]
}

// share is the part of the run's phase that is over.
func (s *State) share() float64 {
	if !s.alive {
		return 0
	}
	part := 0.0
	if s.now.Planned > 0 {
		part = float64(s.now.Done) / float64(s.now.Planned)
	}
	if s.now.Ends != record.None && s.now.Ends > s.now.Start {
		part = max(part, float64(s.now.At-s.now.Start)/float64(s.now.Ends-s.now.Start))
	}
	return min(max(part, 0), 1)
}

// eta is the time that the rest takes at the pace so far; false before a
// twentieth of a run is over, since it could be anything then.
func (s *State) eta(at time.Time) (time.Duration, bool) {
	over := float64(s.fresh) + s.share()
	if over < 0.05 || s.plan.Runs == 0 {
		return 0, false
	}
	rest := float64(s.plan.Runs-s.index) - s.share()
	return time.Duration(float64(at.Sub(s.began)) / over * max(rest, 0)), true
}

// cells are the finished cells, newest first, each over its trials.
func (s *State) cells() []cellRow {
	var out []cellRow
	for i := len(s.done) - 1; i >= 0; i-- {
		d := s.done[i]
		k := slices.IndexFunc(out, func(r cellRow) bool { return r.cell == d.Cell })
		if k < 0 {
			out = append(out, cellRow{cell: d.Cell, name: s.name(d.Cell)})
			k = len(out) - 1
		}
		out[k].take(d)
	}
	return out
}

// cellRow is one cell over the trials that are done.
type cellRow struct {
	cell                  int
	name                  string
	throughput, ttft, itl []float64
	good                  []float64
	failed                int64
	trials                int
	verdict               string
}

func (r *cellRow) take(d Done) {
	r.trials++
	r.failed += d.Failed
	if cmp.Compare(len(d.Verdict), len(r.verdict)) > 0 || d.Verdict == "INVALID" {
		r.verdict = d.Verdict
	}
	for _, x := range []struct {
		to *[]float64
		v  float64
	}{{&r.throughput, d.Throughput}, {&r.ttft, d.TTFT}, {&r.itl, d.ITL}, {&r.good, d.Good}} {
		if !math.IsNaN(x.v) {
			*x.to = append(*x.to, x.v)
		}
	}
}

// between is a mean with the range of the trials, where there is room for it: an
// interval comes with the report, when all are done.
func between(v []float64, short bool) string {
	switch {
	case len(v) == 0:
		return "–"
	case len(v) == 1 || short:
		return words.Number(mean(v))
	}
	return words.Number(mean(v)) + " (" + words.Number(slices.Min(v)) + "–" + words.Number(slices.Max(v)) + ")"
}

// spark draws the last n values of a series.
func (s series) spark(n int) string {
	const levels = "▁▂▃▄▅▆▇█"
	v := s[max(0, len(s)-n):]
	hi := 0.0
	for _, x := range v {
		if !math.IsNaN(x) {
			hi = max(hi, x)
		}
	}
	var b strings.Builder
	for _, x := range v {
		if math.IsNaN(x) || hi == 0 {
			b.WriteRune(' ')
			continue
		}
		r := []rune(levels)
		b.WriteRune(r[min(int(x/hi*float64(len(r))), len(r)-1)])
	}
	return b.String()
}
