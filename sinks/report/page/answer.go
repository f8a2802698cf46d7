package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sinks/report/chart"
)

// Answers is what a result says in sentences, and of how much it says that. said
// are the sentences on what was asked; nil takes those of the manifests.
func Answers(d *chart.Data, said []string) (answer []string, scope string) {
	scope = words.Count(len(d.Cells), "cell")
	if _, most := trialsOf(d); most > 0 { // a run that failed is no trial
		scope += " × " + trials(d)
	}
	scope += fmt.Sprintf(" · %s · %s", words.Count(d.Requests.Total, "request"), d.WindowOf(d.Cells...))
	answer = answers(d, said)
	if len(d.Compared) > 1 && len(answer) == 1 && answer[0] == noneBest(d) { // the comparison has said it
		answer = nil
	}
	return slices.Concat(d.Compared, answer, slowestCell(d), knees(d)), scope
}

// terms is what the words of the answers mean, for those who know other programs.
func terms(d *chart.Data) string {
	var out []string
	if len(d.Axes) > 0 {
		var axes []string
		for _, a := range d.Axes {
			axes = append(axes, chart.Spoken(a))
		}
		what := "value"
		if len(axes) > 1 {
			what = "combination"
		}
		out = append(out, "cell: one "+what+" of "+strings.Join(axes, ", "))
	}
	for _, x := range []struct{ axis, means string }{
		{"isl", "input tokens of a request"},
		{"osl", "output tokens of a request"},
		{"concurrency", "requests at a time"},
		{"request_rate", "requests that are sent each second"},
	} {
		if slices.Contains(d.Axes, x.axis) {
			out = append(out, chart.Spoken(x.axis)+": "+x.means)
		}
	}
	if _, most := trialsOf(d); most > 1 {
		of := ""
		if d.LevelsSaid != "" { // those of changes are others
			of = " of a figure"
		}
		out = append(out, "trial: one repetition of a cell", "[low, high]"+of+": 95 % interval over the trials")
	}
	if d.Steady() {
		out = append(out, "steady window: a run without its ramp-up and its end")
	}
	return strings.Join(out, " · ")
}

// trialsOf is how many trials count in the cell with fewest and in that with most.
func trialsOf(d *chart.Data) (fewest, most int) {
	for i, c := range d.Cells {
		if most = max(most, c.Trials); i == 0 || c.Trials < fewest {
			fewest = c.Trials
		}
	}
	return fewest, most
}

// trials is "3 trials", or "1 to 3 trials" where INVALID ones were left out of some
// cells or the results have different numbers of them.
func trials(d *chart.Data) string {
	fewest, most := trialsOf(d)
	if fewest == most {
		return words.Count(most, "trial")
	}
	return fmt.Sprintf("%d to %s", fewest, words.Count(most, "trial"))
}

// answers is what can be said in one sentence, the most important first: that nothing was
// measured, the figures of a single cell, and what was said when each plan ended.
func answers(d *chart.Data, said []string) (out []string) {
	if said == nil {
		said = conclusions(d.Dirs)
	}
	switch {
	case d.AllFailed():
		out = append(out, "Nothing was measured: all "+words.Count(d.Requests.Total, "request")+" failed")
	case unusable(d):
		out = append(out, notUsable)
	case len(d.Cells) == 1:
		if s := figuresOf(d, d.Cells[0]); s != "" {
			out = append(out, s)
		}
	}
	for _, s := range said {
		out = append(out, words.Line(s)) // names of cells are in it
	}
	if len(out) > 0 {
		return out
	}
	return bestOfAll(d)
}

// notUsable is the answer of a measurement that is INVALID: some number that nothing asked for may still hold.
const notUsable = "None of the numbers asked for can be used: the measurement is INVALID"

// unusable reports whether no trial counts, for each is INVALID.
func unusable(d *chart.Data) bool {
	_, most := trialsOf(d)
	return d.Verdict == validity.Invalid && most == 0 && d.Requests.Total > 0
}

// figuresOf is one cell in a sentence: its throughput and the medians of its latencies,
// without numbers that the measurement spoiled.
func figuresOf(d *chart.Data, c *chart.Cell) string {
	usable := func(s chart.Stat) bool {
		return !math.IsNaN(s.Value) && validity.ParseTaint(s.Taint).Level != validity.Wrong
	}
	said := ""
	for _, m := range []struct{ tag, unit string }{
		{metrics.OutputTokenThroughput, "output tokens/s"},
		{metrics.RequestThroughput, "requests/s"},
	} {
		if s := d.Get(c, m.tag, "avg"); said == "" && usable(s) {
			said = interval(s) + " " + m.unit
		}
	}
	var medians []string
	for _, tag := range []string{metrics.TimeToFirstToken, metrics.InterTokenLatency, metrics.RequestLatency} {
		if s := d.Get(c, tag, "p50"); usable(s) && len(medians) < 2 &&
			(s.Value > 0 || tag != metrics.InterTokenLatency) {
			value := words.Millis(s.Value)
			if b := bounds(s); b != "" {
				value = interval(s) + " ms"
			}
			medians = append(medians, metrics.Series(tag, "")+" of "+value)
		}
	}
	switch {
	case len(medians) == 0:
		return said
	case said == "":
		return "A median " + words.And(medians)
	}
	return said + " at a median " + words.And(medians)
}

// manyRequests make a median certain unless their latencies follow from each other.
const manyRequests = 200

// relied lists the percentiles of a single run that can be relied on, as its screen does;
// "" for anything else, where intervals say so.
func relied(d *chart.Data) string {
	if _, most := trialsOf(d); most != 1 || len(d.Cells) != 1 || !d.Has(metrics.RequestLatency, "p50") {
		return ""
	}
	certain := func(stat string) bool {
		return !slices.ContainsFunc([]string{
			metrics.TimeToFirstToken, metrics.InterTokenLatency,
			metrics.RequestLatency,
		}, func(tag string) bool {
			return d.Get(d.Cells[0], tag, stat).Unsupported
		})
	}
	if d.Requests.Total >= manyRequests && !certain("p50") {
		return fmt.Sprintf("No percentile is certain: how long one of the %s took depends on those before it",
			words.Count(d.Requests.Total, "request"))
	}
	enough, _ := report.Enough(certain)
	return words.Count(d.Requests.Total, "request") + enough
}

// bestOfAll names the cells that are best for something, of results whose plans said nothing.
func bestOfAll(d *chart.Data) (out []string) {
	for _, c := range d.Cells {
		for _, name := range objectives(c) {
			s := bestOf(name) + ": " + d.Label(c)
			if t := d.Get(c, metrics.OutputTokenThroughput, "avg"); strings.HasPrefix(name, "throughput") &&
				!math.IsNaN(t.Value) {
				s += " (" + interval(t) + " output tokens/s)"
			}
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		out = append(out, noneBest(d))
	}
	return out
}

func noneBest(d *chart.Data) string {
	return words.Count(len(d.Cells), "cell") + "; none is shown to be the best"
}

// kneesMost is how many knees are named.
const kneesMost = 3

// knees are the loads from which on more of it hardly gives more throughput; why
// stands here of a single one, and of each below, with its cell.
func knees(d *chart.Data) []string {
	var at, gains []string
	why := ""
	for _, c := range d.Cells {
		if text, ok := strings.CutPrefix(c.Reason, "knee: "); c.Knee && ok {
			at, why = append(at, d.Label(c)), words.Line(text)
			gain, _, _ := strings.Cut(why, ", and ")
			gains = append(gains, d.Label(c)+" ("+gain+")")
		}
	}
	switch n := len(at); {
	case n == 0:
		return nil
	case n == 1:
		return []string{"knee at " + at[0] + ": " + why}
	case n > kneesMost:
		gains = append(gains[:kneesMost:kneesMost], fmt.Sprintf("%d more", n-kneesMost))
	}
	return []string{"knees, where throughput grows far less than the load and latency rises: " + strings.Join(gains,
		"; ")}
}
