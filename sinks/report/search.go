package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/search"
)

// This file says what a search found: one sentence for each outcome, a small table of
// the loads that were probed, and the same as data.

// searchSentences are the answer of a search, and how sure it is.
func (r *Report) searchSentences() (out []string) {
	for _, t := range r.tiers() {
		name := ""
		if t.tier != nil {
			name = t.tier.Name + ": "
		}
		out = append(out, name+t.searchAnswer())
		if s := t.searchOpen(); s != "" {
			out = append(out, name+s)
		}
		if s := t.alone(); s != "" && t.Search.Outcome == search.Fewer {
			out = append(out, s)
		}
		if limit := t.searchLimit(); limit != "" {
			out = append(out, "limit: "+limit)
		}
		if s := t.searchPrice(); s != "" {
			out = append(out, s)
		}
	}
	if s := r.Law(); s != "" {
		out = append(out, s)
	}
	for _, l := range r.Search.Loads {
		if l.Torn {
			out = append(out, r.amounts().say(l.Load)+verb(l.Load, " was", " were")+
				" within the limits in one run and not in another: after more load the server may not be as fast as before")
		}
	}
	return out
}

// tiers are the report on each of several limits of a search, or the one report there is.
func (r *Report) tiers() []*Report {
	if len(r.Search.Tiers) == 0 {
		return []*Report{r}
	}
	of := r.Plan.Tiers()
	out := make([]*Report, len(of))
	for i := range of {
		one := *r
		one.Search, one.tier = r.Search.Tiers[i].Answer, &of[i]
		out[i] = &one
	}
	return out
}

// slos are the limits that a good request of the search meets, and the share that has to.
func (r *Report) slos() (map[string]float64, float64) {
	if r.tier != nil {
		return r.tier.SLOs, r.tier.Share
	}
	return r.Plan.Cells[0].Resolved.Benchmark.SLOs, r.Plan.Experiment.Search.Share
}

// alone is by how much the smallest load that was measured misses the limits, and which ones it would
// meet, where no load is shown to hold; "" where there is no limit on requests or too many failed.
func (r *Report) alone() string {
	a := r.Search
	slos, share := r.slos()
	if a.Holds != nil || len(a.Loads) == 0 || r.Results == nil || a.Outcome == search.ServerLost {
		return ""
	}
	at := &a.Loads[0]
	if r.Plan.Experiment.Search.Find == string(search.Min) {
		at = &a.Loads[len(a.Loads)-1]
	}
	if at.Of == 0 || at.Share >= share {
		return ""
	}
	text := fmt.Sprintf("With %s, %s %% of the requests are good, and %s %% have to be", r.amounts().say(at.Load),
		percent(at.Share), percent(share))
	i := slices.IndexFunc(r.Results.Cells, func(c decide.CellResult) bool { return c.Cell.Load() == at.Load })
	if i < 0 {
		return text
	}
	var meets []string
	for _, tag := range slices.Sorted(maps.Keys(slos)) {
		m, ok := metrics.Lookup(tag)
		if !ok || m.LargerIsBetter {
			continue
		}
		e, ok := r.Results.Cells[i].Full.Get(decide.Key{Tag: tag, Stat: percentileAt(share)})
		if ok && e.Mean > slos[tag] {
			meets = append(meets, fmt.Sprintf("%s < %s %s instead of %g", metrics.Series(tag, ""),
				words.Number(upTo(e.Mean)), m.Unit, slos[tag]))
		}
	}
	c := &r.Results.Cells[i]
	if len(meets) == 0 || float64(c.OK) < share*float64(c.Sent) {
		return text
	}
	return text + fmt.Sprintf("; %s %% of them would keep %s", percent(share), words.And(meets))
}

// percentileAt is the smallest percentile that every run has and that is not below a share.
func percentileAt(share float64) string {
	for _, p := range []struct {
		at   float64
		stat string
	}{{0.5, "p50"}, {0.75, "p75"}, {0.9, "p90"}, {0.95, "p95"}, {0.99, "p99"}} {
		if share <= p.at {
			return p.stat
		}
	}
	return "p999"
}

// upTo is v with two digits, rounded up.
func upTo(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Ceil(v/unit) * unit
}

// widen is the command that goes on beyond an end of the range, where the answer lies there; command
// is what made this search.
func (r *Report) widen(command string) (out []step) {
	for _, t := range r.tiers() {
		a := t.Search
		smallest := r.Plan.Experiment.Search.Find == string(search.Min)
		lower := a.Outcome == search.Fewer != smallest
		switch {
		case a.Outcome == search.BentAtEnd:
			lower = a.Knee == nil || !a.Knee.Grows
		case a.Outcome != search.Fewer && a.Outcome != search.AtLeast:
			continue
		}
		low, high := r.Plan.Experiment.Search.Range[0], r.Plan.Experiment.Search.Range[1]
		if lower && r.Plan.Experiment.Raised != "" {
			continue // fewer workers would go on
		}
		if lower {
			low, high = low/10, low
			if sweep.AxisNamed(r.Plan.Searched().Name).Whole {
				low = max(1, math.Floor(low))
			}
		} else {
			low, high = high, 4*high
		}
		next := step{
			"to go on beyond the range",
			argv.Again(command, argv.Change{Flag: "set", Value: fmt.Sprintf("search.range=[%s, %s]", load(low), load(high))}), "",
		}
		if low < high && !slices.Contains(out, next) {
			out = append(out, next)
		}
	}
	return out
}

// loaded is a load with its unit: "12.5 users", "40 requests/s".
func (r *Report) loaded(number string) string {
	switch name := sweep.AxisNamed(r.Plan.Searched().Name).Name; name {
	case sweep.AxisNamed("concurrency").Name:
		return number + " users"
	case sweep.AxisNamed("request_rate").Name:
		return number + " requests/s"
	default:
		return spokenAxis(name) + " " + number
	}
}

// kneeAnswer is where more load begins to give hardly more throughput.
func (r *Report) kneeAnswer() string {
	a, span := r.Search, r.Plan.Experiment.Search.Range
	at := func(p stats.Param) string {
		value, low, high := r.inWhole(p)
		return fmt.Sprintf("%s [%s, %s]", r.loaded(value), low, high)
	}
	switch a.Outcome {
	case search.Bent:
		return fmt.Sprintf("The knee is at %s: throughput and latency bend there", at(a.Knee.At))
	case search.BentAlone:
		return fmt.Sprintf("The knee of the throughput is at %s; the latency does not show it", at(a.Knee.At))
	case search.BentTwice:
		if !a.Knee.ThroughputShown {
			return fmt.Sprintf("No knee: the latency bends at %s, the throughput does not", at(a.Knee.LatencyAt))
		}
		return fmt.Sprintf("Two bends: the throughput at %s, the latency at %s", at(a.Knee.At), at(a.Knee.LatencyAt))
	case search.BentAtEnd:
		if a.Knee.Grows {
			return fmt.Sprintf("The knee lies above %s: the throughput still grows there", r.loaded(load(span[1])))
		}
		return fmt.Sprintf("The knee lies at %s or below: more load gives hardly more throughput from there on",
			r.loaded(load(span[0])))
	case search.ClientLost:
		return fmt.Sprintf("Open: at %s no usable run was made (%s)", r.loaded(load(a.At)), a.Why)
	case search.ServerLost:
		return fmt.Sprintf("The server died at %s (%s)", r.loaded(load(a.At)), a.Why)
	case search.Spent, search.Stopped:
		end := "So far: no knee is shown"
		if a.Knee != nil && a.Knee.ThroughputShown {
			end = "So far: the throughput bends at " + at(a.Knee.At)
		}
		if a.Outcome == search.Spent {
			end += "; the budget is spent"
		}
		return end
	}
	return fmt.Sprintf("No knee is shown between %s and %s", load(span[0]), r.loaded(load(span[1])))
}

// inWhole is a load with its interval: users are counted, and the interval reaches to the next whole number.
func (r *Report) inWhole(p stats.Param) (value, low, high string) {
	if !sweep.AxisNamed(r.Plan.Searched().Name).Whole {
		return words.Number(p.Value), words.Number(p.Low), words.Number(p.High)
	}
	return load(max(1, math.Round(p.Value))), load(max(1, math.Floor(p.Low))), load(math.Ceil(p.High))
}

// Law is what the Universal Scalability Law says about a search's probes; where it does not fit
// them, a search for a knee is told why. "" without a search, and with one load.
func (r *Report) Law() string {
	if r.Search == nil || len(r.Search.Loads) < 2 {
		return ""
	}
	c := r.Search.Curve
	switch {
	case c.Law == nil && r.Plan.Experiment.Search.Find != string(search.Knee):
		return "" // it is not what was asked for
	case c.Law == nil:
		return "The Universal Scalability Law does not fit: " + c.NoLaw
	}
	share := func(p stats.Param) string {
		return fmt.Sprintf("%.3g %% [%.3g, %.3g]", 100*p.Value, 100*p.Low, 100*p.High)
	}
	l := c.Law
	text := fmt.Sprintf("Universal Scalability Law: %s req/s for one user, contention %s, coherency %s",
		words.Number(l.Lambda.Value), share(l.Sigma), share(l.Kappa))
	if p := l.Peak; !math.IsNaN(p.Value) {
		value, low, high := r.inWhole(p)
		text += fmt.Sprintf("; the throughput is largest at %s users [%s, %s]", value, low, high)
	}
	return text
}

// searchLimit is what a load has to show to hold, and how sure its ends are.
func (r *Report) searchLimit() string {
	text := r.searchLimits()
	if text == "" || r.Search.Holds == nil && r.Search.Fails == nil {
		return text
	}
	return text + " (95 % intervals, " + r.confirmed() + ")"
}

// confirmed says whether the ends of the bracket were seen often enough.
func (r *Report) confirmed() string {
	ends, once := 0, 0
	for _, l := range []*search.Load{r.Search.Holds, r.Search.Fails} {
		if l != nil {
			ends++
			if l.Runs < 2 {
				once++
			}
		}
	}
	which := ""
	if ends == 2 {
		which = "one end "
		if r.Search.Sure || once == 2 {
			which = "both ends "
		}
	}
	switch {
	case r.Search.Sure:
		return which + "confirmed by a second run"
	case once > 0:
		return which + "measured only once"
	}
	return which + "not confirmed yet" // runs of other loads differ, or none came from the other side
}

// searchLimits are the conditions of a search in words.
func (r *Report) searchLimits() string {
	s := r.Plan.Experiment.Search
	var parts, limits []string
	slos, share := r.slos()
	for _, tag := range slices.Sorted(maps.Keys(slos)) {
		if tag == metrics.Accuracy && slos[tag] == 1 {
			limits = append(limits, rightAnswers)
			continue
		}
		sign, unit := "<", ""
		if m, ok := metrics.Lookup(tag); ok {
			if unit = " " + m.Unit; m.LargerIsBetter {
				sign = ">"
			}
		}
		limits = append(limits, fmt.Sprintf("%s %s %g%s", metrics.Series(tag, ""), sign, slos[tag], unit))
	}
	if len(limits) > 0 {
		parts = append(parts, fmt.Sprintf("%.4g %% of requests have %s", 100*share, words.And(limits)))
	}
	return strings.Join(append(parts, s.Also...), ", ")
}

// adjacent reports whether no load lies between the two ends of the bracket.
func (r *Report) adjacent() bool {
	a := r.Search
	return a.Holds != nil && a.Fails != nil && sweep.AxisNamed(r.Plan.Searched().Name).Whole &&
		math.Abs(a.Fails.Load-a.Holds.Load) <= 1
}

// mostProbes is how many a search may be given.
const mostProbes = 1000

// resume says what to type to go on with a plan that ended early.
func (r *Report) resume() string {
	if !r.Plan.Several() {
		return "the same command with --resume measures it anew"
	}
	if r.Search == nil || r.Search.Outcome != search.Spent {
		return "the same command with --resume measures the rest"
	}
	b := r.Plan.Experiment.Search.Budget
	larger := fmt.Sprintf("probes=%d", min(2*b.Probes, mostProbes))
	if b.Time != nil && len(r.Search.Runs) < b.Probes {
		larger = fmt.Sprintf("time=%g", 2*float64(*b.Time))
	}
	return "the same command with --resume --set search.budget." + larger + " goes on"
}

// mostLoads is how many loads the table has room for: those next to the limit.
const mostLoads = 12

// probes is the table of the loads that were probed.
func (r *Report) probes(s *sheet) {
	a := r.Search
	if len(a.Loads) == 0 { // it ended before its first usable run
		return
	}
	s.line("")
	g := grid{head: []string{
		r.searched(), "runs", "goodput %", "95 % interval", "req/s", "latency mean ms", "requests",
		"",
	}, left: 0}
	loads := r.nearLimit()
	if len(a.Tiers) > 0 {
		r.tierRows(&g, loads)
	}
	for _, l := range loads {
		if len(a.Tiers) > 0 {
			break
		}
		const none = noneMark
		row := []string{load(l.Load), fmt.Sprint(l.Runs), none, none, none, none, none, string(l.State)}
		if i := slices.IndexFunc(a.Curve.Points, func(p search.Point) bool { return p.Load == l.Load }); i >= 0 {
			p := a.Curve.Points[i]
			for k, v := range map[int]float64{4: p.Rate, 5: p.Latency} {
				if !math.IsNaN(v) {
					row[k] = words.Number(v)
				}
			}
		}
		if r.Plan.Experiment.Search.Find == string(search.Knee) {
			row[7] = "" // nothing is decided
		}
		if l.Of > 0 {
			row[2] = percentOf(l.Share, l.Of)
			row[3] = shareInterval(l)
			row[6] = words.Whole(int64(l.Of))
		}
		g.rows = append(g.rows, row)
	}
	g.write(s)
	if text := r.unsettled(loads); text != "" {
		s.wrapped("  ", text)
	}
	if r.unpaced(loads) {
		s.wrapped("  ", noneMark+" too few successful answers for a rate: fewer than two per user in each run")
	}
	if n := len(a.Loads) - len(loads); n > 0 {
		s.line(fmt.Sprintf("  … and %s farther from the limit", words.Count(n, "other load")))
	}
	if n := slices.IndexFunc(a.Runs, func(x search.Run) bool { return x.Unfit != "" }); n >= 0 &&
		a.Outcome != search.ClientLost && a.Outcome != search.ServerLost {
		s.wrapped("  ", "unusable runs were repeated, the first one: "+a.Runs[n].Unfit)
	}
}

// searched is the head of the column of loads, which leaves 80 columns room for what was measured.
func (r *Report) searched() string {
	const most = len("concurrency")
	if name := r.Plan.Searched().Name; len(name) <= most {
		return name
	}
	return shortAxis(r.Plan.Searched().Name)
}

// unsettled says what an undecided load means for the answer, "" where none stands in the table.
func (r *Report) unsettled(loads []search.Load) string {
	a := r.Search
	needed, any := false, false
	for _, l := range loads {
		if l.State == search.Undecided {
			any = true
			needed = needed || a.Holds == nil || a.Fails == nil ||
				(l.Load-a.Holds.Load)*(l.Load-a.Fails.Load) < 0
		}
	}
	switch {
	case !any || len(a.Tiers) > 0 || r.Plan.Experiment.Search.Find == string(search.Knee):
		return ""
	case needed:
		return "undecided: its requests show neither that it keeps the limits nor that it misses them"
	}
	return "undecided: too few requests to tell, and the answer does not need it"
}

// tierRows are the rows of a search with several limits: of each the share of good requests and the decision.
func (r *Report) tierRows(g *grid, loads []search.Load) {
	a := r.Search
	g.head = []string{r.searched(), "runs"}
	for _, t := range a.Tiers {
		g.head = append(g.head, "goodput %", t.Name)
	}
	g.head = append(g.head, "req/s", "latency mean ms", "")
	for _, l := range loads {
		i := slices.IndexFunc(a.Loads, func(x search.Load) bool { return x.Load == l.Load })
		row := []string{load(l.Load), fmt.Sprint(l.Runs)}
		for _, t := range a.Tiers {
			row = append(row, percentOf(t.Loads[i].Share, t.Loads[i].Of), string(t.Loads[i].State))
		}
		for _, v := range []float64{a.Curve.Points[i].Rate, a.Curve.Points[i].Latency} {
			text := noneMark
			if !math.IsNaN(v) {
				text = words.Number(v)
			}
			row = append(row, text)
		}
		g.rows = append(g.rows, append(row, ""))
	}
}

// nearLimit are the loads next to the bracket.
func (r *Report) nearLimit() []search.Load {
	loads := r.Search.Loads
	middle := 0
	for i := range loads {
		if h := r.Search.Holds; h != nil && loads[i].Load <= h.Load {
			middle = i
		}
	}
	from := max(0, min(middle-mostLoads/2+1, len(loads)-mostLoads))
	return loads[from:min(len(loads), from+mostLoads)]
}

// percent is a share without more digits than it is worth.
func percent(share float64) string {
	if share < 1e-5 {
		share = 0
	}
	return fmt.Sprintf("%.4g", 100*share)
}

// percentOf is the share of so many requests, with as many digits as they can tell apart.
func percentOf(share, of float64) string {
	digits := 0
	if of >= 100 {
		digits = 1
	}
	text := fmt.Sprintf("%.*f", digits, 100*share)
	if text = strings.TrimSuffix(text, ".0"); text == "100" && share < 1 {
		return "> 99"
	}
	return text
}

// shareInterval is the interval of the share of good requests: one whose lower end is next to nothing has an upper
// end alone, and one that holds nearly all shares says nothing.
func shareInterval(l search.Load) string {
	high := fmt.Sprintf("%.3g", 100*l.High)
	switch {
	case l.High <= 10*l.Low:
		return fmt.Sprintf("%.3g to %s", 100*l.Low, high)
	case l.High >= 0.99:
		return "too few"
	}
	return "up to " + high
}

// unpaced reports whether a load of a closed loop has no rate, because its users had too few answers.
func (r *Report) unpaced(loads []search.Load) bool {
	p := sweep.Measured(&r.Plan.Cells[0].Resolved.Benchmark)
	return p.Concurrency > 0 && slices.ContainsFunc(loads, func(l search.Load) bool {
		return !slices.ContainsFunc(r.Search.Curve.Points, func(x search.Point) bool {
			return x.Load == l.Load && x.Rate > 0
		})
	})
}

func load(x float64) string { return fmt.Sprintf("%.6g", x) }
