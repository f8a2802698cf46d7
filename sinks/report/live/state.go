// Package live shows a plan while it is carried out: a full screen on a
// terminal, events as NDJSON for other programs, and the same screen for a
// directory that another process fills.
//
// In go steps of the plan and snapshots of the run; out come frames of text.
// Nothing here is on the road of a request: a frame is drawn twice a second
// from what the engine counted anyway.
package live

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/sinks/report/forecast"
)

// Plan is what stays the same while a plan is carried out.
type Plan struct {
	Name   string
	Cells  []Cell // by index
	Trials int
	// what is known of each, in the order of execution; none where nobody knows how many there will be
	Runs   []forecast.Run
	Client string // machine: "client of 2 cores"
}

// Cell is what a screen calls a cell, and the part of that which says what work it
// does: cells of other work are never ranked against each other.
type Cell struct{ Name, Work string }

// sentinel is which run of the sentinel a trial is, 0 for one of the plan's: those
// of the sentinel come after its last.
func (p *Plan) sentinel(trial int) int {
	if len(p.Runs) == 0 {
		return 0
	}
	return max(trial-p.Trials+1, 0)
}

// over is the part of the plan that so many runs are, and the words for it; 0 where
// nobody knows how many there will be.
func (p *Plan) over(runs float64) (share float64, text string) {
	if len(p.Runs) == 0 {
		return 0, fmt.Sprintf("  run %d", int(runs)+1)
	}
	return runs / float64(len(p.Runs)), fmt.Sprintf("  %d/%d runs", int(runs), len(p.Runs))
}

// place is the trial among the others.
func (p *Plan) place(trial int) string {
	if len(p.Runs) == 0 {
		return fmt.Sprintf("trial %d", trial+1)
	}
	if k := p.sentinel(trial); k > 0 {
		return fmt.Sprintf("sentinel %d/%d", k, len(p.Runs)-len(p.Cells)*p.Trials)
	}
	return fmt.Sprintf("trial %d/%d", trial+1, p.Trials)
}

// Done is a run that is over.
type Done struct {
	Cell, Trial int
	Figures     map[string]float64 // those of the table cells that are known, by name
	Failed      int64
	Verdict     validity.Verdict
	Err         string
	Skipped     bool // by an earlier process
}

// State is what a screen shows. It is not for concurrent use.
type State struct {
	plan    Plan
	began   time.Time
	index   int // of the run in progress, in the order of execution
	cell    int
	trial   int
	now     loadgen.Snapshot
	alive   bool   // now holds a snapshot of this run
	why     string // a search made this run
	stand   string // what the search knew before it; "" without a search
	done    []Done
	verdict validity.Verdict
	log     []string  // the last lines, newest last
	over    string    // how the plan ended and how long it took; "" while it runs
	silent  time.Time // when the last was heard of a process that has gone; zero: it is there

	forecast *forecast.Forecast
	pace     forecast.Pace

	ttft, itl    percentiles
	rate, tokens series
}

// historyLength is how many half seconds a sparkline may show: one minute.
const historyLength = 120

// percentiles are two of them over the last minute.
type percentiles struct{ p50, p99 series }

// series is a figure over the last minute.
type series []float64

func (s *series) add(v float64) {
	*s = append(*s, v)
	if n := len(*s) - historyLength; n > 0 {
		*s = slices.Delete(*s, 0, n)
	}
}

// New is the state of a plan before its first run.
func New(p Plan, began time.Time) *State {
	p.Name, p.Cells = words.Line(p.Name), slices.Clone(p.Cells) // names may hold what a terminal would obey
	for i := range p.Cells {
		p.Cells[i] = Cell{words.Line(p.Cells[i].Name), words.Line(p.Cells[i].Work)}
	}
	return &State{plan: p, began: began, now: nothing(), verdict: validity.Valid, forecast: forecast.New(p.Runs)}
}

// nothing is a snapshot in which nothing was seen yet.
func nothing() loadgen.Snapshot {
	nan := math.NaN()
	return loadgen.Snapshot{Ends: record.None, LagP99: nan, TTFTP50: nan, TTFTP99: nan, ITLP50: nan, ITLP99: nan}
}

// Begin says that a run begins.
func (s *State) Begin(index, cell, trial int, at time.Time) {
	s.forecast.Begin(at)
	s.pace = forecast.Pace{}
	s.index, s.cell, s.trial, s.alive = index, cell, trial, false
	s.now = nothing()
	s.ttft, s.itl, s.rate, s.tokens = percentiles{}, percentiles{}, nil, nil
}

// Decided says that a search made the next run, why, and what it knew before it.
func (s *State) Decided(why, stand string) { s.why, s.stand = words.Line(why), words.Line(stand) }

// Know takes the name of a cell that the plan did not list.
func (s *State) Know(index int, c Cell) {
	if index == len(s.plan.Cells) {
		s.plan.Cells = append(s.plan.Cells, Cell{words.Line(c.Name), words.Line(c.Work)})
	}
}

// End says that a run is over.
func (s *State) End(d Done, at time.Time) {
	if !d.Skipped && d.Err == "" {
		s.forecast.End(s.index, at)
	}
	s.alive = false
	s.index++
	s.done = append(s.done, d)
	s.verdict = max(s.verdict, d.Verdict)
	if d.Err != "" {
		s.Say(fmt.Sprintf("%s, %s: %s", s.name(d.Cell), s.plan.place(d.Trial), words.Line(d.Err)))
	}
}

// Snapshot takes what the engine says twice a second.
func (s *State) Snapshot(n loadgen.Snapshot) {
	s.pace.Smooth(&n)
	s.now, s.alive = n, true
	s.ttft.p50.add(n.TTFTP50)
	s.ttft.p99.add(n.TTFTP99)
	s.itl.p50.add(n.ITLP50)
	s.itl.p99.add(n.ITLP99)
	s.rate.add(n.RequestsPerSecond)
	s.tokens.add(n.OutputTokensPerSecond)
}

// Over says that nothing follows: the verdict on the plan as a whole, whether it
// was interrupted, and how long it took.
func (s *State) Over(v validity.Verdict, interrupted bool, took time.Duration) {
	s.alive, s.verdict, s.over = false, v, "finished, took "+words.Span(took)
	if interrupted {
		s.over = "interrupted after " + words.Span(took)
	}
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
	return s.plan.Cells[cell].Name
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

// left is how long the plan still takes, in words, "" where nobody can know.
func (s *State) left(at time.Time) string {
	if s.alive {
		return s.forecast.Text(s.index, &s.now, at)
	}
	return s.forecast.Text(s.index, nil, at)
}

// cells are the finished cells, newest first, each over its trials.
func (s *State) cells() []cellRow {
	var out []cellRow
	for i := len(s.done) - 1; i >= 0; i-- {
		d := s.done[i]
		if s.plan.sentinel(d.Trial) > 0 { // it is in no figure of its cell
			continue
		}
		k := slices.IndexFunc(out, func(r cellRow) bool { return r.cell == d.Cell })
		if k < 0 {
			row := cellRow{cell: d.Cell, figures: map[string][]float64{}}
			if d.Cell >= 0 && d.Cell < len(s.plan.Cells) {
				row.Cell = s.plan.Cells[d.Cell]
			}
			out, k = append(out, row), len(out)
		}
		out[k].add(d)
	}
	return out
}

// cellRow is one cell over the trials that are done.
type cellRow struct {
	Cell
	cell    int
	figures map[string][]float64 // a value per trial
	failed  int64
	trials  int
	verdict validity.Verdict
}

func (r *cellRow) add(d Done) {
	r.trials++
	r.failed += d.Failed
	r.verdict = max(r.verdict, d.Verdict)
	for name, v := range d.Figures {
		r.figures[name] = append(r.figures[name], v)
	}
}

// between is the geometric mean of the trials, as in the report, with their range where
// there is room for it: an interval comes with the report, when all are done.
func between(v []float64, short bool) string {
	switch {
	case len(v) == 0:
		return "–"
	case len(v) == 1 || short:
		return words.Number(level(v))
	}
	low, high := words.Number(slices.Min(v)), words.Number(slices.Max(v))
	if low == high {
		return low
	}
	return words.Number(level(v)) + " (" + low + "–" + high + ")"
}

// level is the point that the report has for the same trials.
func level(v []float64) float64 { return stats.Level(v, 0.95, 0).Mean }

// columns are n values for all that s has, or fewer where it has fewer: each the highest
// of its neighbours, so that no peak is lost. The last one is the latest.
func (s series) columns(n int) (out []float64) {
	n = min(n, len(s))
	for k := range max(n, 0) {
		hi := math.NaN()
		for _, v := range s[k*len(s)/n : (k+1)*len(s)/n] {
			if math.IsNaN(hi) || v > hi {
				hi = v
			}
		}
		out = append(out, hi)
	}
	return out
}

// spark draws a series in n columns.
func (s series) spark(n int) string {
	const levels = "▁▂▃▄▅▆▇█"
	v := s.columns(n)
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
