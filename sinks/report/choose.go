package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep/decide"
)

// rivalsMost is how many cells that may be best are told with their values.
const rivalsMost = 3

// beside is what helps to choose where no cell is shown to be best: the values of
// those that may be, in everything that cells are ranked by, or which comes nearest
// to the limits that none keeps.
func (r *Report) beside() string {
	if len(r.Results.UnderSLO) == 1 && r.Results.UnderSLO[0].Cell == nil && len(r.Results.UnderSLO[0].MayBe) == 0 {
		return r.nearest()
	}
	best := r.asked()
	if len(best) == 0 {
		return ""
	}
	b := best[0]
	if b.Limits || b.Shown || b.Choice != "" || b.Cell == nil || len(b.MayBe) < 2 || len(b.MayBe) > rivalsMost {
		return ""
	}
	var told []string
	apart := slices.DeleteFunc(slices.Clone(r.Results.Objectives), func(o decide.Objective) bool {
		return o.Key == b.Objective.Key || !tellApart(b.MayBe, o.Key)
	})
	for _, c := range b.MayBe {
		var values []string
		for _, o := range apart {
			e, _ := c.Headline().Get(o.Key)
			values = append(values, metrics.Series(o.Tag, o.Stat)+" "+words.Amount(e.Mean, metrics.ShortUnit(o.Unit)))
		}
		if len(values) > 0 {
			told = append(told, c.Cell.Short()+" has "+words.And(values))
		}
	}
	if len(told) == 0 {
		return ""
	}
	return "To choose: " + strings.Join(told, "; ")
}

// worthTelling is how far the values of cells are apart, as a part of the smallest, that
// help to choose between them.
const worthTelling = 0.05

// tellApart reports whether a number of some cells helps to choose between them: all have
// it, and it is not about the same.
func tellApart(cells []*decide.CellResult, key decide.Key) bool {
	least, most := math.Inf(1), 0.0
	for _, c := range cells {
		e, ok := c.Headline().Get(key)
		if !ok || math.IsInf(e.Mean, 0) || math.IsNaN(e.Mean) {
			return false
		}
		least, most = min(least, e.Mean), max(most, e.Mean)
	}
	return most > (1+worthTelling)*least
}

// nearest is the cell with the largest share of requests that keep their limits, over
// the whole run as the limits are judged.
func (r *Report) nearest() string {
	c, e, ok := r.goodEnd(func(a, b float64) bool { return a > b })
	if !ok {
		return ""
	}
	return fmt.Sprintf("Nearest: %s, where %s of the requests meet them", c.Cell.Short(), words.Percent(e.Mean))
}

// goodEnd is the cell whose share of good requests comes before that of all others.
func (r *Report) goodEnd(before func(a, b float64) bool) (cell *decide.CellResult, share stats.Estimate, ok bool) {
	key := decide.Key{Tag: metrics.GoodRequestFraction, Stat: "avg"}
	for i := range r.Results.Cells {
		c := &r.Results.Cells[i]
		e, has := c.Full.Get(key)
		if has && c.Trials > 0 && c.Verdict != validity.Invalid && (!ok || before(e.Mean, share.Mean)) {
			cell, share, ok = c, e, true
		}
	}
	return cell, share, ok
}
