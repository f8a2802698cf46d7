package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep/decide"
)

// shortName is a metric in a sentence, and in a table whose values have their unit.
func shortName(r decide.Row) string { return strings.TrimSuffix(metricName(r), " ms") }

// metricName is a metric in the width of the table: "TTFT p50 ms".
func metricName(r decide.Row) string {
	name := r.Header
	if m, ok := metrics.Lookup(r.Key.Tag); ok && m.Header == r.Header {
		return words.Clip(strings.TrimSuffix(m.Called(r.Key.Stat), " %"), 22) // the values say their unit
	}
	if r.Key.Stat != "avg" {
		name += " " + r.Key.Stat
	}
	if r.Unit == "ms" {
		name += " ms"
	}
	return words.Clip(name, 22)
}

// valueUnit is a value with the unit of a time.
func valueUnit(r decide.Row, v float64) string {
	if r.Unit == "ms" && !math.IsNaN(v) && !math.IsInf(v, 1) {
		return value(r, v) + " ms"
	}
	return value(r, v)
}

func value(r decide.Row, v float64) string {
	if r.Unit == "ratio" && !math.IsNaN(v) {
		return words.Number(100*v) + " %"
	}
	if math.IsInf(v, 1) {
		return endlessMark
	}
	if r.NoRuns() {
		return words.Whole(int(v))
	}
	return words.Number(v)
}

// changed reports whether the interval of a row excludes that nothing changed.
func changed(r decide.Row) bool { return !math.IsNaN(r.Low) && (r.Low > 0 || r.High < 0) }

// change is the point with its interval: +10.0 % [9.5, 10.6]. A narrow interval
// gets more digits; one that has no width in them is left out, and so is that of a row which
// its bound decided: its remark says that one, so that all intervals of a table have one level.
// What cannot be decided has a size all the same, where both sides have a value.
func change(r decide.Row) string {
	point, low, high, unit := ShownChange(r)
	if r.Bounded() {
		low = math.NaN()
	}
	switch {
	case r.Undecidable && math.IsNaN(point) && r.Base > 0 && r.Candidate > 0 && !math.IsInf(r.Base+r.Candidate, 1):
		if point = r.Candidate/r.Base - 1; point > manyTimes-1 {
			return times(point)
		}
		return signed(point, 0) + relative
	case math.IsNaN(point):
		return ""
	case unit == relative && point > manyTimes-1 && math.IsNaN(low):
		return times(point)
	case unit == relative && point > manyTimes-1 && tooFew(r):
		return times(point) + " " + wideMark
	case unit == relative && point > manyTimes-1:
		if low, high := words.Number(1+low), words.Number(1+high); low != high {
			return fmt.Sprintf("%s [%s, %s]", times(point), low, high)
		}
		return times(point)
	case math.IsNaN(low):
		return signed(point, 0) + unit
	case tooFew(r):
		return signed(point, 0) + unit + " " + wideMark
	}
	for more := range 3 {
		if low, high := signed(low, more), signed(high, more); low != high {
			return fmt.Sprintf("%s%s [%s, %s]", signed(point, more), unit, low, high)
		}
	}
	return signed(point, 0) + unit
}

// manyTimes is how many times the baseline's value the candidate's is where per cent are hard to read: 124× and not
// +12,300 %.
const manyTimes = 10

// times is a relative change as a factor.
func times(change float64) string { return words.Number(1+change) + "×" }

// relative is the unit of changes that are no points of a share.
const relative = " %"

// ShownChange is the change of a row as people read it, in hundredths: of a share, which is
// compared by what is good of the whole, the points by which the share itself changed. The
// interval is the one that decided.
func ShownChange(r decide.Row) (point, low, high float64, unit string) {
	if point, low, high, ok := r.Points(); ok {
		return point, low, high, " points"
	}
	low, high, _ = r.Shown()
	return r.Change, low, high, relative
}

// ShownValues are both sides of a row: "20.2 → 16.2 ms"; "" where one of them has no value.
func ShownValues(r decide.Row) string {
	if math.IsNaN(r.Base) || math.IsNaN(r.Candidate) || r.NoRuns() {
		return ""
	}
	return value(r, r.Base) + " → " + valueUnit(r, r.Candidate)
}

// InMargin is the margin of a row: "5 %", of a share "1 point".
func InMargin(r decide.Row) string { return sized(r, r.Margin) }

// sized is the size of a change of a row: in points, of a share.
func sized(r decide.Row, v float64) string {
	if !r.Share() {
		return inPercent(v)
	}
	n := fmt.Sprintf("%.2g", math.Min(100*v, 99))
	if n == "1" {
		return n + " point"
	}
	return n + " points"
}

// WithinMargin is what is said of rows of one metric that are all equal: that each was clean, or
// by how much they may differ at most, and whether some did.
func WithinMargin(rows []decide.Row) string {
	switch {
	case !slices.ContainsFunc(rows, func(r decide.Row) bool { return !r.Clean() }):
		if rows[0].LargerIsBetter {
			return "equal: all of them on both sides"
		}
		return "equal: none on either side"
	case slices.ContainsFunc(rows, changed):
		return "changed, within " + most(rows)
	}
	return "equal within " + most(rows)
}

// most is the largest change that some rows leave possible: "1.8 %", of a share "0.3 points".
func most(rows []decide.Row) string {
	widest, of := 0.0, rows[0]
	for _, r := range rows {
		bound := r.Margin // a row without an interval is equal by what was asked
		if _, low, high, _ := ShownChange(r); r.Bounded() {
			bound = max(-low, high)
		}
		if bound > widest {
			widest, of = bound, r
		}
	}
	return roundedUp(of, widest)
}

// harm is the largest change for the worse that a row leaves possible; 0 for none.
func harm(r decide.Row) float64 {
	_, low, high, _ := ShownChange(r)
	if r.LargerIsBetter {
		return max(0, -low)
	}
	return max(0, high)
}

// notWorse is what is said of rows of one metric in which harm beyond the margin is ruled out,
// and no more is shown: by how much they may be worse at most.
func notWorse(rows []decide.Row) string {
	widest, of := 0.0, rows[0]
	for _, r := range rows {
		bound := r.Margin
		if r.Bounded() || r.Gain() {
			bound = harm(r)
		}
		if bound > widest {
			widest, of = bound, r
		}
	}
	if widest == 0 {
		return "not worse"
	}
	return "at most " + roundedUp(of, widest) + " worse"
}

// roundedUp is the size of a change in two digits, the last of them rounded up, so that what
// is at most so large is not larger; no more than the margin that it is within.
func roundedUp(r decide.Row, v float64) string {
	if !(v > 0) { // of a row that was read without its interval
		return InMargin(r)
	}
	unit := math.Pow(10, math.Floor(math.Log10(max(v, 1e-4)))-1)
	if up := math.Ceil(v/unit-1e-9) * unit; v <= r.Margin {
		return sized(r, min(up, r.Margin))
	}
	return sized(r, v)
}

// tooFew reports whether the interval of a change is wider than a factor of ten: it says
// only that trials are too few.
func tooFew(r decide.Row) bool { return 1+r.High > widest*(1+r.Low) }

// signed is a relative change in per cent, with a digit behind the point below
// a hundred, and more digits where they are asked for.
func signed(v float64, more int) string {
	v *= 100
	digits := 1 + more
	if math.Abs(v) >= 100 {
		digits = more
	}
	s := words.Decimals(v, digits)
	if strings.Trim(s, "-0.") == "" {
		return words.Decimals(0, digits)
	}
	if v > 0 {
		return "+" + s
	}
	return strings.Replace(s, "-", "−", 1)
}

// remark is what a row says in words, also that it is about two workloads.
func remark(r decide.Row) string {
	said := saidOf(r) + doubtMark(r)
	if r.Apart {
		said += ", not the same"
	}
	return said
}

// remarkInAWord is a remark where a terminal has no room for it: what the mark before the row says.
func remarkInAWord(r decide.Row) string {
	said := ""
	switch {
	case r.Undecidable:
		said = "undecidable"
	case r.Outcome == decide.Worse || r.Outcome == decide.Better:
		said = strings.ToLower(string(r.Outcome))
	case r.Outcome == decide.Equivalent:
		said = "equal"
	case r.Harmless:
		said = "not worse"
	default:
		said = "open"
	}
	if r.Apart {
		said += ", not the same"
	}
	return said + doubtMark(r)
}

// doubtMark stands behind what is decided although the figures are in doubt.
func doubtMark(r decide.Row) string {
	if !r.Whatever {
		return ""
	}
	return " " + validity.Taint{Check: r.Check, Level: validity.Doubtful}.Mark()
}

func saidOf(r decide.Row) string {
	margin := InMargin(r)
	switch {
	case r.Undecidable:
		return "cannot be decided"
	case (r.Outcome == decide.Worse || r.Outcome == decide.Better) && r.BeyondMargin:
		return strings.ToLower(string(r.Outcome)) + " by over " + margin
	case r.Outcome == decide.Worse || r.Outcome == decide.Better:
		return strings.ToLower(string(r.Outcome))
	case r.Outcome == decide.Equivalent:
		return WithinMargin([]decide.Row{r})
	case tooFew(r):
		return "too few trials"
	case r.Harmless && r.Gain():
		return "better, perhaps by under " + margin
	case r.Harmless:
		return notWorse([]decide.Row{r})
	case changed(r):
		return "worse, perhaps by under " + margin
	}
	return "not decided yet"
}

// mark is the sign of a row: its outcome, and of one that is not decided whether at least
// harm beyond the margin is ruled out.
func mark(r decide.Row) string {
	if r.Outcome == decide.Unclear && r.Harmless {
		return harmlessMark
	}
	return outcomeMarks[r.Outcome]
}

// outcome is the word of a row with its remark.
func outcome(r decide.Row) string {
	said := string(r.Outcome)
	if r.Outcome == decide.Unclear && r.Harmless {
		said = string(decide.NotWorse)
	}
	if rest, same := strings.CutPrefix(remark(r), strings.ToLower(said)); same {
		said += rest
	} else {
		said += ": " + rest
	}
	if r.Note != "" {
		said += ": " + r.Note
	}
	return said
}
