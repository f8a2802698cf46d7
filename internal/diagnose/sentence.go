package diagnose

import (
	"fmt"
	"math"
	"slices"

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

// stepsOf are the ways from one load to the next.
func stepsOf(all []*facts) []Step {
	out := []Step{}
	for _, f := range all {
		g := f.higher
		if g == nil {
			continue
		}
		more := func(name string) float64 { return g.get(name) - f.get(name) }
		s := Step{
			From: f.cell.Label, To: g.cell.Label, Latency: more("latency_ms"),
			Throughput: g.get("rate") / f.get("rate"),
			Queue:      known(more("queue_ms")), Prefill: known(more("prefill_ms")), Decode: known(more("decode_ms")),
		}
		if math.IsNaN(s.Latency) || math.IsNaN(s.Throughput) || math.IsInf(s.Throughput, 0) {
			continue
		}
		s.Sentence = sentence(s.says())
		out = append(out, s)
	}
	return out
}

// says names the largest part of a growth that matters.
func (s *Step) says() string {
	text := fmt.Sprintf("from %s to %s throughput changes by the factor %s, and a request takes %s ", s.From, s.To,
		short(s.Throughput), words.Millis(math.Abs(s.Latency)))
	if s.Latency < 0 {
		return text + "less"
	}
	text += "more"
	if s.Queue == nil || s.Prefill == nil || s.Decode == nil || s.Latency == 0 {
		return text
	}
	return text + fmt.Sprintf(": %s in the queue, %s reading the prompt, %s making tokens",
		signed(*s.Queue), signed(*s.Prefill), signed(*s.Decode))
}

func signed(ms float64) string {
	if math.Abs(ms) < 1e-3 { // below the resolution of a stamp
		return "0"
	}
	if ms < 0 {
		return "−" + words.Millis(-ms)
	}
	return "+" + words.Millis(ms)
}
