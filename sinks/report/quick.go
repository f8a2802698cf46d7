package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/quick"
	"aiperf.dev/aiperf/sweep/search"
)

// This file is what aiperf quick says: the answer, what belongs to it, and the probes behind it.

// Quick is what the report on a search does not know of the looks before it.
type Quick struct {
	Idle   quick.Look // one user at the lengths of the search
	Limit  string     // what limits the server at the load that is too much, "" where nothing is known
	File   string     // the experiment that repeats the search
	Chosen bool       // its limits were chosen by the program
}

// QuickSentences are the answer, in one sentence, and then one after another: why it is not narrower, within which
// limits, how fast, what it is when nothing else runs, what the limit is, and how sure all this is.
func (r *Report) QuickSentences(q Quick) []string {
	out := []string{r.searchAnswer() + "."}
	for _, s := range []string{r.searchOpen(), r.alone()} {
		if s != "" {
			out = append(out, s+".")
		}
	}
	limits := "The limits: " + r.searchLimits()
	if q.Chosen {
		limits += "; --limit sets others"
	}
	out = append(out, limits+".")
	if s := r.quickSpeed(); s != "" {
		out = append(out, s)
	}
	if s := quickIdle(q.Idle); s != "" {
		out = append(out, s)
	}
	if q.Limit != "" {
		out = append(out, strings.TrimSuffix(q.Limit, ".")+".")
	}
	return append(out, r.quickSure())
}

// users is a number of them.
func users(n float64) string { return words.Count(int64(n), "user") }

// quickSpeed is what each user and all of them get at the load that holds.
func (r *Report) quickSpeed() string {
	if r.Search.Holds == nil {
		return ""
	}
	var at *decide.CellResult
	for i := range r.Results.Cells {
		if c := &r.Results.Cells[i]; c.Cell.Load() == r.Search.Holds.Load {
			at = c
		}
	}
	if at == nil {
		return ""
	}
	window := at.Headline()
	get := func(tag, stat string) (float64, bool) {
		e, ok := window.Get(decide.Key{Tag: tag, Stat: stat})
		return e.Mean, ok && !math.IsNaN(e.Mean) && !math.IsInf(e.Mean, 0) && e.Mean > 0
	}
	var parts []string
	if first, ok := get(metrics.TimeToFirstToken, "p50"); ok {
		parts = append(parts, fmt.Sprintf("waits %s for the first token", words.Millis(first)))
		if each, ok := get(metrics.OutputTokenThroughputPerUser, "p50"); ok {
			parts = append(parts, fmt.Sprintf("then reads %s tokens per second", words.Number(each)))
		}
	} else if whole, ok := get(metrics.RequestLatency, "p50"); ok {
		parts = append(parts, fmt.Sprintf("waits %s for an answer", words.Millis(whole)))
	}
	if len(parts) == 0 {
		return ""
	}
	medians := "medians"
	if tail := r.limitingTail(at); tail != "" {
		medians += "; " + tail
	}
	one := r.Search.Holds.Load == 1
	s := fmt.Sprintf("With %s, each %s (%s)", users(r.Search.Holds.Load), strings.Join(parts, " and "), medians)
	if one {
		s = "This user " + strings.Join(parts, " and ") + " (" + medians + ")"
	}
	if all := r.together(get); all != "" && !one {
		s += "; counting the waits, together they get " + all
	}
	return s + "; " + errorsOf(at) + "."
}

// together is what all users get, as the table of probes has it; "" where too few answers tell no rate.
func (r *Report) together(get func(tag, stat string) (float64, bool)) string {
	if !slices.ContainsFunc(r.Search.Curve.Points, func(p search.Point) bool {
		return p.Load == r.Search.Holds.Load && p.Rate > 0
	}) {
		return ""
	}
	if all, ok := get(metrics.OutputTokenThroughput, "avg"); ok {
		return words.Number(all) + " tokens per second"
	}
	if all, ok := get(metrics.RequestThroughput, "avg"); ok {
		return words.Number(all) + " answers per second"
	}
	return ""
}

// limitingTail is the p99 of the latency that is nearest to its limit, or furthest beyond it.
func (r *Report) limitingTail(at *decide.CellResult) string {
	slos, share := r.slos()
	nearest, worst := "", 0.0
	for _, tag := range slices.Sorted(maps.Keys(slos)) {
		m, ok := metrics.Lookup(tag)
		if !ok || m.LargerIsBetter || m.Unit != "ms" || !(slos[tag] > 0) {
			continue
		}
		e, ok := at.Headline().Get(decide.Key{Tag: tag, Stat: percentileAt(share)})
		if ok && e.Mean/slos[tag] > worst {
			nearest, worst = tag, e.Mean/slos[tag]
		}
	}
	e, ok := at.Headline().Get(decide.Key{Tag: nearest, Stat: "p99"})
	if !ok || math.IsNaN(e.Mean) || math.IsInf(e.Mean, 0) {
		return ""
	}
	said := metrics.Series(nearest, "p99") + " " + words.Millis(e.Mean)
	if !stats.Certified(0.99, at.Headline().Effective(nearest)) {
		said += ", uncertain"
	}
	return said
}

// errorsOf says how many requests of a load failed.
func errorsOf(at *decide.CellResult) string {
	answered := words.Count(at.OK+at.Failed, "request")
	if at.Failed == 0 {
		return "no errors in " + answered
	}
	return fmt.Sprintf("%s of %s failed", words.Whole(at.Failed), answered)
}

// quickIdle is the latency when nothing else runs.
func quickIdle(l quick.Look) string {
	switch {
	case l.First > 0 && l.Gap > 0:
		return fmt.Sprintf("When nothing else runs, the first token takes %s and each further one %s.",
			words.Millis(l.First), words.Millis(l.Gap))
	case l.First > 0:
		return fmt.Sprintf("When nothing else runs, the first token takes %s.", words.Millis(l.First))
	case l.Latency > 0:
		return fmt.Sprintf("When nothing else runs, an answer takes %s.", words.Millis(l.Latency))
	}
	return ""
}

// quickSure is how sure the answer is, and of which requests it speaks.
func (r *Report) quickSure() string {
	a := r.Search
	b := &r.Plan.Cells[0].Resolved.Benchmark
	var requests int64
	for _, o := range r.Results.Cells {
		requests += o.Sent
	}
	sure := "95 % intervals"
	if sure += ", " + r.confirmed(); a.Holds == nil && a.Fails == nil {
		sure = "no load is certain"
	}
	work := ""
	if len(b.Datasets) > 0 {
		work = lengths(&b.Datasets[0].Prompts)
	}
	text := fmt.Sprintf("How sure: the measurement is %s; %s, from %s, %s in all%s", r.Verdict, sure,
		words.Count(len(a.Runs), "run"), words.Count(requests, "request"), work)
	if s := r.searchPrice(); s != "" {
		text += "; " + s
	}
	if a.Holds != nil && r.unpaced([]search.Load{*a.Holds}) {
		text += fmt.Sprintf("; each of the %s had fewer than two answers in a run, and longer runs may miss the limits: try a larger --budget",
			users(a.Holds.Load))
	}
	return text + "."
}

// lengths are those of requests, where they are plain numbers.
func lengths(p *schema.Prompts) string {
	var parts []string
	for _, x := range []struct {
		shape *schema.Shape
		what  string
	}{{p.ISL, "tokens in"}, {p.OSL, "out"}} {
		if x.shape == nil {
			continue
		}
		if v := cmp.Or(x.shape.Value, x.shape.Mean); v != nil {
			about := ""
			if x.shape.StdDev != nil && *x.shape.StdDev > 0 {
				about = "about "
			}
			parts = append(parts, fmt.Sprintf("%s%s %s", about, words.Whole(int64(*v)), x.what))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ", each with " + words.And(parts)
}

// WriteQuick prints the answer, what belongs to it, and the probes behind it.
func (r *Report) WriteQuick(w io.Writer, q Quick) error {
	s := newSheet(r.Width)
	for i, sentence := range r.QuickSentences(q) {
		if s.hanging(sentence); i == 0 {
			s.line("")
		}
	}
	r.probes(s)
	r.problems(s)
	open := r.Dir + "/"
	if r.View != "" {
		open += r.View
	}
	s.line("")
	s.line(words.Pad("open", noteColumn) + open)
	s.line(words.Pad("repeat", noteColumn) + "aiperf run " + q.File)
	for _, x := range append(r.narrow("aiperf run "+q.File), r.widen("aiperf run "+q.File)...) {
		s.steps([]step{x})
	}
	_, err := io.WriteString(w, words.Clean(s.String()))
	return err
}
