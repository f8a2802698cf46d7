package report

import (
	"cmp"
	"slices"

	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sweep/decide"
)

// unsupported are the percentiles that were shown of too few values, in their order.
type unsupported []string

// percentileOf are the statistics that need a number of values.
var percentileOf = map[string]float64{"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}

// keep reports whether a statistic is not supported, and keeps it.
func (u *unsupported) keep(stat string, planned int64, worth float64) bool {
	if _, ok := percentileOf[stat]; !ok || decide.Certain(percentileOf[stat], planned, worth) {
		return false
	}
	u.add(stat)
	return true
}

// add keeps a percentile once, in its place.
func (u *unsupported) add(stat string) {
	if !slices.Contains(*u, stat) {
		*u = append(*u, stat)
		slices.SortFunc(*u, func(a, b string) int { return cmp.Compare(percentileOf[a], percentileOf[b]) })
	}
}

// touched collects what the legend of the marks says.
type touched []string

func (t *touched) mark(taint validity.Taint) string {
	mark := taint.Mark()
	if mark == "" {
		return ""
	}
	if line := mark + " " + taint.Sentence(); !slices.Contains(*t, line) {
		*t = append(*t, line)
		slices.Sort(*t)
	}
	return mark
}

// doubtful is the mark of a metric of the only run all of whose statistics are
// touched, "" for none: it stands behind the name.
func (r *Report) doubtful(tag string) string { return r.sign(r.Taints[tag]) }

// doubtfulAt is the mark of one statistic, where it says more than that of its
// metric: it stands behind the number.
func (r *Report) doubtfulAt(tag, stat string) string {
	t := r.Taints.Of(tag, stat)
	if t == r.Taints[tag] {
		return ""
	}
	return r.sign(t)
}

// doubtfulMean is the mark of the mean, and of a number that is alone.
func (r *Report) doubtfulMean(tag string) string { return r.doubtfulStat(tag, "avg") }

// doubtfulStat is the mark of one statistic that stands alone.
func (r *Report) doubtfulStat(tag, stat string) string { return r.sign(r.Taints.Of(tag, stat)) }

func (r *Report) sign(t validity.Taint) string {
	if t == r.common { // said once, below the table
		return ""
	}
	if mark := r.marked.mark(t); mark != "" {
		return " " + mark
	}
	return ""
}

// Marks are the signs that screens print at numbers and rows, each of which aiperf help
// explains.
func Marks() []string {
	marks := []string{
		validity.DoubtMark, validity.FailedMark, validity.InvalidMark, atMostMark, starMark,
		endlessMark, noneMark, "±", wideMark, "[ ]", harmlessMark,
	}
	for _, m := range outcomeMarks {
		marks = append(marks, m)
	}
	for _, m := range gateMarks {
		marks = append(marks, m)
	}
	slices.Sort(marks)
	return slices.Compact(marks)
}

// Signs of rows and numbers.
const (
	harmlessMark = "○" // not decided, but not worse by more than the margin
	starMark     = "*" // no row is better in both objectives
	endlessMark  = "∞" // of requests that never ended
	noneMark     = "–" // no figure
	atMostMark   = "≤" // of a figure that is known between two ends, the upper one
)
