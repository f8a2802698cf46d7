package decide

import (
	"cmp"
	"fmt"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Objective is what cells are ranked by.
type Objective struct {
	Key
	Window    string // steady where all ranked cells have one
	Name      string // "throughput", "latency"
	Direction stats.Direction
	Unit      string
	Header    string
	Few       bool // a percentile, of which some cell has too few requests to be certain
}

// candidates of the two objectives; the first one that every ranked cell has is
// taken. Of a latency it is the percentile that follows from the planned requests.
var (
	throughputs = [...]string{metrics.OutputTokenThroughput, metrics.RequestThroughput}
	latencies   = [...]string{metrics.TimeToFirstToken, metrics.RequestLatency}
	tails       = [...]struct {
		stat string
		q    float64
	}{{"p99", 0.99}, {"p95", 0.95}, {"p90", 0.9}, {"p75", 0.75}, {"p50", 0.5}}
)

func windowOf(cells []*CellResult) string {
	if len(cells) > 0 && !slices.ContainsFunc(cells, func(c *CellResult) bool { return !c.steady() }) {
		return Steady
	}
	return Full
}

// chosen are the objectives that the experiment names, as far as every ranked
// cell has them; the usual ones where it names none.
func chosen(p *sweep.Plan, cells []*CellResult, usual []Objective) []Objective {
	said := p.Experiment.Objectives
	if len(said) == 0 {
		return usual
	}
	var out []Objective
	for _, name := range said {
		k, bad := ParseKey(name, Names())
		window := windowOf(cells)
		if m, ok := metrics.Lookup(k.Tag); bad != nil || ok && m.Over != metrics.Level {
			window = Full // shares and counts are of the whole run
		}
		without := func(c *CellResult) bool {
			return !c.at(window).measured(k)
		}
		if bad == nil && len(cells) > 0 && !slices.ContainsFunc(cells, without) {
			out = append(out, objective(cells, spokenOf(k), directionOf(k.Tag), window, k))
		}
	}
	return out
}

// byDefault reports whether cells are ranked by throughput and latency.
func (r *Results) byDefault() bool {
	return len(r.Objectives) > 0 && (r.Objectives[0].Name == "throughput" || r.Objectives[0].Name == "latency")
}

// checkObjectives says before anything is sent what is wrong with them.
func checkObjectives(p *sweep.Plan, tags []string) (bad schema.Errors) {
	if n := len(p.Experiment.Objectives); n > 2 {
		bad = append(bad, &schema.Error{
			Path: "objectives", Message: fmt.Sprintf("%d of them; a front has two", n),
			Hint: "keep one or two; gates hold the others against limits",
		})
	}
	for i, name := range p.Experiment.Objectives {
		at := fmt.Sprintf("objectives.%d", i)
		k, wrong := ParseKey(name, tags)
		if wrong != nil {
			bad = append(bad, &schema.Error{Path: at, Message: quoted(name, wrong.Message), Hint: wrong.Hint})
			continue
		}
		if what, hint := lacking(p, k.Tag); what != "" {
			bad = append(bad, &schema.Error{Path: at, Message: quoted(name, what), Hint: hint})
		}
		if i > 0 && slices.Contains(p.Experiment.Objectives[:i], name) {
			bad = append(bad, &schema.Error{Path: at, Message: quoted(name, "is named twice"), Hint: "drop one"})
		}
	}
	return bad
}

func objectives(cells []*CellResult, percentile string) []Objective {
	window := windowOf(cells)
	var out []Objective
	if tag, ok := inAll(cells, window, throughputs[:]); ok {
		out = append(out, objective(cells, "throughput", stats.Maximise, window, Key{tag, "avg"}))
	}
	if tag, ok := inAll(cells, window, latencies[:]); ok {
		out = append(out, objective(cells, "latency", stats.Minimise, window, Key{tag, percentile}))
	}
	return out
}

func objective(cells []*CellResult, name string, dir stats.Direction, window string, k Key) Objective {
	info := cells[0].Info[k.Tag]
	return Objective{
		Key: k, Window: window, Name: name, Direction: dir, Unit: info.Unit, Header: info.Header,
		Few: few(cells, window, k),
	}
}

// few reports whether a statistic is a percentile of which some cell has too few requests.
func few(cells []*CellResult, window string, k Key) bool {
	q, ok := quantileOf(k.Stat)
	return ok && slices.ContainsFunc(cells, func(c *CellResult) bool {
		n := int64(c.at(window).Least(k.Tag))
		planned := sweep.Planned(c.Cell.Resolved.Benchmark.Phases)
		return n > 0 && !Certain(q, cmp.Or(planned, n), c.at(window).Effective(k.Tag))
	})
}

// inAll is the first metric that every cell has.
func inAll(cells []*CellResult, window string, tags []string) (string, bool) {
	for _, tag := range tags {
		missing := func(c *CellResult) bool {
			return !c.at(window).measured(Key{tag, "avg"})
		}
		if len(cells) > 0 && !slices.ContainsFunc(cells, missing) {
			return tag, true
		}
	}
	return "", false
}

func (c *CellResult) at(window string) Estimates {
	if window == Steady {
		return c.Steady
	}
	return c.Full
}

// directionOf says which way a metric is better.
func directionOf(tag string) stats.Direction {
	if d, ok := better(tag); ok {
		return d
	}
	if m, ok := metrics.Lookup(tag); ok && m.LargerIsBetter {
		return stats.Maximise
	}
	return stats.Minimise
}
