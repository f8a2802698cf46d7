package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
)

// families are the metrics that rest on one thing, in the words of a sentence.
var families = []struct {
	on   metrics.Basis
	name string
}{
	{metrics.FirstToken, "times to first token"},
	{metrics.WholeAnswer, "latencies"},
	{metrics.Gaps, "times between tokens"},
	{metrics.SinceIntended, "latencies from the schedule"},
	{metrics.PerSecond, "rates"},
	{metrics.InFlight, "requests in flight"},
	{metrics.TokenCounts, "token counts"},
	{metrics.Outcomes, "shares of good and failed requests"},
}

var levelWords = map[validity.Level]string{validity.Wrong: "not usable", validity.Doubtful: "in doubt"}

// whatHolds says which numbers are touched, and that all others hold; "" where
// there is none, and where everything is.
func (r *Report) whatHolds() string {
	if r.Everything || len(r.Touched) == 0 || r.Verdict != validity.Degraded && r.Verdict != validity.Invalid {
		return ""
	}
	said := saidTouched(r.Touched, mostTouched-r.folded)
	if r.folded < withoutCauses {
		said += "; all else holds"
	}
	return said
}

// saidTouched names numbers by how badly they are touched, so many of each level.
func saidTouched(touched map[string]validity.Level, most int) string {
	var parts []string
	for _, level := range []validity.Level{validity.Wrong, validity.Doubtful} {
		if names := touchedNames(touched, level, most); len(names) > 0 {
			parts = append(parts, levelWords[level]+": "+words.And(names))
		}
	}
	return strings.Join(parts, "; ")
}

// mostTouched is how many numbers that are in doubt are named; the checks name all.
const mostTouched = 3

// touchedNames are the numbers of a level: families by their name, those that screens
// show by their own, with the statistics that are touched, those of tables first, and of others what
// they rest on. Where these are more than so many, all are named by what they rest on.
func touchedNames(touched map[string]validity.Level, level validity.Level, most int) (names []string) {
	left := map[string][]string{} // by metric: its statistics, none for all of them
	for _, what := range slices.Sorted(maps.Keys(touched)) {
		if touched[what] != level {
			continue
		}
		tag, stat, some := strings.Cut(what, ".")
		if !some {
			left[tag] = nil
		} else if of, known := left[tag]; !known || of != nil {
			left[tag] = append(of, stat)
		}
	}
	var coarse []string
	for _, f := range families {
		of := metrics.Resting(f.on)
		if slices.ContainsFunc(of, func(tag string) bool { return level.Worse(touched[tag]) }) ||
			!slices.ContainsFunc(of, func(tag string) bool { return touched[tag] == level }) {
			continue
		}
		names = append(names, f.name)
		for _, tag := range of {
			delete(left, tag)
		}
	}
	coarse = slices.Clone(names)
	others := 0
	var rest []string
	for _, tag := range slices.SortedFunc(maps.Keys(left), firstOfTables) {
		m, ok := metrics.Lookup(tag)
		family := familyOf(tag)
		if family != "" && !slices.Contains(coarse, "some "+family) {
			coarse = append(coarse, "some "+family)
		}
		of := slices.DeleteFunc(left[tag],
			func(stat string) bool { return stat != "avg" && !slices.Contains(shownPercentiles, stat) })
		switch {
		case ok && m.Short != "" && (left[tag] == nil || len(of) > 0):
			names = append(names, strings.TrimSpace(m.Short+" "+strings.ReplaceAll(strings.Join(of, ", "), "avg", "mean")))
		case family == "":
			others++
		case !slices.Contains(rest, "other "+family):
			rest = append(rest, "other "+family)
		}
	}
	if names = append(names, rest...); len(names) > max(most, 1) {
		names = coarse
	}
	if others > 0 {
		names = append(names, words.Count(others, "other metric"))
	}
	return names
}

// familyOf is the first family of a metric, "" for none.
func familyOf(tag string) string {
	for _, f := range families {
		if slices.Contains(metrics.Resting(f.on), tag) {
			return f.name
		}
	}
	return ""
}

// firstOfTables orders metrics as the columns of a table of cells, then by name.
func firstOfTables(a, b string) int {
	place := func(tag string) int {
		if i := slices.IndexFunc(columnsOfCells, func(h metrics.Headline) bool { return h.Tag == tag }); i >= 0 {
			return i
		}
		return len(columnsOfCells)
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a, b))
}

var columnsOfCells = metrics.Headlines(true, func(string, string) bool { return true })

// why are the checks that found as much, with what they found.
func (r *Report) why(v validity.Verdict) string {
	var said []string
	for _, d := range r.Doubts {
		if d.Verdict == v {
			said = append(said, d.Check+": "+d.Said())
		}
	}
	return strings.Join(said, "; ")
}
