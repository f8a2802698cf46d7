package docgen

import (
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
)

// Metrics is docs/metrics.md: a table for each group, in the order in which the
// groups first come.
func Metrics(rows []metrics.Metric) string {
	var b strings.Builder
	b.WriteString(Mark("internal/metrics/catalogue.go"))
	b.WriteString("# Metrics\n\n" +
		"A tag is the name of a metric in files, tables, `slos` and `gates`; `aiperf explain metric TAG` prints its row. With\n" +
		"percentiles a metric has avg, min, max, std and p1 to p99; without it has one value per run. Stamps are those of one\n" +
		"request: sent is when its bytes were handed to the kernel, content is an event of the answer with text, OSL and ISL are\n" +
		"output and input tokens. A metric whose formula cannot be computed, because a stamp is missing or a divisor is 0, is\n" +
		"absent: never 0, never NaN.\n\n")
	var groups []metrics.Group
	lines := map[metrics.Group][][]string{}
	for i := range rows {
		m := &rows[i]
		better, percentiles := "lower", ""
		if m.LargerIsBetter {
			better = "higher"
		}
		if m.Distribution() {
			percentiles = "yes"
		}
		if lines[m.Group] == nil {
			groups = append(groups, m.Group)
		}
		lines[m.Group] = append(lines[m.Group], []string{code(m.Tag), m.Header, m.Unit, percentiles, better, m.Formula, strings.Join(m.Needs.Words(), ", ")})
	}
	for _, g := range groups {
		b.WriteString("## " + upperFirst(g.Words()) + "\n\n" + table([]string{"tag", "name", "unit", "percentiles", "better", "computed from", "needs"}, lines[g]))
	}
	var other [][]string
	for i := range rows {
		if m := &rows[i]; m.Elsewhere != "" {
			other = append(other, []string{code(m.Tag), m.Elsewhere})
		}
	}
	b.WriteString("## What other tools call it\n\n" + table([]string{"tag", "elsewhere"}, other))
	return b.String()
}
