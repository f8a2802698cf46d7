package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// headlines are the columns that this plan's cells can fill, without a share of good
// requests that is all of them: the line of limits says so. What cells are ranked by is
// among them.
func headlines(r *decide.Results) []metrics.Headline {
	cols := append(fromPlugins(r), metrics.Headlines(false, func(tag, stat string) bool {
		less := false
		for i := range r.Cells {
			e, ok := r.Cells[i].Headline().Get(decide.Key{Tag: tag, Stat: stat})
			if ok && tag != metrics.GoodRequestFraction {
				return true
			}
			less = less || ok && e.Mean < 1
		}
		return less
	})...)
	return withLimits(r, withBalance(r, withObjectives(r, cols)))
}

// withBalance adds the rate of requests and their mean latency, last: where a terminal has room
// for them, rate × latency is the number of users on the screen itself.
func withBalance(r *decide.Results, cols []metrics.Headline) []metrics.Headline {
	for _, tag := range []string{metrics.RequestThroughput, metrics.RequestLatency} {
		m, known := metrics.Lookup(tag)
		there := func(h metrics.Headline) bool { return h.Tag == tag && h.Stat == "avg" }
		measured := func(c decide.CellResult) bool {
			_, ok := c.Headline().Get(decide.Key{Tag: tag, Stat: "avg"})
			return ok
		}
		if !known || slices.ContainsFunc(cols, there) || !slices.ContainsFunc(r.Cells, measured) {
			continue
		}
		name := m.Called("avg")
		if m.Unit == "ms" {
			name = strings.Replace(name, " ms", " mean ms", 1)
		}
		cols = append(cols, metrics.Headline{Metric: m, Heading: metrics.Heading{Stat: "avg"}, Name: name})
	}
	return cols
}

// withObjectives adds the percentiles that rank cells and that the table does not have, each
// behind the lower ones of its metric.
func withObjectives(r *decide.Results, cols []metrics.Headline) []metrics.Headline {
	for _, o := range r.Objectives {
		q, isPercentile := percentileOf[o.Stat]
		m, known := metrics.Lookup(o.Tag)
		if !isPercentile || !known || slices.ContainsFunc(cols,
			func(h metrics.Headline) bool { return h.Tag == o.Tag && h.Stat == o.Stat }) {
			continue
		}
		at := len(cols)
		for i, h := range cols {
			if h.Tag == o.Tag && percentileOf[h.Stat] < q {
				at = i + 1
			} else if h.Tag == o.Tag {
				at = min(at, i)
			}
		}
		cols = slices.Insert(cols, at, metrics.Headline{
			Metric: m, Heading: metrics.Heading{Stat: o.Stat}, Name: m.Called(o.Stat),
		})
	}
	return cols
}

// fromPlugins are the columns of plug-ins' metrics: they were asked for, and so come first.
func fromPlugins(r *decide.Results) (out []metrics.Headline) {
	for _, m := range r.FromPlugins() {
		out = append(out, metrics.Headline{
			Metric: m, Heading: metrics.Heading{Stat: "avg"},
			Name: strings.TrimSpace(m.Tag + " " + strings.Replace(metrics.ShortUnit(m.Unit), "ratio", "%", 1)),
		})
	}
	return out
}

// pluginsOfOne is the line of a run about plug-ins' metrics.
func (r *Report) pluginsOfOne(s *sheet) {
	var parts []string
	for _, h := range fromPlugins(r.Results) {
		for i := range r.Results.Cells {
			e, _ := r.Results.Cells[i].Headline().Get(decide.Key{Tag: h.Tag, Stat: h.Stat})
			text := words.Amount(e.Mean, metrics.ShortUnit(h.Unit))
			if h.Percent() {
				text = words.Percent(e.Mean)
			}
			parts = append(parts, h.Tag+" "+strings.TrimSpace(text))
		}
	}
	if len(parts) > 0 {
		s.wrapped(words.Pad("Plug-ins", labelColumn), strings.Join(parts, " · "))
	}
}

// matrix is one table: a row per cell, estimate ± half-width; of two systems that are
// compared a row per workload, both beside each other. A comparison of one workload is
// the table itself. It returns the columns that have no room.
func (r *Report) matrix(s *sheet) (without []string) {
	cols := headlines(r.Results)
	t, legend := r.table(cols, s.width)
	for _, c := range r.Results.Comparisons {
		if !(Comparison{Comparison: c}).severalCells() {
			Comparison{Comparison: c, inPlan: true, told: r.tellsFailures()}.table(s, "in summary.md", r.folded >= withoutCauses)
			s.part(space)
			if r.folded == 0 {
				s.line("")
			}
		} else if g, signs, ok := r.pairs(c, cols, s.width); ok {
			t, legend = g, signs
		}
	}
	if len(r.Results.Comparisons) == 0 || (Comparison{Comparison: r.Results.Comparisons[0]}).severalCells() ||
		len(r.Results.Comparisons) > 1 {
		s.part(essential)
		t.write(s)
		without = t.without
		r.changes(s)
		s.part(missed)
		r.legend(s, t, legend)
		s.part(space)
		if len(r.Results.Comparisons) > 0 && r.folded == 0 {
			s.line("")
		}
	}
	s.part(aside)
	r.sentinel(s)
	r.conclusions(s)
	return without
}

// changes are tables of the changes of each workload, where two systems are compared at several.
func (r *Report) changes(s *sheet) {
	for _, c := range r.Results.Comparisons {
		if c := (Comparison{Comparison: c}); c.severalCells() {
			g, _ := c.workloads()
			if g.head[0] = "change"; len(r.Results.Comparisons) > 1 {
				g.head[0] = words.Line(c.Candidate)
			}
			s.part(missed)
			g.write(s)
		}
	}
}

// table is a row per cell, with the columns that a terminal has room for and the legend
// of the marks in them.
func (r *Report) table(cols []metrics.Headline, width int) (*grid, *marks) {
	for shown := len(cols); ; {
		legend := &marks{}
		t := &grid{}
		for _, a := range r.Plan.Axes {
			t.head = append(t.head, shortAxis(a.Name))
		}
		t.left = len(t.head)
		chosen, without := choose(r.Results, cols, shown)
		for _, m := range chosen {
			t.head = append(t.head, m.Name)
		}
		t.head = append(t.head, "")
		for _, m := range without {
			t.without = append(t.without, m.Name)
		}
		values := r.values(chosen, legend)
		for i := range r.Results.Cells {
			c := &r.Results.Cells[i]
			line := names(c.Cell.Point)
			t.rows = append(t.rows, append(append(line, values[i]...), r.signs(c, legend)))
		}
		fits := t.columns(width)
		if fits >= shown {
			return t, legend
		}
		shown = fits
	}
}

func names(point []sweep.Value) (out []string) {
	for _, v := range point {
		out = append(out, words.Line(v.Label))
	}
	return out
}

// pairColumns is how many figures stand below each of two systems.
const pairColumns = 3

// pairs is the table of two systems that are compared: a row per workload, the figures
// of both beside each other. ok is false where it does not fit the terminal, or where a
// system was not measured at every point.
func (r *Report) pairs(c *decide.Comparison, cols []metrics.Headline, width int) (*grid, *marks, bool) {
	legend := &marks{ms: true}
	axis := r.Plan.Experiment.Compare.Axis
	if len(r.Results.Comparisons) > 1 || len(c.OnlyBaseline)+len(c.OnlyCandidate) > 0 {
		return nil, nil, false
	}
	cols = cols[:min(len(cols), pairColumns)]
	t := &grid{over: []span{{words.Line(c.Baseline), len(cols)}, {words.Line(c.Candidate), len(cols)}}}
	of := map[string][]int{}
	var order []string
	for i := range r.Results.Cells {
		cell := &r.Results.Cells[i]
		rest := slices.DeleteFunc(slices.Clone(cell.Cell.Point),
			func(v sweep.Value) bool { return v.Axis == axis || v.Path == axis })
		if i == 0 {
			for _, v := range rest {
				t.head = append(t.head, shortAxis(v.Axis))
			}
			t.left = len(t.head)
		}
		key := strings.Join(names(rest), "\x00")
		if of[key] == nil {
			order = append(order, key)
			t.rows = append(t.rows, names(rest))
		}
		of[key] = append(of[key], i)
	}
	for range 2 {
		for _, m := range cols {
			t.head = append(t.head, strings.TrimSuffix(m.Name, " ms"))
		}
	}
	t.head = append(t.head, "")
	values := r.values(cols, legend)
	for i, key := range order {
		if len(of[key]) != 2 {
			return nil, nil, false
		}
		for _, cell := range of[key] {
			t.rows[i] = append(t.rows[i], withoutBounds(values[cell])...)
		}
		t.rows[i] = append(t.rows[i], "")
	}
	return t, legend, t.columns(width) == 2*len(cols)
}

// withoutBounds are the figures of a cell with the interval of the first one only.
func withoutBounds(values []string) []string {
	for i := range values {
		if strings.Contains(values[i], wideMark) {
			continue
		}
		if at := strings.IndexAny(values[i], "±["); i > 0 && at > 0 {
			_, mark, _ := strings.Cut(values[i], "]")
			if strings.Contains(values[i], "±") {
				mark = strings.TrimLeft(values[i][at:], "± 0123456789.,")
			}
			values[i] = strings.TrimSpace(values[i][:at]) + mark
		}
	}
	return values
}

// sentinel is what the runs of the sentinel gave: they are in no row of the table.
func (r *Report) sentinel(s *sheet) {
	var medians []string
	for _, o := range r.Results.Sentinel {
		median := noneMark
		if o.Err == "" && len(o.Summaries) > 0 {
			if st, ok := o.Summaries[0].Get(metrics.RequestLatency); ok {
				median = words.Millis(st.P50)
			}
		}
		medians = append(medians, median)
	}
	if len(medians) > 0 {
		s.note("sentinel", fmt.Sprintf("latency p50 of %s with one workload: %s (first, in the middle, last)",
			r.Plan.Cells[0].Short(), strings.Join(medians, ", ")))
	}
}

// values are the figures of all cells.
func (r *Report) values(cols []metrics.Headline, legend *marks) [][]string {
	lines := make([][]string, len(r.Results.Cells))
	for _, m := range cols {
		key := decide.Key{Tag: m.Tag, Stat: m.Stat}
		for i := range r.Results.Cells {
			c := &r.Results.Cells[i]
			text := noneMark
			if e, ok := c.Headline().Get(key); ok && c.Trials > 0 {
				if q, ok := percentileOf[m.Stat]; !ok || !failed(c) ||
					stats.Certified(q, c.Headline().Effective(m.Tag)) {
					text = estimate(e, m.Percent())
				}
				legend.wide = legend.wide || strings.HasSuffix(text, wideMark)
				legend.few(c, m)
			}
			lines[i] = append(lines[i], text+legend.doubted.mark(c.Taint(key)))
		}
	}
	return lines
}

// failed reports whether more of a cell's requests failed than not: a percentile of the few
// others says nothing.
func failed(c *decide.CellResult) bool {
	e, ok := c.Full.Get(decide.Key{Tag: metrics.ErrorRate, Stat: "avg"})
	return ok && e.Mean > 0.5
}

// conclusions are the lines below the table: best cells where a comparison came first,
// limits and gates.
func (r *Report) conclusions(s *sheet) {
	s.part(further)
	if len(r.Results.Comparisons) > 0 && r.folded < mostFolds {
		for _, line := range r.BestSentences() {
			if r.folded > 0 { // what was not tested is said by the page
				line, _, _ = strings.Cut(line, "; ")
			}
			s.wrapped("", line)
		}
	}
	s.part(advice) // what to type next is said however short the screen is
	s.steps(slices.DeleteFunc(r.wanted(), func(x step) bool { return x.command == "" && r.folded >= mostFolds }))
	s.part(further)
	if line := r.Results.StoppedEarly(); line != "" {
		s.wrapped("", line)
	}
	if line := r.limitsSentence(r.folded > 0); line != "" {
		s.note("limits", line)
	}
	r.gates(s)
	r.rules(s)
	s.part(design)
	if r.folded == 0 {
		for _, line := range r.bestReasons() {
			s.wrapped("", line)
		}
	}
}

// shortAxis keeps headings narrow.
func shortAxis(name string) string { return cmp.Or(sweep.AxisNamed(name).Short, name) }
