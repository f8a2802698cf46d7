package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep/decide"
)

// maxChanges is how many metrics a sentence names.
const maxChanges = 3

// Changes says what changed by how much: each primary metric once, over the cells that
// carry its outcome.
func (c Comparison) Changes() string {
	return c.changes(decide.Worse, decide.Better, decide.Equivalent, decide.Unclear)
}

// changes are those of some outcomes.
func (c Comparison) changes(outcomes ...decide.Verdict) string {
	var keys []decide.Key
	of := map[decide.Key][]decide.Row{}
	for _, r := range c.Primary() {
		if of[r.Key] == nil {
			keys = append(keys, r.Key)
		}
		of[r.Key] = append(of[r.Key], r)
	}
	var names, parts []string
	for _, o := range outcomes {
		for _, k := range keys {
			rows := slices.DeleteFunc(slices.Clone(of[k]), func(r decide.Row) bool { return r.Outcome != o })
			if len(rows) == 0 {
				continue
			}
			said := extent(rows, o)
			if len(rows) < len(of[k]) {
				said += fmt.Sprintf(" in %d of %d", len(rows), len(of[k]))
			}
			if last := len(parts) - 1; last >= 0 && parts[last] == said { // the same words once
				names[last] += ", " + saidName(rows)
				continue
			}
			names, parts = append(names, saidName(rows)), append(parts, said)
		}
	}
	for i := range parts {
		parts[i] = names[i] + " " + parts[i]
	}
	return strings.Join(parts, " · ")
}

// extent is what rows of one metric and outcome say together.
func extent(rows []decide.Row, o decide.Verdict) string {
	switch {
	case o == decide.Equivalent:
		return WithinMargin(rows)
	case o == decide.Unclear:
		said := Undecided(rows)
		if r := rows[0]; len(rows) == 1 && !r.Harmless && r.Note == "" && !math.IsNaN(r.Change) {
			point, _, _, unit := ShownChange(r)
			said += " (" + roundedChange(point, unit) + ")"
		}
		return said
	case len(rows) == 1:
		return cmp.Or(change(rows[0]), "from "+value(rows[0], rows[0].Base)+" to "+value(rows[0], rows[0].Candidate))
	}
	low, high, unit := math.Inf(1), math.Inf(-1), ""
	for _, r := range rows {
		point, _, _, in := ShownChange(r)
		if unit = in; math.IsNaN(point) {
			return strings.ToLower(string(o))
		}
		low, high = min(low, point), max(high, point)
	}
	if low < 0 && high < 0 { // the smaller one first
		low, high = high, low
	}
	a, b := roundedChange(low, unit), roundedChange(high, unit)
	switch {
	case a == b:
		return a
	case high > manyTimes-1 && unit == relative:
		return times(low) + " to " + times(high)
	}
	return strings.TrimSuffix(a, unit) + " to " + b
}

// roundedChange is a change with its unit, as a factor where that is short: "+12 %", "124×".
func roundedChange(v float64, unit string) string {
	if unit == relative && v > manyTimes-1 {
		return times(v)
	}
	return rounded(v) + unit
}

// Undecided is what is said of rows of one metric for which no difference was decided: by how much they may
// be worse at most, where more than that is ruled out of each.
func Undecided(rows []decide.Row) string {
	switch {
	case len(rows) > 1 && !slices.ContainsFunc(rows, func(r decide.Row) bool { return !r.Harmless }):
		return notWorse(rows)
	case !slices.ContainsFunc(rows, func(r decide.Row) bool { return remark(r) != remark(rows[0]) }):
		return remark(rows[0])
	}
	return "not decided yet"
}

// rounded is a relative change in whole per cent, below 2 % with a digit behind the
// point.
func rounded(v float64) string {
	digits := 0
	if math.Abs(v) < 0.02 {
		digits = 1
	}
	text := words.Decimals(100*v, digits)
	if strings.Trim(text, "-0.") == "" {
		return words.Decimals(0, digits)
	}
	if v > 0 {
		return "+" + text
	}
	return strings.Replace(text, "-", "−", 1)
}

// inPercent is a part of one in per cent, two digits at most: 5 %, 0.2 %.
func inPercent(v float64) string { return fmt.Sprintf("%.2g", math.Min(100*v, 99)) + " %" }
