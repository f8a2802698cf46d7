package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// headlines are the columns that this plan's cells can fill, without a share of good
// requests that is all of them: the line of limits says so.
func headlines(r *decide.Results) []metrics.Headline {
	return metrics.Headlines(false, func(tag, stat string) bool {
		less := false
		for i := range r.Cells {
			e, ok := r.Cells[i].Headline().Get(decide.Key{Tag: tag, Stat: stat})
			if ok && tag != metrics.GoodRequestFraction {
				return true
			}
			less = less || ok && e.Mean < 1
		}
		return less
	})
}

// matrix is one table: a row per cell, estimate ± half-width; of two systems that are
// compared a row per workload, both beside each other. A comparison of one workload is
// the table itself. It returns the columns that have no room.
func (r *Report) matrix(s *sheet) (without []string) {
	cols := headlines(r.Results)
	t, legend := r.table(cols, s.width)
	for _, c := range r.Results.Comparisons {
		if !(Comparison{c}).severalCells() {
			Comparison{c}.table(s, "in summary.md", r.folded >= withoutCauses)
			if r.folded == 0 {
				s.line("")
			}
		} else if g, signs, ok := r.pairs(c, cols, s.width); ok {
			t, legend = g, signs
		}
	}
	if len(r.Results.Comparisons) == 0 || (Comparison{r.Results.Comparisons[0]}).severalCells() ||
		len(r.Results.Comparisons) > 1 {
		t.write(s)
		without = t.without
		r.legend(s, t, legend)
		if len(r.Results.Comparisons) > 0 && r.folded == 0 {
			s.line("")
		}
	}
	r.sentinel(s)
	r.conclusions(s)
	return without
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
		for _, m := range cols[:shown] {
			t.head = append(t.head, m.Name)
		}
		t.head = append(t.head, "")
		for _, m := range cols[shown:] {
			t.without = append(t.without, m.Name)
		}
		values := r.values(cols[:shown], legend)
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
		median := "–"
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

// marks remembers which signs the table used.
type marks struct {
	front, wide, knee, best, ms bool
	small                       unsupported
	fewest, most                float64 // values of a run behind an unsupported percentile
	worth                       float64 // the fewest independent ones among them
	doubted                     touched
}

// values are the figures of all cells.
func (r *Report) values(cols []metrics.Headline, legend *marks) [][]string {
	lines := make([][]string, len(r.Results.Cells))
	for _, m := range cols {
		key := decide.Key{Tag: m.Tag, Stat: m.Stat}
		for i := range r.Results.Cells {
			c := &r.Results.Cells[i]
			text := "–"
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

// failed tells whether more of a cell's requests failed than not: a percentile of the few
// others says nothing.
func failed(c *decide.CellResult) bool {
	e, ok := c.Full.Get(decide.Key{Tag: metrics.ErrorRate, Stat: "avg"})
	return ok && e.Mean > 0.5
}

// few remembers a percentile of too few requests.
func (m *marks) few(c *decide.CellResult, h metrics.Headline) {
	n, worth := c.Headline().Least(h.Tag), c.Headline().Effective(h.Tag)
	if n == 0 || failed(c) {
		return
	}
	planned := int64(0)
	if c.Cell.Resolved != nil {
		planned = sweep.Planned(c.Cell.Resolved.Benchmark.Phases)
	}
	if !m.small.keep(h.Stat, cmp.Or(planned, int64(n)), worth) {
		return
	}
	if m.most == 0 {
		m.fewest, m.worth = n, worth
	}
	m.fewest, m.most, m.worth = min(m.fewest, n), max(m.most, n), min(m.worth, worth)
}

// signs are the remarks on a cell.
func (r *Report) signs(c *decide.CellResult, legend *marks) string {
	if c.Trials == 0 {
		return strings.ReplaceAll(string(c.Status), "_", " ")
	}
	var signs []string
	if c.Front == decide.OnFront {
		signs, legend.front = append(signs, "*"), true
	}
	if len(r.Results.Objectives) > 0 && slices.Contains(c.BestFor, r.Results.Objectives[0].Name) {
		signs, legend.best = append(signs, "best"), true
	}
	if c.Knee {
		signs, legend.knee = append(signs, "knee"), true
	}
	if c.Verdict == validity.Invalid {
		signs = append(signs, validity.Invalid.String())
	}
	if c.Status == decide.Partial || c.Stopped != nil {
		signs = append(signs, fmt.Sprintf("%d of %d trials", c.Trials, r.Plan.Trials))
	}
	return strings.Join(signs, " ")
}

// legend says what the signs of a table mean, and what to type where one can be removed.
func (r *Report) legend(s *sheet, t *grid, m *marks) {
	var parts []string
	most := r.folded == mostFolds // only marks that change a decision
	switch {
	case most:
	case t.shows("±"):
		parts = append(parts, fmt.Sprintf("± %.0f %% interval", 100*r.Results.Level))
	case t.shows("["):
		parts = append(parts, fmt.Sprintf("[ ] %.0f %% interval", 100*r.Results.Level))
	}
	if m.ms {
		parts = append(parts, "times in ms")
	}
	if m.front && !most {
		parts = append(parts, "* no row is better in both "+r.objectives())
	}
	if m.knee && !most {
		parts = append(parts, "knee: more load adds latency")
	}
	if m.wide {
		parts = append(parts, wideMark+" too few trials: raise num_runs (--num-profile-runs)")
	}
	doubted := r.doubted(m.doubted)
	if r.folded > 0 && len(doubted) > 0 && strings.Contains(doubted[len(doubted)-1], ":") { // it takes a line
		defer s.phrases(doubted)
	} else {
		parts = append(parts, doubted...)
	}
	if line := m.indicative(r.folded > 0); line != "" && !(most && len(doubted) > 0) {
		parts = append(parts, line)
	}
	s.phrases(parts)
}

// doubted says what the marks of doubt mean, and what to type where the line of other
// findings has not said it.
func (r *Report) doubted(lines touched) []string {
	said := len(r.Doubts) > max(maxDoubts-r.folded, 1)
	if r.folded > 0 { // the findings stand above: one phrase a mark
		for i, line := range lines {
			mark, _, _ := strings.Cut(line, " by ")
			lines[i] = mark
		}
		lines = slices.Compact(lines)
	}
	if len(lines) > 0 && !said {
		lines[len(lines)-1] += ": aiperf checks " + r.Dir
	}
	return lines
}

// indicative says which percentiles rest on too few requests, and what to raise: where
// neighbours are alike, as many more as they are worth less.
func (m *marks) indicative(short bool) string {
	if len(m.small) == 0 {
		return ""
	}
	q := percentileOf[m.small[len(m.small)-1]]
	need := words.Grouped(decide.RequestsFor(q, m.worth, m.fewest))
	if short {
		return words.And(m.small) + ": raise requests to " + need
	}
	of := words.Grouped(m.fewest)
	if m.most > m.fewest {
		of += " to " + words.Grouped(m.most)
	}
	return fmt.Sprintf("%s uncertain: %s requests a run, raise to %s%s", words.And(m.small), of, need,
		alike(q, m.worth, m.fewest))
}

// alike says why so many requests are asked for: neighbours are alike, so that n of them
// say as much as fewer independent ones; "" where the plain number is asked for.
func alike(q, worth, n float64) string {
	if decide.RequestsFor(q, worth, n) <= decide.RequestsFor(q, 0, 0) {
		return ""
	}
	return fmt.Sprintf(" (neighbours are alike: %s say as much as %.0f independent ones)", words.Grouped(n),
		max(1, math.Floor(worth)))
}

// objectives are the two that the front is about.
func (r *Report) objectives() string {
	if o := r.Results.Objectives; len(o) == 2 {
		return o[0].Name + " and " + o[1].Name
	}
	return "throughput and latency"
}

// conclusions are the lines below the table: best cells where a comparison came first,
// limits and gates.
func (r *Report) conclusions(s *sheet) {
	if len(r.Results.Comparisons) > 0 && r.folded < mostFolds {
		for _, line := range r.BestSentences() {
			if r.folded > 0 { // what was not tested is said by the page
				line, _, _ = strings.Cut(line, "; ")
			}
			s.wrapped("", line)
		}
	}
	if n := r.wanted(); n > r.Plan.Trials && r.folded < withoutCauses {
		s.wrapped("", fmt.Sprintf("more trials may decide it: --num-profile-runs %d", n))
	}
	if line := r.Results.StoppedEarly(); line != "" {
		s.wrapped("", line)
	}
	if line := r.limitsSentence(r.folded > 0); line != "" {
		s.note("limits", line)
	}
	r.gates(s)
	if r.folded == 0 {
		for _, line := range r.bestReasons() {
			s.wrapped("", line)
		}
	}
}

// wanted is how many trials may show a best cell, of the answers that are told; 0 where
// all are decided.
func (r *Report) wanted() (most int) {
	for _, b := range r.asked() {
		if !b.Shown && !b.Tie && b.RunnerUp != nil {
			most = max(most, b.Trials.Most, enoughTrials)
		}
	}
	return most
}

// enoughTrials is how many find a difference of a tenth where trials vary by a
// few per cent; with fewer, a difference that is not shown says little.
const enoughTrials = 5

// gates is how they ended, in one line, and those that did not pass.
func (r *Report) gates(s *sheet) {
	line := r.gatesSentence(r.folded > 0)
	if line == "" {
		return
	}
	s.wrapped(words.Pad("gates", r.labelWidth()), line)
	for _, line := range r.gateLines(min(s.width, sentenceWidth), r.folded) {
		s.wrapped(line[0], line[1])
	}
}

// shortAxis keeps headings narrow.
func shortAxis(name string) string { return cmp.Or(sweep.AxisNamed(name).Short, name) }
