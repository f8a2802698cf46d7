package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart"
)

// slowestCell says which cell is the slowest and why, as far as the figures of the
// cells beside it tell. Nothing is said of a difference that the intervals do not
// show, or of a cell whose figures the measurement itself spoilt.
func slowestCell(d *chart.Data) []string {
	fast, slow := span(d.Cells, d)
	if slow == nil || fast == slow || !slower(latency(d, slow), latency(d, fast)) ||
		latency(d, slow).Value < tie*latency(d, fast).Value {
		return nil
	}
	a, b := latency(d, fast), latency(d, slow)
	first := fmt.Sprintf("slowest: %s, median latency %s ms, %s × that of %s%s", d.Label(slow), interval(b),
		words.Number(b.Value/a.Value), d.Label(fast), parts(d, fast, slow))
	var why []string
	if s := alternatives(d, fast, slow); s != "" {
		why = append(why, "Largest effect: "+s)
	}
	for _, s := range []string{saturation(d, slow), arrivals(d, slow)} {
		if s != "" {
			why = append(why, s)
		}
	}
	if len(why) == 0 {
		return []string{first}
	}
	return []string{first, strings.Join(why, "; ")}
}

func latency(d *chart.Data, c *chart.Cell) chart.Stat { return d.Get(c, metrics.RequestLatency, "p50") }

// slower reports whether b is shown above a. Without intervals, which are NaN, the
// values speak.
func slower(b, a chart.Stat) bool { return b.Value > a.Value && !(b.Low <= a.High) }

// tie is how much slower the slowest cell is than the fastest where it is said.
const tie = 1.01

// span is the cell with the lowest median latency and the one with the highest.
func span(cells []*chart.Cell, d *chart.Data) (fast, slow *chart.Cell) {
	lowest, highest := math.Inf(1), math.Inf(-1)
	for _, c := range cells {
		s := latency(d, c)
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

// parts is where the time goes that the slow cell takes more: shares of it, since
// medians do not add up.
func parts(d *chart.Data, fast, slow *chart.Cell) string {
	grows := func(tag string) float64 { return d.Get(slow, tag, "p50").Value - d.Get(fast, tag, "p50").Value }
	more := words.Number(latency(d, slow).Value - latency(d, fast).Value)
	switch before, after := grows(metrics.TimeToFirstToken), grows(metrics.DecodeDuration); {
	case math.IsNaN(before), math.IsNaN(after), before+after <= 0:
		return ""
	case after <= 0:
		return fmt.Sprintf("; the %s ms more all pass before the first token (network, queue, prompt)", more)
	case before <= 0:
		return fmt.Sprintf("; the %s ms more all pass after the first token (generating)", more)
	default:
		share := math.Round(100*before/(before+after)) / 100 // a part of less than one in a hundred is none
		switch share {
		case 1:
			return fmt.Sprintf("; nearly all of the %s ms more pass before the first token (network, queue, prompt)", more)
		case 0:
			return fmt.Sprintf("; nearly all of the %s ms more pass after the first token (generating)", more)
		}
		return fmt.Sprintf("; of the %s ms more, %s pass before the first token (network, queue, prompt) and %s after it (generating)",
			more, wholePercent(share), wholePercent(1-share))
	}
}

func wholePercent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// alternatives tell the settings apart: what the latency is where one of them is
// another one and the rest is the same. Where the fastest cell differs in a single
// setting the sentence before has said it.
func alternatives(d *chart.Data, fastest, slow *chart.Cell) string {
	if slices.ContainsFunc(d.Axes, func(a string) bool { return slices.Contains(beside(d, slow, a), fastest) }) {
		return ""
	}
	type other struct {
		text  string
		value float64
	}
	var found []other
	for _, a := range d.Axes {
		fast, _ := span(beside(d, slow, a), d)
		if fast == nil || said(fast, a) == "" || said(slow, a) == "" || !slower(latency(d, slow), latency(d, fast)) {
			continue
		}
		s := latency(d, fast)
		found = append(found, other{
			fmt.Sprintf("%s (%s takes %s ms)", chart.Spoken(a), said(fast, a), interval(s)),
			s.Value,
		})
	}
	slices.SortStableFunc(found, func(a, b other) int { return cmp.Compare(a.value, b.value) })
	var out []string
	for _, f := range found[:min(len(found), alternativesMost)] {
		out = append(out, f.text)
	}
	return strings.Join(out, ", ")
}

// alternativesMost is how many settings are told apart.
const alternativesMost = 3

// beside are the cells that differ from c in one axis only, c among them.
func beside(d *chart.Data, c *chart.Cell, axis string) []*chart.Cell {
	return slices.DeleteFunc(slices.Clone(d.Cells), func(x *chart.Cell) bool {
		return slices.ContainsFunc(d.Axes, func(a string) bool { return a != axis && said(x, a) != said(c, a) })
	})
}

// said is the value of a cell on an axis.
func said(c *chart.Cell, axis string) string {
	if v, ok := c.Values[axis]; ok && !math.IsNaN(v.Number) {
		return figure(v.Number)
	}
	return c.Values[axis].Text
}

// level is the gain of throughput up to which more load gave none that matters.
const level = 0.05

// saturation says that a part of the load already gives the throughput of the
// whole, where it does: what is added then makes each request take longer. It
// looks at closed loops, where the load is requests at a time and their number is
// throughput × latency whatever the server does.
func saturation(d *chart.Data, slow *chart.Cell) string {
	axis := "concurrency"
	most := d.Get(slow, metrics.RequestThroughput, "avg")
	var enough *chart.Cell
	for _, c := range beside(d, slow, axis) {
		s := d.Get(c, metrics.RequestThroughput, "avg")
		load := c.At(axis)
		if c.Verdict == validity.Invalid || c.Window != slow.Window || !(load < slow.At(axis)) ||
			!(most.Value <= (1+level)*s.Value) {
			continue
		}
		if enough == nil || load < enough.At(axis) {
			enough = c
		}
	}
	if enough == nil {
		return ""
	}
	s := d.Get(enough, metrics.RequestThroughput, "avg")
	return fmt.Sprintf("%s %s gives %s requests/s and %s gives %s: the requests that are added only make each other take longer",
		chart.Spoken(axis), said(enough, axis), interval(s), said(slow, axis), interval(most))
}

// keepsUp is the share of the offered rate below which a server does not keep up
// with it; closer to it chance alone decides, which draws the arrivals.
const keepsUp = 0.95

// arrivals says that a cell answers less than it is asked, where it does: in an
// open loop nothing else holds requests back than those before them. Only the
// steady window tells: a whole run ends with answers to nobody who still asks.
// Requests that fail are not answered either, and do not wait.
func arrivals(d *chart.Data, c *chart.Cell) string {
	rate := c.At("request_rate")
	s := d.Get(c, metrics.RequestThroughput, "avg")
	if math.IsNaN(rate) || c.Window != "steady" || !(s.Value < keepsUp*rate) || s.High >= rate {
		return ""
	}
	out := fmt.Sprintf("%s of %s requests/s are answered", interval(s), words.Number(rate))
	left := rate
	if failed := d.Get(c, metrics.ErrorRate, "avg").Value; failed > 0 {
		out += fmt.Sprintf(" and %s %% fail", words.Number(100*failed))
		left *= 1 - failed
	}
	if s.Value < keepsUp*left && !(s.High >= left) {
		out += ": more come than the server takes, and they queue"
	}
	return out
}
