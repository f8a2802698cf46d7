package docgen

import (
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

// Metrics is docs/metrics.md: a table for each group, in the order in which the
// groups first come.
func Metrics(rows []metrics.Metric) string {
	var b strings.Builder
	b.WriteString(Mark("internal/metrics/catalogue_*.go"))
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
		percentiles := ""
		if m.Distribution() {
			percentiles = "yes"
		}
		if lines[m.Group] == nil {
			groups = append(groups, m.Group)
		}
		lines[m.Group] = append(lines[m.Group], []string{
			code(m.Tag), m.Header, m.Unit, percentiles, m.Better(),
			m.Formula, strings.Join(m.Needs.Words(), ", "),
		})
	}
	for _, g := range groups {
		b.WriteString("## " + upperFirst(g.Words()) + "\n\n" + table([]string{
			"tag", "name", "unit", "percentiles",
			"better", "computed from", "needs",
		}, lines[g]))
	}
	b.WriteString(endings(rows))
	var other [][]string
	for i := range rows {
		if m := &rows[i]; m.Elsewhere != "" {
			other = append(other, []string{code(m.Tag), m.Elsewhere})
		}
	}
	b.WriteString("## What other tools call it\n\n" + table([]string{"tag", "elsewhere"}, other))
	return b.String()
}

// endings say into which parts the requests fall, and what counts which of them.
func endings(rows []metrics.Metric) string {
	var parts, counts [][]string
	for _, p := range record.Partition() {
		parts = append(parts, []string{p.Name, p.Doc})
	}
	for i := range rows {
		m := &rows[i]
		if m.Counts.Of == 0 {
			continue
		}
		theirs := counting(m.AIPerf.Counts)
		if m.AIPerf.Ours {
			theirs = "not in them"
		}
		counts = append(counts, []string{code(m.Tag), counting(m.Counts), theirs})
	}
	return "## How requests end\n\n" +
		"Every request that was due is in exactly one of these parts:\n\n" +
		table([]string{"part", "what became of it"}, parts) +
		"A count, a ratio, a limit or a word on the screen is about some of them:\n\n" +
		table([]string{"tag", "counts", "in AIPerf's files, where it is another"}, counts) +
		"SLOs are judged from intended in an open loop and in a replay, since a queue in front of the server is the user's wait, too,\n" +
		"and from sending in a closed loop. `…_from_sent` stands beside it where the two can differ. A request that was cut off is\n" +
		"bad when it was as old as the limit, and else undecided: the share is a range then. AIPerf judges from sending, and its files do.\n\n"
}

// counting is what a metric counts, in words.
func counting(c metrics.Counting) string {
	if c.Of == 0 {
		return ""
	}
	text := strings.Join(c.Of.Names(), ", ")
	if c.Good {
		text += " that met every SLO"
	}
	if c.Among != 0 {
		text += " ÷ (" + strings.Join(c.Among.Names(), ", ") + ")"
	}
	return text
}
