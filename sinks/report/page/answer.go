package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart"
)

// Answers is what a result says in sentences, and of how much it says that. said
// are the sentences on what was asked; nil takes those of the manifests.
func Answers(d *chart.Data, said []string) (answer []string, scope string) {
	scope = words.Count(len(d.Cells), "cell")
	if trials := trialsOf(d); trials > 0 { // a run that failed is no trial
		scope += " × " + words.Count(trials, "trial")
	}
	scope += fmt.Sprintf(" · %s · %s window", words.Count(d.Requests.Total, "request"), d.Window)
	return slices.Concat(answers(d, said), extremes(d), knees(d)), scope
}

// trialsOf is how many trials the cell has that has most.
func trialsOf(d *chart.Data) int {
	most := 0
	for _, c := range d.Cells {
		most = max(most, c.Trials)
	}
	return most
}

// answers is what can be said in one sentence.
func answers(d *chart.Data, said []string) []string {
	if said == nil {
		said = conclusions(d.Dirs)
	}
	switch {
	case len(said) > 0:
		return said
	case d.AllFailed():
		return []string{"nothing was measured: all " + words.Count(d.Requests.Total, "request") + " failed; each cell below says with what words"}
	}
	var out []string
	for _, c := range d.Cells {
		if c.Best == "" {
			continue
		}
		s := fmt.Sprintf("best %s: %s", c.Best, d.Label(c))
		if t := d.Get(c, metrics.OutputTokenThroughput, "avg"); c.Best == "throughput" && !math.IsNaN(t.Value) {
			s += " (" + interval(t) + " output tokens/s)"
		}
		out = append(out, s)
	}
	if len(out) == 0 && len(d.Cells) == 1 {
		c := d.Cells[0]
		for _, tag := range []string{metrics.TimeToFirstToken, metrics.InterTokenLatency, metrics.RequestLatency} {
			if s := d.Get(c, tag, "p50"); !math.IsNaN(s.Value) {
				out = append(out, metrics.Series(tag, "p50")+" "+interval(s)+" ms")
			}
		}
		if s := d.Get(c, metrics.OutputTokenThroughput, "avg"); !math.IsNaN(s.Value) {
			out = append(out, interval(s)+" output tokens/s")
		}
		return []string{strings.Join(out, " · ")}
	}
	if len(out) == 0 {
		out = append(out, "no cell is shown to be the best")
	}
	return out
}

// extremes says which cell is the slowest and where its time goes, beside the
// fastest. Means are compared, because they add up: what is not before the first
// token is after it. Nothing is said of a difference that the intervals do not
// show, or of a cell whose figures the measurement itself spoilt.
func extremes(d *chart.Data) []string {
	fast, slow := span(d)
	if slow == nil || fast == slow {
		return nil
	}
	a, b := d.Get(fast, metrics.RequestLatency, "avg"), d.Get(slow, metrics.RequestLatency, "avg")
	if !(b.Value > a.Value) || b.Low <= a.High { // no interval: NaN, and the values speak
		return nil
	}
	more := b.Value - a.Value
	s := fmt.Sprintf("slowest: %s, mean latency %s ms, %s × that of %s", d.Label(slow), interval(b), words.Number(b.Value/a.Value), d.Label(fast))
	x, y := d.Get(fast, metrics.TimeToFirstToken, "avg"), d.Get(slow, metrics.TimeToFirstToken, "avg")
	if math.IsNaN(x.Value) || math.IsNaN(y.Value) {
		return []string{s + queueing(d, slow)}
	}
	switch before := y.Value - x.Value; {
	case before >= more:
		s += fmt.Sprintf("; the %s ms more all pass before the first token (network, queue, prompt)", words.Number(more))
	case before <= 0:
		s += fmt.Sprintf("; the %s ms more all pass after the first token (generating)", words.Number(more))
	default:
		s += fmt.Sprintf("; of the %s ms more, %s ms pass before the first token (network, queue, prompt) and %s ms after it (generating)",
			words.Number(more), words.Number(before), words.Number(more-before))
	}
	return []string{s + queueing(d, slow)}
}

// keepsUp is the share of the offered rate below which a server does not keep up
// with it; closer to it chance alone decides, which draws the arrivals.
const keepsUp = 0.95

// queueing says that a cell answers less than it is asked, where it does: in an
// open loop nothing else holds requests back than those before them. Only the
// steady window tells: a whole run ends with answers to nobody who still asks.
func queueing(d *chart.Data, c *chart.Cell) string {
	rate := c.Values["request_rate"].Number
	s := d.Get(c, metrics.RequestThroughput, "avg")
	if _, open := c.Values["request_rate"]; !open || d.Window != "steady" || !(s.Value < keepsUp*rate) || s.High >= rate {
		return ""
	}
	return fmt.Sprintf("; %s of %s requests/s are answered: more come than the server takes, and they queue", interval(s), words.Number(rate))
}

// kneesMost is how many knees are named.
const kneesMost = 3

// knees are the loads from which on more of it hardly gives more throughput; why
// stands here of a single one, and of each below, with its cell.
func knees(d *chart.Data) []string {
	var at []string
	why := ""
	for _, c := range d.Cells {
		if text, ok := strings.CutPrefix(c.Reason, "knee: "); c.Knee && ok {
			at, why = append(at, d.Label(c)), words.Line(text)
		}
	}
	switch n := len(at); {
	case n == 0:
		return nil
	case n == 1:
		return []string{"knee at " + at[0] + ": " + why}
	case n > kneesMost:
		at = append(at[:kneesMost:kneesMost], fmt.Sprintf("%d more", n-kneesMost))
	}
	return []string{"more load hardly gives more throughput from here on: " + strings.Join(at, "; ")}
}

// span is the cell with the lowest mean latency and the one with the highest.
func span(d *chart.Data) (fast, slow *chart.Cell) {
	lowest, highest := math.Inf(1), math.Inf(-1)
	for _, c := range d.Cells {
		s := d.Get(c, metrics.RequestLatency, "avg")
		if math.IsNaN(s.Value) || c.Verdict == validity.Invalid {
			continue
		}
		if s.Value < lowest {
			fast, lowest = c, s.Value
		}
		if s.Value > highest {
			slow, highest = c, s.Value
		}
	}
	return fast, slow
}
