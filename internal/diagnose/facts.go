package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks"
)

// facts are the numbers of one cell.
type facts struct {
	book   *book
	cell   Cell
	trials []trial
	values map[string]float64

	lower, higher, lowest *facts            // cells that differ in load alone; nil where there is none
	lengths               []*facts          // cells that differ in ISL alone, the shortest first, with this one
	checks                map[string]string // that tripped in this cell, or over the plan, with what they say
	made                  map[string]bool   // checks that were made
	wrong                 bool              // one of clientChecks makes a run INVALID
}

// least is how many requests a mean of the server's and one of the client's must be of,
// to be held against each other.
const least = 20

// get is a fact of the cell.
func (f *facts) get(name string) float64 {
	v, ok := f.values[name]
	if !ok {
		f.values[name] = math.NaN() // a fact that rests on itself is not known
		v = f.book.fact(name).of(f)
		f.values[name] = v
	}
	return v
}

// book is both catalogues.
type book struct {
	facts map[string]*Fact
	rules []Rule
}

func newBook() *book {
	b := &book{map[string]*Fact{}, Rules()}
	for _, f := range Facts() {
		b.facts[f.Name] = &f
	}
	return b
}

// fact is the row of a name that a rule has.
func (b *book) fact(name string) *Fact {
	if f := b.facts[name]; f != nil {
		return f
	}
	panic("no fact " + name) // the rules are ours
}

// factsOf arranges the cells by load.
func factsOf(cells []Cell, e *Evidence) []*facts {
	book := newBook()
	all := make([]*facts, len(cells))
	groups, lengths := map[string][]*facts{}, map[string][]*facts{}
	for i, c := range cells {
		all[i] = &facts{
			book: book, cell: c, values: map[string]float64{}, checks: map[string]string{}, made: e.all,
			wrong: e.wrong[c.Index],
		}
		for check, says := range e.plan {
			all[i].checks[check] = says
		}
		for check, says := range e.checks[c.Index] {
			all[i].checks[check] = says
		}
		if c.Axis != "" {
			groups[c.Group] = append(groups[c.Group], all[i])
		}
		if c.ISL > 0 {
			key := fmt.Sprintf("%s\x00%g", c.Rest, c.Load)
			lengths[key] = append(lengths[key], all[i])
		}
	}
	for _, g := range lengths {
		slices.SortStableFunc(g, func(a, b *facts) int { return cmp.Compare(a.cell.ISL, b.cell.ISL) })
		for _, f := range g {
			f.lengths = g
		}
	}
	byIndex := map[int]*facts{}
	for _, f := range all {
		byIndex[f.cell.Index] = f
	}
	places := make([]sinks.Place, 0, len(e.runs))
	for at := range e.runs {
		places = append(places, at)
	}
	slices.SortFunc(places, func(a, b sinks.Place) int { return cmp.Or(a.Cell-b.Cell, a.Trial-b.Trial) })
	for _, at := range places {
		if f := byIndex[at.Cell]; f != nil {
			f.trials = append(f.trials, e.runs[at].trial())
		}
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b *facts) int { return cmp.Compare(a.cell.Load, b.cell.Load) })
		for i, f := range g {
			if f.lowest = g[0]; i > 0 {
				f.lower, g[i-1].higher = g[i-1], f
			}
		}
	}
	return all
}

// failures is how many requests failed in all trials, and what with; "" where no check says so. The
// check speaks of one trial.
func (f *facts) failures() string {
	said := f.checks[validity.Errors]
	if said == "" || len(f.trials) < 2 {
		return said
	}
	failed, answered := 0.0, 0.0
	for i := range f.trials {
		whole := cmp.Or(f.trials[i].whole, &f.trials[i])
		n := zero(whole.of(metrics.ErrorRequestCount))
		failed, answered = failed+n, answered+n+zero(whole.of(metrics.RequestCount))
	}
	_, with, known := strings.Cut(said, ": ")
	if failed == 0 {
		return said
	}
	said = fmt.Sprintf("%s of %s failed", words.Whole(int64(failed)), words.Count(int64(answered), "request"))
	if known {
		said += ": " + with
	}
	return said
}

// mean is that over the trials which have the number.
func (f *facts) mean(of func(*trial) float64) float64 {
	sum, n := 0.0, 0
	for i := range f.trials {
		if v := of(&f.trials[i]); !math.IsNaN(v) && !math.IsInf(v, 0) {
			sum, n = sum+v, n+1
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

func (f *facts) client(tag string) float64 {
	return f.mean(func(t *trial) float64 { return t.of(tag) })
}

func (f *facts) gauge(word, stat string) float64 {
	return f.mean(func(t *trial) float64 { return t.gauge(word, stat) })
}

// tripped is 1 where a check did, 0 where it did not, NaN where it was not made.
func (f *facts) tripped(checks ...string) float64 {
	made := math.NaN()
	for _, c := range checks {
		if f.checks[c] != "" {
			return 1
		}
		if f.made[c] {
			made = 0
		}
	}
	return made
}

// clientChecks say that the client could not bring the load, the plainest first.
var clientChecks = []string{"offered_rate", "concurrency_held", "turnaround", "dispatch_lateness", "client_errors"}

func (f *facts) clientLimits() float64 { return f.tripped(clientChecks...) }

// clientSlight is 1 where these checks leave every run usable: what is missing of the load is below a tenth.
func (f *facts) clientSlight() float64 {
	if v := f.clientLimits(); v == 1 && f.wrong {
		return 0
	} else {
		return v
	}
}

// foreign is above 0 only for what the edges of the window cannot explain: a page is read
// some time before the window begins, and after it ends, and what a warmup sent last may be answered
// in it, which is as many requests as are in flight.
func (f *facts) foreign() float64 {
	return f.mean(func(t *trial) float64 {
		own := t.own()
		if !(own >= least) || !(t.server[looks] >= leastLooks) {
			return math.NaN()
		}
		edges := 2*own/(t.server[looks]-1) + zero(value(t.client, metrics.EffectiveConcurrency+".max"))
		return max(0, t.says("e2e", "count")-own-edges) / own
	})
}

func (f *facts) queueShare() float64 {
	return f.mean(func(t *trial) float64 {
		if n := t.says("e2e", "count"); n > 0 && t.says("queue_time", "count") > 0 {
			return min(1, t.each("queue_time")/t.each("e2e"))
		}
		waiting, running := t.gauge("waiting", "avg"), t.gauge("running", "avg")
		if waiting+running == 0 {
			return 0
		}
		return waiting / (waiting + running)
	})
}

// runningCap also knows short runs, in which the gauges were read a few times each: what was seen at
// their edges is less than what ran in them, so that two loads reach the same most only at a cap.
func (f *facts) runningCap() float64 {
	if f.get("running_flat") >= flat {
		return f.get("running_most")
	}
	most, looked := f.mostSeen()
	for _, other := range []*facts{f.lower, f.higher} {
		if other == nil || !(f.get("queue_share") >= queueLimit && other.get("queue_share") >= queueLimit) {
			continue
		}
		sent := min(f.cell.Load, other.cell.Load) // at once; an open loop's is a rate
		m, n := other.mostSeen()
		if m == most && m > 0 && looked+n >= leastLooks && (m < sent || f.cell.Rate > 0) {
			return most
		}
	}
	return math.NaN()
}

// mostSeen is the most that ran at once in any trial, and how often that was looked at in all of them.
func (f *facts) mostSeen() (most, looked float64) {
	for i := range f.trials {
		if v := f.trials[i].says("running", "max"); v > most {
			most = v
		}
		looked += zero(value(f.trials[i].server, looks))
	}
	return most, looked
}

func (f *facts) preempted() float64 {
	return f.mean(func(t *trial) float64 {
		n := t.says("e2e", "count")
		if math.IsNaN(n) {
			n = t.of(metrics.RequestThroughput) * t.says("generated_tokens", "sum") / t.says("generated_tokens", "rate")
		}
		return t.says("preemptions", "sum") / n
	})
}

// outside is over the whole run, at whose ends nothing is in flight, so that both means
// are of the same requests; where they are not, it is not known.
func (f *facts) outside() float64 {
	return f.mean(func(t *trial) float64 {
		if t.whole != nil {
			t = t.whole
		}
		if !t.same("ttft") {
			return math.NaN()
		}
		return t.of(metrics.TimeToFirstToken) - t.each("ttft")
	})
}

// same reports whether a histogram of the server is of the client's requests.
func (t *trial) same(word string) bool {
	n, own := t.says(word, "count"), t.own()
	return t.pages == 1 && n >= least && math.Abs(n-own) <= 0.05*own+1
}

// own is how many requests the run had answered, or not.
func (t *trial) own() float64 {
	return t.of(metrics.RequestCount) + zero(t.of(metrics.ErrorRequestCount)) + zero(t.of(metrics.CutRequestCount))
}

func (f *facts) prefill() float64 { return f.mean((*trial).prefill) }

func (t *trial) prefill() float64 {
	if v := t.each("prefill_time"); !math.IsNaN(v) {
		return v
	}
	return t.each("ttft") - t.each("queue_time")
}

func (f *facts) itl() float64 {
	return f.mean(func(t *trial) float64 {
		if v := t.each("itl"); !math.IsNaN(v) {
			return v
		}
		return t.of(metrics.InterTokenLatency)
	})
}

// against is a fact divided by that of the lowest load.
func (f *facts) against(name string) float64 {
	if f.lowest == nil || f.lowest == f {
		return math.NaN()
	}
	return f.get(name) / f.lowest.get(name)
}

func gain(from, to *facts) float64 {
	if from == nil || to == nil || !(from.cell.Load > 0) || !(to.cell.Load > from.cell.Load) {
		return math.NaN()
	}
	return math.Log(to.get("rate")/from.get("rate")) / math.Log(to.cell.Load/from.cell.Load)
}

func (f *facts) keptUp() float64 {
	if f.cell.Rate == 0 {
		return math.NaN()
	}
	if f.tripped("backlog") == 1 || !(f.get("rate") >= 0.9*f.cell.Rate) {
		return 0
	}
	return 1
}

func (f *facts) hitSpread() float64 {
	low, high := math.NaN(), math.NaN()
	for i := range f.trials {
		if v := f.trials[i].says("prefix_hit_rate", "avg"); !math.IsNaN(v) {
			if !(low <= v) {
				low = v
			}
			if !(high >= v) {
				high = v
			}
		}
	}
	if len(f.trials) < 2 {
		return math.NaN()
	}
	return high - low
}

// told is a fact as people read it.
func (f *facts) told(name string) string {
	v := f.get(name)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "not known"
	}
	switch f.book.fact(name).Unit {
	case "share":
		return percent(v)
	case "ms":
		return words.Millis(v)
	case "factor":
		return short(v) + "×"
	case "exponent":
		if name == "isl_growth" {
			a, b := f.lengths[0], f.lengths[len(f.lengths)-1]
			return fmt.Sprintf("%s (%s at ISL %s, %s at ISL %s)", short(v), a.told("prompt_ms"), short(a.cell.ISL),
				b.told("prompt_ms"), short(b.cell.ISL))
		}
		from, to := f.lower, f
		if name == "gain_next" {
			from, to = f, f.higher
		}
		return fmt.Sprintf("%s× the throughput at %s× the load", short(to.get("rate")/from.get("rate")),
			short(to.cell.Load/from.cell.Load))
	case "":
		if v > 0 {
			return "yes"
		}
		return "no"
	}
	return short(v) + " " + f.book.fact(name).Unit
}

// short is a number with two digits, as many as a diagnosis rests on; whole numbers as
// they are.
func short(v float64) string {
	if v == math.Trunc(v) || math.Abs(v) >= 100 {
		return words.Grouped(v)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// percent is a share of one without decimals.
func percent(v float64) string {
	switch p := 100 * v; {
	case p < 0.05:
		return "0 %"
	case p < 1:
		return "less than 1 %"
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}
