package decide

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Prober reads the probes of a search.
type Prober struct {
	plan *sweep.Plan
	also []Gate
}

// NewProber is that of a plan whose conditions CheckGates has found to be in order.
func NewProber(p *sweep.Plan) Prober {
	also, _ := compileAlso(p, Names())
	return Prober{p, also}
}

// compileAlso compiles the conditions on each run of a search.
func compileAlso(p *sweep.Plan, tags []string) (also []Gate, bad schema.Errors) {
	axes := axisNames(p)
	for i, text := range p.Experiment.Search.Also {
		g := Gate{Gate: sweep.Gate{Expr: text, Origin: fmt.Sprintf("search.also.%d", i)}}
		if err := g.compile(tags, axes); err != nil {
			bad = append(bad, err)
		}
		also = append(also, g)
	}
	return also, bad
}

// checkSearch holds the limits of a search against the metrics that exist.
func checkSearch(p *sweep.Plan, tags []string) (bad schema.Errors) {
	s := p.Experiment.Search
	if s == nil {
		return nil
	}
	also, bad := compileAlso(p, tags)
	if bad == nil {
		bad = unproduced(p, also)
	}
	bad = append(bad, checkSigns("search.where", s.Where)...)
	for _, t := range p.Tiers() {
		path := "search.tiers." + t.Name + ".where"
		bad = append(bad, checkSigns(path, s.Tiers[t.Name].Where)...)
		if _, err := metrics.Judge(t.SLOs); err != nil { // of the SLOs of a run the reader of the experiment asks this
			bad = append(bad, limitError(path, err))
		}
	}
	return bad
}

// limitError is what is wrong with limits, at their place.
func limitError(path string, err error) *schema.Error {
	e := &schema.Error{Path: path, Message: strings.TrimPrefix(err.Error(), "slos: ")}
	var d *diag.Error
	if errors.As(err, &d) {
		e.Message, e.Hint = strings.TrimPrefix(d.Message, "slos: "), d.Hint
	}
	return e
}

// checkSigns refuses limits that are upside down.
func checkSigns(path string, limits []string) (bad schema.Errors) {
	for i, text := range limits {
		l, ok := schema.ParseLimit(text)
		if m, known := metrics.Lookup(l.Tag); ok && known && l.Above != m.LargerIsBetter {
			bad = append(bad, &schema.Error{
				Path:    fmt.Sprintf("%s.%d", path, i),
				Message: quoted(text, "the sign is the wrong way round"), Hint: fmt.Sprintf("write %s %s %g", l.Tag,
					map[bool]string{true: ">", false: "<"}[m.LargerIsBetter], l.Value),
			})
		}
	}
	return bad
}

// Probe is what one run shows of the load that it was made at.
type Probe struct {
	// Worst is the share of good requests with those that were cut off counted as bad,
	// Best with them as good; none where no limit is about single requests.
	Worst, Best stats.Tally
	Tiers       [][2]stats.Tally // the same two of each tier
	Own         State            // conditions on the run's figures, and whether the server kept up
	// Rate is how many requests were answered per second, Latency their mean in ms, both while the load was as asked
	// for: in a closed loop Rate × Latency is the number of users. 0 where there is none.
	Rate, Latency float64
	Unfit         string // why the run says nothing about the server, "" for one that does
}

// NothingSent is why a run says nothing in which requests from before it took every place until its end.
const NothingSent = "the requests of the warmup were not answered before its end, so that none was sent"

// Probe reads a run. Requests that failed, were rejected or cut off are among those that
// had to be good.
func (p Prober) Probe(o *Outcome) Probe {
	switch {
	case o.Interrupted, o.Gone, o.Err != "" && o.Sent == 0:
		return Probe{Unfit: o.Err}
	case o.Err == "" && o.Counts().In(record.Attempted) == 0:
		return Probe{Unfit: NothingSent}
	case o.Apart == validity.Invalid && !p.plan.Experiment.AllowInvalid:
		return Probe{Unfit: "INVALID" + wrongBy(o.Taints)}
	}
	out := Probe{Own: Held}
	out.Rate, out.Latency = o.pace()
	if len(o.Run.Cell.Resolved.Benchmark.SLOs) > 0 {
		out.Worst, out.Best = goodTallies(o)
	}
	for _, t := range o.Tiers {
		worst, best := tallies(o, t)
		out.Tiers = append(out.Tiers, [2]stats.Tally{worst, best})
	}
	if o.Err != "" || o.Backlog != nil && o.Backlog.Share > o.Backlog.Limit { // every request failed, or too many
		out.Own = Missed
		return out
	}
	c := gather(p.plan, o.Run.Cell, []*Outcome{o}, levelOf(p.plan))
	for i := range p.also {
		switch s := p.also[i].judge(&c).State; {
		case s == Missed:
			out.Own = Missed
		case s == Undecided && out.Own == Held:
			out.Own = Undecided
		}
	}
	return out
}

// rounds is how many answers a user has at least in a run that tells a rate: before that a
// closed loop fills and empties, and fewer answers a second come than the server gives.
const rounds = 2

// pace is how fast requests were answered, and how long they took: in the steady window, without the beginning and the
// end, in which fewer are under way than were asked for, and else over the whole run.
func (o *Outcome) pace() (rate, latency float64) {
	for i := range o.Run.Cell.Resolved.Benchmark.Phases {
		p := &o.Run.Cell.Resolved.Benchmark.Phases[i]
		if p.Kind == "profiling" && float64(o.OK) < rounds*float64(p.Concurrency) {
			return 0, 0
		}
	}
	for _, window := range []string{Steady, Full} {
		if st, ok := o.stat(window, metrics.RequestThroughput); ok {
			rate = st.Avg
			if st, ok = o.stat(window, metrics.RequestLatency); ok {
				latency = st.Avg
			}
			return rate, latency
		}
	}
	return 0, 0
}

// goodTallies are the good requests among those attempted: without those of which the end
// of the run left it open, and with them.
func goodTallies(o *Outcome) (worst, best stats.Tally) {
	good, _ := o.stat(Full, metrics.GoodRequestFraction)
	return tallies(o, TierGood{Share: good.Avg, Open: good.Open, Effect: o.GoodEffect})
}

func tallies(o *Outcome, good TierGood) (worst, best stats.Tally) {
	of := float64(o.Counts().In(record.Attempted))
	worst = stats.Tally{Hits: good.Share * of, Of: of, Effect: good.Effect}
	best = worst
	best.Hits += good.Open * of
	return worst, best
}

// wrongBy names the checks that make numbers of a run invalid.
func wrongBy(t validity.Taints) string {
	by := map[string]bool{}
	for _, x := range t {
		if x.Level == validity.Wrong && x.Check != validity.Backlog {
			by[x.Check] = true
		}
	}
	if len(by) == 0 {
		return ""
	}
	return " by " + strings.Join(slices.Sorted(maps.Keys(by)), ", ")
}
