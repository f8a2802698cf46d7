package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
)

// Headline is the sentence for a summary: what limits the server, or of a series of loads
// that nothing does. It is "" where nothing is known, or the verdict has said it.
func (r *Report) Headline() string {
	told := func(c Result) bool { return !c.rule.checked && (c.rule.limited || c.rule.spoils) }
	switch {
	case slices.ContainsFunc(r.Cells, told):
		return r.Sentence
	case len(r.Cells) > 1 && r.Cells[0].Certainty != NotKnown && !r.Cells[0].rule.checked:
		return r.alongLoad()
	}
	return ""
}

// overall is the sentence for all cells: what limits them and from which load on, of
// cells that differ in load alone; else how many have which finding.
func (r *Report) overall() string {
	switch len(r.Cells) {
	case 0:
		return "Nothing was measured."
	case 1:
		return r.Cells[0].Sentence
	}
	if s := r.alongLoad(); s != "" {
		return s
	}
	return r.counted()
}

// failures is what comes before any limit: the figures are of the requests that succeeded.
func (r *Report) failures() string {
	n, first := 0, ""
	for _, c := range r.Cells {
		if c.Failures != "" {
			n, first = n+1, cmp.Or(first, c.Failures)
		}
	}
	const rest = "; the figures below are of those that succeeded"
	switch {
	case n == 0:
		return ""
	case len(r.Cells) == 1:
		return sentence(first + rest)
	}
	return sentence(fmt.Sprintf("requests failed in %d of %s%s", n, words.Count(len(r.Cells), "cell"), rest))
}

// alongLoad is the sentence for one series of loads, in which there is one finding, or
// one from some load on; "" for others.
func (r *Report) alongLoad() string {
	group := r.Cells[0].cell.cell.Group
	cells := slices.Clone(r.Cells)
	if slices.ContainsFunc(cells, func(c Result) bool { return c.cell.cell.Axis == "" || c.cell.cell.Group != group }) {
		return ""
	}
	slices.SortStableFunc(cells, func(a, b Result) int {
		switch x, y := a.cell.cell.Load, b.cell.cell.Load; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	last := cells[len(cells)-1]
	at := slices.IndexFunc(cells, func(c Result) bool { return c.Finding == last.Finding })
	if slices.ContainsFunc(cells[at:], func(c Result) bool { return c.Finding != last.Finding }) {
		return ""
	}
	below, from := cells[:at], cells[at:]
	switch {
	case at == 0 && last.Certainty == NotKnown:
		return sentence("what limits the server is not known: " + last.Next)
	case at == 0 && last.rule.limited:
		return sentence(limitOf(from) + ", at every load that was measured")
	case at == 0 && last.rule.spoils:
		return sentence(last.rule.brief + ", at every load")
	case at == 0:
		return sentence(unboundOf(cells) + " up to " + place(last) + ", the highest that was measured")
	case !last.rule.limited || slices.ContainsFunc(below, func(c Result) bool { return c.rule.limited }):
		return ""
	case slices.ContainsFunc(below, func(c Result) bool { return c.Certainty == NotKnown }):
		return sentence(limitOf(from) + "; what the limit is below that is not known")
	case slices.ContainsFunc(below, func(c Result) bool { return c.rule.spoils }):
		return sentence(limitOf(from))
	}
	return sentence(limitOf(from) + "; below that " + unboundOf(below))
}

// place is the load of a cell: "concurrency 8".
func place(c Result) string { return c.cell.cell.Axis + " " + short(c.cell.cell.Load) }

// limitOf is the limit that some loads have in common, the lowest first, with how much of
// it there is at both ends.
func limitOf(cells []Result) string {
	first, last := cells[0], cells[len(cells)-1]
	rule := last.rule
	least, most := "", ""
	if rule.figure != nil {
		least, most = " ("+rule.figure(first.cell)+")", " ("+rule.figure(last.cell)+")"
	}
	switch {
	case len(cells) == 1:
		return rule.brief + " at " + place(last) + ", the highest that was measured" + most
	case least == most:
		return rule.brief + " from " + place(first) + " on" + most
	}
	return rule.brief + " from " + place(first) + least + " to " + place(last) + most
}

// unboundOf is what was seen at loads of which none is limited.
func unboundOf(cells []Result) string {
	if slices.ContainsFunc(cells, func(c Result) bool { return c.cell.get("kept_up") != 1 }) {
		return cells[0].rule.brief
	}
	return "the server keeps up"
}

// counted is how many cells have which finding.
func (r *Report) counted() string {
	text := ""
	for _, rule := range r.Cells[0].cell.book.rules {
		n := 0
		for _, c := range r.Cells {
			if c.Finding == rule.Name {
				n++
			}
		}
		if n == 0 {
			continue
		}
		title := rule.Title
		switch {
		case rule.Certainty == NotKnown:
			title = "what limits the server is not known"
		case rule.Name == "not_bound":
			title = "no limit was reached"
		}
		if text != "" {
			text += "; "
		}
		text += title + fmt.Sprintf(" (%d of %s)", n, words.Count(len(r.Cells), "cell"))
	}
	return sentence(text)
}

// parts are the means of a request's time, in ms: of the client, and of that the server's.
type parts struct{ latency, queue, prefill, decode float64 }

// spent is over the whole run, at whose ends nothing is in flight, so that the client's
// mean and the server's are of the same requests and add up. Where the server counted
// others, its parts are not known.
func (f *facts) spent() parts {
	over := func(of func(*trial) float64) float64 {
		return f.mean(func(t *trial) float64 {
			if t.whole != nil {
				t = t.whole
			}
			return of(t)
		})
	}
	server := func(of func(*trial) float64) float64 {
		return over(func(t *trial) float64 {
			if !t.same("queue_time") {
				return math.NaN()
			}
			return of(t)
		})
	}
	return parts{
		over(func(t *trial) float64 { return t.of(metrics.RequestLatency) }),
		server(func(t *trial) float64 { return t.each("queue_time") }), server((*trial).prefill),
		server(func(t *trial) float64 { return t.each("decode_time") }),
	}
}

// stepsOf are the ways from one load to the next.
func stepsOf(all []*facts) []Step {
	out := []Step{}
	for _, f := range all {
		g := f.higher
		if g == nil {
			continue
		}
		a, b := f.spent(), g.spent()
		s := Step{
			From: f.cell.Label, To: g.cell.Label, Latency: b.latency - a.latency,
			Throughput: g.get("rate") / f.get("rate"),
		}
		if queue, prefill, decode := b.queue-a.queue, b.prefill-a.prefill, b.decode-a.decode; known(
			queue+prefill+decode) != nil {
			s.Queue, s.Prefill, s.Decode = &queue, &prefill, &decode
			s.Elsewhere = known(s.Latency - queue - prefill - decode)
		}
		if math.IsNaN(s.Latency) || math.IsNaN(s.Throughput) || math.IsInf(s.Throughput, 0) {
			continue
		}
		s.Sentence = sentence(s.says(a.latency))
		out = append(out, s)
	}
	return out
}

// alike is the share of a latency below which a change is not worth taking apart.
const alike = 0.01

// says takes a growth apart: the parts and what is left of it have one unit and as many
// decimals, so that what is printed adds up. before is the latency that grew.
func (s *Step) says(before float64) string {
	text := fmt.Sprintf("from %s to %s throughput changes by a factor of %s, and a request takes ", s.From, s.To,
		short(s.Throughput))
	if math.Abs(s.Latency) < alike*before {
		return text + "as long, within 1 %"
	}
	if s.Latency < 0 {
		return text + words.Millis(-s.Latency) + " less on average"
	}
	if s.Elsewhere == nil {
		return text + words.Millis(s.Latency) + " more on average"
	}
	unit, factor := "ms", 1.0
	if s.Latency < 1 {
		unit, factor = "µs", 1e3
	}
	decimals := max(0, 2-int(math.Floor(math.Log10(s.Latency*factor))))
	scale := math.Pow10(decimals)
	rounded := func(ms float64) float64 { return math.Round(ms * factor * scale) }
	say := func(v float64) string {
		switch {
		case v == 0:
			return "0"
		case v < 0:
			return fmt.Sprintf("−%.*f", decimals, -v/scale)
		}
		return fmt.Sprintf("+%.*f", decimals, v/scale)
	}
	all, queue, prefill, decode := rounded(s.Latency), rounded(*s.Queue), rounded(*s.Prefill), rounded(*s.Decode)
	return text + fmt.Sprintf("%.*f %s more on average: %s in the queue, %s reading the prompt, %s making tokens, "+
		"%s elsewhere (network, server's front end, client)", decimals, all/scale, unit, say(queue), say(prefill),
		say(decode), say(all-queue-prefill-decode))
}
