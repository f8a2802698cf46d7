package sweep

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
)

// Best is the answer to "which cell is best", or why there is none.
type Best struct {
	Objective Objective
	Cell      *CellResult // with the best mean; nil when no cell qualifies
	RunnerUp  *CellResult // nil when it is alone
	Shown     bool        // the intervals are apart
	Sentence  string
}

// findBest ranks the cells by each objective, and by throughput among those
// whose SLOs and gates hold.
func (r *Results) findBest() {
	all := r.measured()
	if len(all) < 2 {
		return
	}
	for _, o := range r.Objectives {
		b := r.rank(o, all, "best "+o.Name)
		if b.Shown {
			b.Cell.BestFor = append(b.Cell.BestFor, o.Name)
		}
		r.Best = append(r.Best, b)
	}
	var holding []int
	conditions := map[string]bool{}
	for _, i := range all {
		c := &r.Cells[i]
		for _, s := range c.SLOs {
			conditions[s.Condition] = true
		}
		for _, g := range c.Gates {
			conditions[g.Gate.Expr] = true
		}
		if c.holds() {
			holding = append(holding, i)
		}
	}
	if len(conditions) > 0 && len(r.Objectives) > 0 && r.Objectives[0].Direction == stats.Maximise {
		what := "best throughput with " + strings.Join(slices.Sorted(maps.Keys(conditions)), " and ")
		b := r.rank(r.Objectives[0], holding, what)
		r.UnderSLO = &b
	}
}

// holds tells whether every SLO and gate of the cell does.
func (c *CellResult) holds() bool {
	for _, s := range c.SLOs {
		if !s.Held {
			return false
		}
	}
	for _, g := range c.Gates {
		if !g.Held {
			return false
		}
	}
	return true
}

// rank finds the best and the second best mean among some cells. Best is said
// only when their intervals are apart.
func (r *Results) rank(o Objective, among []int, what string) Best {
	b := Best{Objective: o}
	order := slices.Clone(among)
	slices.SortStableFunc(order, func(i, j int) int {
		d := r.Cells[i].Full[o.Key].Mean - r.Cells[j].Full[o.Key].Mean
		if o.Direction == stats.Maximise {
			d = -d
		}
		return sign(d)
	})
	if len(order) == 0 {
		b.Sentence = what + ": no cell"
		return b
	}
	b.Cell = &r.Cells[order[0]]
	first := b.Cell.Full[o.Key]
	value := strings.TrimSpace(spell(first) + " " + o.Unit)
	if len(order) == 1 {
		b.Shown = true
		b.Sentence = fmt.Sprintf("%s: %s (%s), the only cell", what, b.Cell.Cell.Short(), value)
		return b
	}
	b.RunnerUp = &r.Cells[order[1]]
	second := b.RunnerUp.Full[o.Key]
	if b.Shown = first.Separated(second); b.Shown {
		b.Sentence = fmt.Sprintf("%s: %s (%s)", what, b.Cell.Cell.Short(), value)
		return b
	}
	why := "intervals overlap"
	if !first.HasInterval() || !second.HasInterval() {
		why = "no intervals"
	}
	b.Sentence = fmt.Sprintf("%s: no difference shown between %s and %s (n = %d, %s)",
		what, b.Cell.Cell.Short(), b.RunnerUp.Cell.Short(), min(first.N, second.N), why)
	return b
}

// SLOOutcome is one service level objective at one cell.
type SLOOutcome struct {
	Condition string // "time_to_first_token.p99 <= 200"
	Held      bool
	Text      string // "140 [131, 149]", or that the metric is not available
}

// judgeSLOs asks for each limit, which is one per request, whether at least
// 99 % of the requests meet it: p99 at most the limit, or p1 at least the
// limit for metrics of which more is better.
func judgeSLOs(c *CellResult) []SLOOutcome {
	slos := c.Cell.Resolved.Benchmark.SLOs
	var out []SLOOutcome
	for _, tag := range slices.Sorted(maps.Keys(slos)) {
		limit := slos[tag]
		key, op := Key{tag, "p99"}, "<="
		if row, ok := metrics.Lookup(tag); ok && row.LargerIsBetter {
			key, op = Key{tag, "p1"}, ">="
		}
		o := SLOOutcome{Condition: fmt.Sprintf("%s %s %g", key.spoken(), op, limit)}
		if e, ok := c.Full[key]; ok {
			o.Held, o.Text = e.Mean <= limit, spell(e)
			if op == ">=" {
				o.Held = e.Mean >= limit
			}
		} else {
			o.Text = key.spoken() + ": metric not available"
		}
		out = append(out, o)
	}
	return out
}

// spell is an estimate in three digits with its interval: 140 [131, 149].
func spell(e stats.Estimate) string {
	if !e.HasInterval() {
		return digits(e.Mean)
	}
	return fmt.Sprintf("%s [%s, %s]", digits(e.Mean), digits(e.Low), digits(e.High))
}

// digits writes a number with three significant digits, and whole ones with commas.
func digits(v float64) string {
	s := fmt.Sprintf("%.3g", v)
	if strings.Contains(s, "e+") {
		s = fmt.Sprintf("%.0f", v)
	}
	if !strings.ContainsAny(s, ".e") {
		minus := strings.HasPrefix(s, "-")
		s = grouped(strings.TrimPrefix(s, "-"))
		if minus {
			s = "-" + s
		}
	}
	return s
}
