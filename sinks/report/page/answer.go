package page

import (
	"fmt"
	"math"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart"
)

// Answers is what a result says in sentences, and of how much it says that. said
// are the sentences on what was asked; nil takes those of the manifests.
func Answers(d *chart.Data, said []string) (answer []string, scope string) {
	scope = fmt.Sprintf("%s × %s · %s · %s window",
		words.Count(len(d.Cells), "cell"), words.Count(trialsOf(d), "trial"), words.Count(d.Requests.Total, "request"), d.Window)
	return append(answers(d, said), extremes(d)...), scope
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
	if len(said) > 0 {
		return said
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
		return []string{s}
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
	return []string{s}
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
