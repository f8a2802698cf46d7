// Package quick makes the experiments of aiperf quick: two short looks at a server, and
// from what they gave the search for the number of users that it serves within limits.
//
// In go an Ask and the Looks so far, out comes an experiment as YAML, as a person would
// write it. First asks one request at a time, Levels 1, 4 and 16 users, and Search looks
// for the limit with what is left of the time. Nothing here sends anything.
package quick

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/search"
)

// Ask is what a person wants to know, and of which server.
type Ask struct {
	URL, Model, Type string
	Streams, Text    bool     // whether the endpoint type streams, and answers with text
	Where            []string // limits of a good request; nil: those that follow from the first look
	SLOs             bool     // the command line sets limits itself
	Given            Lengths  // that the command line sets, 0 for one that it does not; every look has them
	Budget           time.Duration
	// Seed is that of the looks. Each execution has its own, as the search has: prompts of an
	// earlier one would be answered from the server's prefix cache.
	Seed int64
}

// Lengths are those of a request, in tokens.
type Lengths struct{ ISL, OSL int }

// Look is what one load gave. Times are medians in ms, 0 where there is none.
type Look struct {
	Users, Good               float64 // the share of all attempted requests
	OK                        int64
	First, Gap, Latency, Rate float64 // time to first token, between tokens; requests per second
	Tokens                    float64 // of an answer, on average
}

// The smallest and the largest budget. Below the smallest the looks alone fill it.
const (
	Least = 20 * time.Second
	Most  = 24 * time.Hour
)

// The parts of the budget: the looks, and what ending takes. The rest is for probes.
const (
	firstPart, levelPart, endPart = 0.05, 0.04, 0.05
	firstWait                     = 0.25                   // for the very first answer, which most servers give at once
	usualProbes                   = 18                     // of a search, when the lengths are chosen
	perProbe                      = 200 * time.Millisecond // beside its requests
	perLatency                    = 12                     // a probe is so many idle latencies long
)

// Levels of the second look, in users.
func Levels() []int { return []int{1, 4, 16} }

// asked are the lengths of the first look.
var asked = Lengths{256, 64}

// First is the first look: one request at a time.
func (a *Ask) First() []byte {
	return a.experiment("quick first look", asked, 64, nil,
		fmt.Sprintf("{name: warmup, type: concurrency, concurrency: 1, requests: 1, duration: %s, grace_period: %s}",
			seconds(a.part(firstPart)), seconds(a.part(firstWait))), // a server that has to wake up first
		fmt.Sprintf("{name: profiling, type: concurrency, concurrency: 1, requests: 5, duration: %s, grace_period: %s}",
			seconds(a.part(firstPart)), seconds(a.part(2*firstPart))), "")
}

func (a *Ask) part(share float64) time.Duration {
	return time.Duration(share * float64(a.Budget))
}

// Patience is how long the first look waits for an answer.
func (a *Ask) Patience() time.Duration { return a.part(3 * firstPart) }

// Fit are lengths that leave a probe room: an idle server answers a request in a twelfth
// of it, so that few users have enough requests, and one at the limits in two fifths. No
// answer is longer than those that the server gives.
func (a *Ask) Fit(first Look) Lengths {
	l := asked
	probe := float64(a.probe()) / float64(time.Millisecond)
	room := probe / perLatency
	if a.Given.ISL > 0 {
		l.ISL = a.Given.ISL
	} else if first.First > room/2 { // reading prompts takes time in proportion
		l.ISL = max(16, int(float64(l.ISL)*room/2/first.First))
		first.First = room / 2
	}
	if !a.Text {
		return l
	}
	if a.Given.OSL > 0 {
		l.OSL = a.Given.OSL
		return l
	}
	gap := first.Gap
	if gap == 0 && first.Tokens > 0 {
		gap = first.Latency / first.Tokens
	}
	if gap > 0 {
		l.OSL = int((room - first.First) / gap)
	}
	if wait, each := a.atLimits(first); each > 0 {
		l.OSL = min(l.OSL, int((0.4*probe-wait)/each)+1)
	}
	most := 256
	if first.Tokens > 0 && first.Tokens < 0.9*float64(asked.OSL) { // it ends by itself
		most = int(math.Ceil(first.Tokens))
	}
	l.OSL = min(max(l.OSL, 8), most)
	return l
}

// atLimits are the times in ms that a request may take to its first token, or as a whole,
// and for each further token.
func (a *Ask) atLimits(first Look) (wait, each float64) {
	wait, each = 2*first.First, 2*first.Gap
	for _, text := range a.Limits(first) {
		l, ok := schema.ParseLimit(text)
		switch {
		case !ok || l.Above:
		case l.Tag == metrics.TimeToFirstToken:
			wait = l.Value
		case l.Tag == metrics.InterTokenLatency:
			each = l.Value
		case l.Tag == metrics.RequestLatency:
			return l.Value, 0
		}
	}
	return wait, each
}

// slow is how long a request of lengths l takes at the limits; where they are far away it
// is as much as a probe has room for.
func (a *Ask) slow(first Look, l Lengths) time.Duration {
	wait, each := a.atLimits(first)
	idle := a.Idle(first, l)
	most := max(5*idle, a.probe()/2, 700*time.Millisecond)
	return min(most, max(idle, time.Duration((wait+each*float64(max(l.OSL-1, 0)))*float64(time.Millisecond))))
}

// probe is how long a probe is with all that belongs to it, about.
func (a *Ask) probe() time.Duration {
	return a.part(1-firstPart-4*levelPart-endPart) / usualProbes
}

// Limits are those of a good request where nobody gave any: what people notice, or twice
// what the server takes when it is idle.
func (a *Ask) Limits(first Look) []string {
	if a.Where != nil || a.SLOs {
		return a.Where
	}
	limit := func(tag string, usual, idle float64) string {
		return fmt.Sprintf("%s < %g", tag, max(usual, round(2*idle)))
	}
	if first.First == 0 {
		return []string{limit(metrics.RequestLatency, 1000, first.Latency)}
	}
	out := []string{limit(metrics.TimeToFirstToken, 500, first.First)}
	if first.Gap > 0 {
		out = append(out, limit(metrics.InterTokenLatency, 50, first.Gap))
	}
	return out
}

// round is v with two digits, rounded up.
func round(v float64) float64 {
	if v <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Ceil(v/unit-1e-9) * unit
}

// warm is a warmup with the users of the measured phase, so that measuring begins when the
// server is as busy as it will be.
func warm(d time.Duration) string {
	return fmt.Sprintf(`{name: warmup, type: concurrency, concurrency: "{{ phases.profiling.concurrency }}", duration: %s, grace_period: %s}`,
		seconds(d), seconds(4*d))
}

// Levels is the second look, at lengths l.
func (a *Ask) Levels(first Look, l Lengths) []byte {
	idle := a.Idle(first, l)
	var users []string
	for _, n := range Levels() {
		users = append(users, strconv.Itoa(n))
	}
	d := max(a.part(levelPart), 3*idle)
	return a.experiment("quick levels", l, 256, a.Limits(first), warm(max(idle, 300*time.Millisecond)),
		fmt.Sprintf("{name: profiling, type: concurrency, concurrency: 1, duration: %s, grace_period: %s, seamless: true}",
			seconds(d), seconds(a.slow(first, l))),
		fmt.Sprintf("sweep: {type: grid, parameters: {concurrency: [%s]}}\nrandom_seed: %d\n", strings.Join(users, ", "), a.Seed))
}

// Idle is how long a request of lengths l takes when nothing else runs.
func (a *Ask) Idle(first Look, l Lengths) time.Duration {
	ms := first.Latency
	if first.First > 0 {
		ms = first.First + first.Gap*float64(max(l.OSL-1, 0))
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// Chosen is the search that follows from the looks, and what a person is told of it.
type Chosen struct {
	Text   []byte
	Low    int // where it begins
	High   int
	Share  float64
	Length time.Duration // of a probe's measured phase
	Probes int           // that the time has room for, about
	Needs  time.Duration // the budget that a server as slow as this takes; 0 where it is enough
}

// Bounds of a search for users.
const (
	mostUsers  = 512
	resolution = 0.1
	// enough is how many requests of a run show a share of 0.95 where all are good.
	enough = 80
	fewest = 5 // probes, of which four see both ends twice
)

// Search is the search with the time that is left of the budget.
func (a *Ask) Search(first Look, levels []Look, l Lengths, left time.Duration) Chosen {
	c := Chosen{Low: 1, High: mostUsers, Share: 0.95}
	few, fast := levels[0], levels[0]
	for i, at := range levels {
		if at.Rate > fast.Rate {
			fast = at
		}
		switch {
		case at.Good >= 0.99 && c.High == mostUsers:
			if i > 0 {
				few = levels[i-1]
			}
		case at.Good < 0.8 && c.High == mostUsers:
			c.High = max(2, 2*int(at.Users))
		}
	}
	left = max(left-a.part(endPart), a.part(0.2))
	idle, slow := a.Idle(first, l), a.slow(first, l)
	warmup := max(idle, slow/3, 300*time.Millisecond).Round(10 * time.Millisecond)
	beside := warmup + slow/2 + perProbe // the last answers of most probes take less than at the limits
	terms := search.Terms{
		Low: 1, Start: float64(few.Users), High: float64(min(c.High, 64*int(few.Users))), Whole: true,
		Share: c.Share, Resolution: resolution, Probes: 1000,
	}
	c.Probes = search.Look(terms, 0).Usual + 3 // some loads take a second run
	whole := left / time.Duration(c.Probes)
	c.Length = max(whole-beside, 3*idle, 500*time.Millisecond).Round(10 * time.Millisecond)
	if c.Probes = int(left / (c.Length + beside)); c.Probes < fewest {
		c.Needs = a.Budget + time.Duration(usualProbes)*(c.Length+beside)
		return c
	}
	c.Low = max(1, int(few.Users))
	at := slices.IndexFunc(levels, func(x Look) bool { return x.Users == few.Users })
	for i := at + 1; i < len(levels) && levels[i].Good >= 0.99 && c.Length.Seconds()*levels[i-1].Rate < enough; i++ {
		c.Low = int(levels[i].Users) // fewer users have too few requests to show anything
	}
	if low := levels[slices.IndexFunc(levels,
		func(x Look) bool { return int(x.Users) == c.Low })]; 3*c.Length.Seconds()*low.Rate < enough {
		c.Share = 0.9
	}
	entries := min(max(int(4*fast.Rate*(c.Length+warmup).Seconds()), 256), 8192)
	limits := a.Limits(first)
	quoted := make([]string, len(limits))
	for i, w := range limits {
		quoted[i] = strconv.Quote(w)
	}
	where := ""
	if len(limits) > 0 {
		where = "\n  where: [" + strings.Join(quoted, ", ") + "]"
	}
	c.Text = a.experiment("quick", l, entries, nil, warm(warmup),
		fmt.Sprintf("{name: profiling, type: concurrency, concurrency: %d, duration: %s, grace_period: %s, seamless: true}",
			c.Low, seconds(c.Length), seconds(slow*6/5)),
		fmt.Sprintf("search:\n  path: concurrency\n  range: [1, %d]\n  start: %d%s\n  share: %g\n  resolution: %g\n  budget: {time: %s, probes: %d}\n",
			c.High, c.Low, where, c.Share, resolution, seconds(left-c.Length-beside), max(4, 2*c.Probes)))
	return c
}

// experiment is a file with one warmup and one measured phase.
func (a *Ask) experiment(name string, l Lengths, entries int, slos []string, warmup, measured, rest string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\nbenchmark:\n  model: %s\n  endpoint: {type: %s, streaming: %t, url: %s}\n", name,
		strconv.Quote(a.Model), strconv.Quote(a.Type), a.Streams, strconv.Quote(a.URL))
	prompts := fmt.Sprintf("isl: %d", l.ISL)
	if a.Text {
		prompts += fmt.Sprintf(", osl: {mean: %d, stddev: %.3g}", l.OSL, float64(l.OSL)/5) // users do not march in step
	}
	fmt.Fprintf(&b, "  tokenizer: {name: builtin}\n  datasets: [{name: default, type: synthetic, entries: %d, prompts: {%s}}]\n  phases:\n  - %s\n  - %s\n",
		entries, prompts, warmup, measured)
	for i, s := range slos {
		if i == 0 {
			b.WriteString("  slos:\n")
		}
		tag, value, _ := strings.Cut(strings.NewReplacer("<=", "<", ">=", ">", ">", "<").Replace(s), "<")
		fmt.Fprintf(&b, "    %s: %s\n", strings.TrimSpace(tag), strings.TrimSpace(value))
	}
	b.WriteString(rest)
	return []byte(b.String())
}

// seconds is d to the millisecond; Seconds would add the whole ones to the rest and give 1.1400000000000001.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Round(time.Millisecond).Milliseconds())/1e3, 'f', -1, 64)
}

// LooksOf are the looks of an experiment's cells, in their order.
func LooksOf(r *decide.Results) (looks []Look) {
	for i := range r.Cells {
		c := &r.Cells[i]
		get := func(tag, stat string) float64 {
			e, ok := c.Full.Get(decide.Key{Tag: tag, Stat: stat})
			if !ok || math.IsNaN(e.Mean) || math.IsInf(e.Mean, 0) {
				return 0
			}
			return e.Mean
		}
		l := Look{
			Users: 1, OK: c.OK, Good: get(metrics.GoodRequestFraction, "avg"),
			First: get(metrics.TimeToFirstToken, "p50"), Gap: get(metrics.InterTokenLatency, "p50"),
			Latency: get(metrics.RequestLatency, "p50"),
			Rate:    get(metrics.RequestThroughput, "avg"), Tokens: get(metrics.OutputSequenceLength, "avg"),
		}
		if len(c.Cell.Point) > 0 {
			l.Users = c.Cell.Load()
		}
		looks = append(looks, l)
	}
	return looks
}
