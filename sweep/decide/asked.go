package decide

import (
	"fmt"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sweep"
)

// question is a number that is asked for, and what asks for it.
type question struct {
	Key
	by    string
	taken bool // by default: the experiment does not name it
}

// Asked are the numbers that the experiment itself names: those of its gates,
// SLOs, objectives and comparison. None are named by an experiment that only
// measures.
func Asked(p *sweep.Plan) (keys []Key) {
	for _, q := range questions(p) {
		keys = append(keys, q.Key)
	}
	return keys
}

// questions are the same, each with the first that asks.
func questions(p *sweep.Plan) (out []question) {
	if gates, bad := compileGates(p, Names()); bad == nil {
		for _, g := range gates {
			for _, k := range g.refs {
				out = ask(out, k, "the gate "+g.Expr)
			}
		}
	}
	if p.Experiment.Search != nil {
		also, _ := compileAlso(p, Names())
		for _, g := range also {
			for _, k := range g.refs {
				out = ask(out, k, "the search's "+g.Expr)
			}
		}
	}
	for _, c := range p.Cells {
		if len(c.Resolved.Benchmark.SLOs) > 0 {
			out = ask(out, Key{metrics.GoodRequestFraction, "avg"}, "the SLOs")
		}
	}
	named := func(names []string, by string) {
		for _, name := range names {
			if k, bad := ParseKey(name, Names()); bad == nil {
				out = ask(out, k, by)
			}
		}
	}
	named(p.Experiment.Objectives, "the objectives")
	if c := p.Experiment.Compare; c != nil {
		named(c.Metrics, "the comparison")
	}
	return out
}

func ask(of []question, k Key, by string) []question {
	if slices.ContainsFunc(of, func(q question) bool { return q.Key == k }) {
		return of
	}
	return append(of, question{Key: k, by: by})
}

// byDefault adds a number that no one named.
func byDefault(of []question, k Key, by string) []question {
	out := ask(of, k, by)
	if len(out) > len(of) {
		out[len(of)].taken = true
	}
	return out
}

// Spoiled is a number that was asked for and is invalid in some run.
type Spoiled struct {
	Cell      *CellResult
	Key       Key
	By        string // what asked for it
	ByDefault bool   // as nothing else was said: the experiment does not name it
	Taint     validity.Taint
}

// String is it as people read it: "time_to_first_token.p50, asked for by the
// objectives, is invalid (check stamp_error)".
func (s Spoiled) String() string {
	verb := "asked for by"
	if s.ByDefault {
		verb = "used by"
	}
	return fmt.Sprintf("%s, %s %s, is %s", s.Key.Spoken(), verb, s.By, s.Taint.Sentence())
}

// Spoiled are the numbers that a gate, an SLO, an objective or a comparison asked
// for and that are invalid somewhere, cell by cell: also in runs that are left out
// because nothing else was asked for.
func (r *Results) Spoiled(p *sweep.Plan) (out []Spoiled) {
	asked := questions(p)
	if len(r.Best) > 0 && p.Experiment.Search == nil { // a search ranks nothing
		for _, o := range r.Objectives {
			asked = byDefault(asked, o.Key, "the search for the best cell")
		}
	}
	for _, c := range r.Comparisons {
		for _, row := range c.Rows {
			if row.Primary {
				asked = byDefault(asked, row.Key, "the comparison")
			}
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		for _, q := range asked {
			if t := c.Full.of(c.all).Taint(q.Key); t.Level == validity.Wrong {
				out = append(out, Spoiled{c, q.Key, q.by, q.taken, t})
			}
		}
	}
	return out
}
