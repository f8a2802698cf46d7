package metrics

import (
	"cmp"
	"slices"
	"strings"
)

// Headline is a column of a table of cells: a statistic of a metric and its name.
type Headline struct {
	*Metric
	Heading
	Name string // "TTFT p99 ms"
}

// Percent reports whether the value, a share, is shown as a percentage.
func (h Headline) Percent() bool { return h.Unit == "ratio" }

// Headlines are the columns of tables of cells, in their order, as far as told
// says that some cell has them. wide is for tables with room.
func Headlines(wide bool, told func(tag, stat string) bool) (out []Headline) {
	anyOf := func(tag string) bool {
		m, ok := Lookup(tag)
		return ok && slices.ContainsFunc(m.Headings, func(h Heading) bool { return told(tag, h.Stat) })
	}
	for i := range catalogue {
		m := &catalogue[i]
		for _, h := range m.Headings {
			if h.Wide && !wide || !told(m.Tag, h.Stat) || anyOf(h.Beside) && !(h.Narrow && wide) {
				continue
			}
			out = append(out, Headline{m, h, m.Called(h.Stat)})
		}
	}
	slices.SortFunc(out, func(a, b Headline) int { return cmp.Compare(a.Heading.Place, b.Heading.Place) })
	return out
}

// Axis is what an axis of a chart calls a statistic of the metric: "TTFT p50 (ms)";
// without stat it is single values: "TTFT (ms)".
func Axis(tag, stat string) string {
	name := Series(tag, stat)
	if m, ok := Lookup(tag); ok && m.Unit == "ms" {
		name += " (ms)"
	}
	return name
}

// Series is what a legend calls a statistic of the metric, or single values of it:
// "TTFT p50", "TTFT".
func Series(tag, stat string) string {
	name := tag
	if m, ok := Lookup(tag); ok {
		name = cmp.Or(m.Short, m.Header)
	}
	if stat == "" || stat == "avg" {
		return name
	}
	return name + " " + stat
}

// Called is what a heading calls a statistic of the metric: "TTFT p99 ms".
func (m *Metric) Called(stat string) string {
	name := Series(m.Tag, stat)
	if m.Unit == "ms" {
		name += " ms"
	}
	return name
}

// ShortUnit is a unit as screens have it behind a number: tok/s, req/s.
func ShortUnit(unit string) string {
	return strings.NewReplacer("tokens/sec", "tok/s", "requests/sec", "req/s").Replace(unit)
}
