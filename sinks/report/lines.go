package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// closed tells whether nothing but answers sets the pace: latencies from schedule say
// little then.
func (r *Report) closed() bool {
	c := r.Plan.Cells
	return len(c) > 0 && c[0].Resolved != nil && sweep.AxisNamed("request_rate").Of(&c[0].Resolved.Benchmark) == nil &&
		!r.endless
}

// rateParts are what came out per second, and how much was in flight: what is printed
// together agrees, rate × latency = in flight and rate × length = tokens per second.
var rateParts = []struct{ tag, stat, unit string }{
	{metrics.OutputTokenThroughput, "avg", "tok/s"},
	{metrics.RequestThroughput, "avg", "req/s"},
	{metrics.EffectiveConcurrency, "avg", "in flight"},
}

// rates are the first so many of them in a window.
func (r *Report) rates(most int, of func(tag string) (metrics.Stat, bool)) string {
	var parts []string
	for _, x := range rateParts[:most] {
		if st, ok := of(x.tag); ok && !math.IsNaN(st.Value(x.stat)) {
			parts = append(parts, words.Number(st.Value(x.stat))+strings.TrimSpace(r.doubtfulStat(x.tag, x.stat))+" "+
				x.unit)
		}
	}
	return strings.Join(parts, " · ")
}

// throughput is the line of rates. The window that they are of follows, which leaves out
// how the run began and ended, with the rates of the whole run where these are others.
func (r *Report) throughput(s *sheet) {
	line := r.rates(len(rateParts), r.headline)
	if line == "" {
		return
	}
	st, ok := r.headline(metrics.OutputTokenThroughputPerUser)
	if ok {
		line += " · " + words.Number(st.P50) + strings.TrimSpace(r.doubtfulStat(st.Tag, "p50")) + " tok/s per user"
	}
	s.wrapped(words.Pad("Throughput", labelColumn), line)
	if r.Steady == nil || r.SteadyFor >= r.FullFor {
		return
	}
	whole, steady := words.Span(r.FullFor), words.Span(r.SteadyFor)
	if whole == steady { // nothing was cut that can be seen
		return
	}
	rate, _ := r.headline(metrics.RequestThroughput)
	if full, ok := r.Full.Get(metrics.RequestThroughput); ok && math.Abs(full.Avg/rate.Avg-1) > 0.02 {
		s.part(further)
		s.wrapped(words.Pad("Whole run", labelColumn), r.rates(2, r.Full.Get)+" in "+whole+"; above: its steady "+
			steady)
		return
	}
	if r.folded >= withoutCauses { // a window with the same rates is not worth a line
		return
	}
	s.part(design)
	s.wrapped(words.Pad("Window", labelColumn), "steady: "+steady+" of "+whole+", without the start and the end")
}

// BesideTables says what AIPerf's tables, which stand above, are of, and what the screen
// is of: its figures are those of the steady window, where there is one.
func (r *Report) BesideTables() string {
	const theirs = "AIPerf's tables above are of the whole run"
	const each = "Above is AIPerf's table of each run, over the whole of it; below the trials are taken together"
	switch {
	case r.Full == nil && windowOfAll(r.Results.Cells) == decide.Full:
		return each
	case r.Full == nil:
		return each + ", in their steady windows"
	case r.Steady == nil || r.SteadyFor >= r.FullFor:
		return theirs + "; so are the figures below"
	}
	whole, steady := words.Span(r.FullFor), words.Span(r.SteadyFor)
	if whole == steady {
		return theirs + "; below is nearly all of it"
	}
	return fmt.Sprintf("%s; below is its steady %s of %s", theirs, steady, whole)
}

// windowOfAll is the window that the figures of a table are of: the steady one where some
// cell has it.
func windowOfAll(cells []decide.CellResult) string {
	if slices.ContainsFunc(cells, func(c decide.CellResult) bool { return c.Headline().Window() == decide.Steady }) {
		return decide.Steady
	}
	return decide.Full
}

// lengths are the mean lengths of prompts and answers.
func (r *Report) lengths() string {
	if r.Full == nil {
		return ""
	}
	in, ok := r.headline(metrics.InputSequenceLength)
	out, also := r.headline(metrics.OutputSequenceLength)
	var parts []string
	if ok {
		text := words.Grouped(in.Avg) + " tokens in"
		if r.DefaultISL {
			text += " (default of --isl)"
		}
		parts = append(parts, text+r.doubtfulMean(metrics.InputSequenceLength))
	}
	if also {
		text := words.Grouped(out.Avg) + " out"
		if r.Asked != "" && r.Asked != "asked "+fmt.Sprintf("%.4g", out.Avg) {
			text += " (" + r.Asked + ")"
		}
		parts = append(parts, text+r.doubtfulMean(metrics.OutputSequenceLength))
	}
	return strings.Join(parts, ", ") + r.withoutQuestions()
}

// withoutQuestions are the mean lengths of what asks no question, where some requests do:
// these have lengths of their own.
func (r *Report) withoutQuestions() string {
	var lengths []string
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Kind == "request" && p.Name == metrics.Other {
			for _, of := range [][2]string{{metrics.InputSequenceLength, "in"}, {metrics.OutputSequenceLength, "out"}} {
				if s, ok := p.Headline(of[0]); ok {
					lengths = append(lengths, words.Grouped(s.Avg)+" "+of[1])
				}
			}
		}
	}
	if len(lengths) == 0 {
		return ""
	}
	return "; without the questions " + strings.Join(lengths, ", ")
}

// goodRequests is the share of requests within the limits, and in words how many these are of all that
// were attempted in the whole run: a range where some were cut off before it was known. False where
// there are no limits.
func (r *Report) goodRequests() (share metrics.Stat, met string, ok bool) {
	share, ok = r.Full.Get(metrics.GoodRequestFraction)
	if !ok || math.IsNaN(share.Avg) {
		return share, "", false
	}
	all := r.Requests.In(record.Attempted)
	count := func(share float64) string { return words.Whole(int64(math.Round(share * float64(all)))) }
	part := words.Percent(share.Avg)
	met = count(share.Avg)
	if most := share.Avg + share.Open; share.Open > 0 {
		met, part = met+" to "+count(most), part+" to "+words.Percent(most)
	}
	return share, fmt.Sprintf("%s of %s (%s)%s", met, words.Count(all, "request"), part,
		strings.TrimSpace(r.doubtfulMean(metrics.GoodRequestFraction))), true
}

// metLimits says how many requests met the limits; "" where there are none.
func (r *Report) metLimits() string {
	_, met, ok := r.goodRequests()
	if !ok {
		return ""
	}
	limits := "the limits"
	if c := r.Plan.Cells; len(c) > 0 && c[0].Resolved != nil {
		limits = r.limits(c[0])
	}
	return met + " met " + limits
}

// good is the line of the requests that met the limits: their rate, and of all that were attempted in
// the whole run how many did not, and why.
func (r *Report) good(s *sheet) {
	share, _, ok := r.goodRequests()
	if !ok {
		return
	}
	rate, _ := r.headline(metrics.Goodput) // of the time that the other rates are of
	text := words.Number(rate.Avg)
	if share.Open > 0 {
		text += " to " + words.Number(rate.Avg+rate.Open)
	}
	text += " req/s" + r.goodSpan()
	if sent, ok := r.Full.Get(metrics.GoodRequestFractionFromSent); ok && sent.Avg != share.Avg {
		text += "; " + words.Percent(sent.Avg) + " met the limits if timed from sending"
	}
	text += r.missedLimits()
	for _, x := range []struct {
		n   int64
		how string
	}{{r.Requests.Failed, "failed"}, {r.Requests.Cut, "were cut off"}, {r.Requests.Unsent, "were never sent"}} {
		if x.n > 0 {
			text += "; " + words.Whole(x.n) + " " + x.how
		}
	}
	s.wrapped(words.Pad("Goodput", labelColumn), text+r.unlessGated())
}

// goodSpan says that the rate of good requests is of the steady window, where that of the
// whole run, of which the counts are, is another.
func (r *Report) goodSpan() string {
	steady, ok := r.steady(metrics.Goodput)
	full, _ := r.Full.Get(metrics.Goodput)
	if !ok || r.folded > 0 || words.Number(full.Avg) == words.Number(steady.Avg) {
		return ""
	}
	return " in the steady window"
}

// client is what the client itself used. It goes first where a screen is too long.
func (r *Report) client(s *sheet) {
	name := "client"
	if r.Full != nil {
		name = "Client"
	}
	if s.part(design); r.Client != "" && (r.Full != nil || r.folded == 0) {
		s.wrapped(words.Pad(name, r.labelWidth()), r.Client)
	}
}
