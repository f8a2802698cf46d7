package report

import (
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sweep/decide"
)

// limitFigures are the figures that tell how far a cell is from its limits: of a limit for single
// requests the percentile that it allows one request in a hundred beyond, of a gate its own.
func limitFigures(r *decide.Results) (keys []decide.Key) {
	add := func(tag, stat string) {
		k := decide.Key{Tag: tag, Stat: stat}
		if m, ok := metrics.Lookup(tag); ok && m.Over == metrics.Level && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Cell.Resolved == nil {
			continue
		}
		for _, m := range metrics.Catalogue() { // in the order of the tables
			if _, ok := c.Cell.Resolved.Benchmark.SLOs[m.Tag]; !ok {
				continue
			}
			if m.LargerIsBetter {
				add(m.Tag, "p1")
			} else {
				add(m.Tag, "p99")
			}
		}
		for _, g := range c.Gates {
			if g.Gate == nil {
				continue
			}
			if part := simpleGate.FindStringSubmatch(g.Gate.Expr); part != nil && part[2] != "" {
				add(part[1], part[2])
			}
		}
	}
	return keys
}

// withLimits adds the columns of limits and gates that the table does not have and that some
// cell measured, each behind those of its metric.
func withLimits(r *decide.Results, cols []metrics.Headline) []metrics.Headline {
	for _, k := range limitFigures(r) {
		same := func(h metrics.Headline) bool { return h.Tag == k.Tag && h.Stat == k.Stat }
		measured := func(c decide.CellResult) bool {
			_, ok := c.Headline().Get(k)
			return ok
		}
		if slices.ContainsFunc(cols, same) || !slices.ContainsFunc(r.Cells, measured) {
			continue
		}
		at := len(cols)
		for i, h := range cols {
			if h.Tag == k.Tag {
				at = i + 1
			}
		}
		m, _ := metrics.Lookup(k.Tag)
		cols = slices.Insert(cols, at, metrics.Headline{
			Metric: m, Heading: metrics.Heading{Stat: k.Stat}, Name: m.Called(k.Stat),
		})
	}
	return cols
}

// choose tells apart the n columns that a narrow terminal shows, in their order, and the
// others. The first comes first, by which cells are ranked as a rule, then the figures of limits
// and the share of good requests, then the rest from the left.
func choose(r *decide.Results, cols []metrics.Headline, n int) (shown, without []metrics.Headline) {
	keys := limitFigures(r)
	rank := func(i int) int {
		h := cols[i]
		switch {
		case i == 0:
			return 0
		case slices.Contains(keys, decide.Key{Tag: h.Tag, Stat: h.Stat}):
			return 1
		case len(keys) > 0 && h.Tag == metrics.GoodRequestFraction:
			return 2
		}
		return 3
	}
	order := make([]int, len(cols))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank(a) - rank(b) })
	first := order[:min(n, len(order))]
	for i, h := range cols {
		if slices.Contains(first, i) {
			shown = append(shown, h)
		} else {
			without = append(without, h)
		}
	}
	return shown, without
}
