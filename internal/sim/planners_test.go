package sim

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep/search"
	"aiperf.dev/aiperf/sweep/search/planner"
)

// goodShare is the share of requests that must be good; AIPerf's planners are given the
// percentile that says the same.
const goodShare = 0.95

// capped is what bounds the load of a server: it carries about n users.
type capped struct {
	name, metric string
	words        func(n int) string
	steps        bool                                        // its times are those of an engine's steps
	pace         func(load, n float64, noise *noise) float64 // nil: 1
}

// noise is what runs of a server are like. A server whose times are random has heavier
// tails or is steeper in the load, so that the share falls as fast as elsewhere.
type noise struct {
	name, words string
	steps       string  // the same of an engine's steps, "" for none
	apart       float64 // standard deviation of runs, on the logit of the share
	gamma       float64 // of a service curve: times grow as load^gamma
}

func bounds() []capped {
	return []capped{
		{
			name: "service curve", metric: metrics.InterTokenLatency,
			words: func(int) string { return "ttft=40ms&itl=5ms" },
			pace: func(load, n float64, noise *noise) float64 {
				return slack * math.Pow(load/n, noise.gamma)
			},
		},
		{
			name: "batch cap", metric: metrics.TimeToFirstToken,
			words: func(n int) string { return fmt.Sprintf("ttft=40ms&itl=1ms&workers=%d", n) },
		},
		{
			name: "KV blocks", metric: metrics.RequestLatency, steps: true,
			words: func(n int) string {
				return fmt.Sprintf("step=5ms&prefill=0.0001ms&batch=256&block=16&kv_blocks=%d", n)
			},
		},
	}
}

func noises() []noise {
	return []noise{
		{name: "deterministic", gamma: 0.54},
		{"noisy", "&cv=0.3", "&jitter=0.3", 0, 0.54},
		{"runs differ by 0.3", "&cv=0.3", "&jitter=0.3", 0.3, 0.54},
		{"runs differ by 0.6", "&cv=0.3", "&jitter=0.3", 0.6, 0.54},
		{"heavy tails", "&cv=1.5", "&jitter=1.5", 0, 2},
		{"neighbours alike", "&cv=0.3&ar=0.8", "", 0, 0.54},
	}
}

// slack is the limit over the 95th percentile of an idle server.
const slack = 1.5

// warm is how many requests go before those of a run: of an engine whose sequences are
// preempted the first hundred are answered as none later is.
func (k *known) warm(users int) int {
	if k.capped.steps {
		return max(2*users, 200)
	}
	return 2 * users
}

// known is a server whose truth is known: by runs that are as long as all probes of a search.
type known struct {
	capped
	noise
	n     int
	limit float64 // ms
	// holds is the largest load at which the share is surely no less than asked, fails the
	// smallest at which it surely is: what lies between may be called either.
	holds, fails float64
	spread       float64 // of the logarithm of a run's times that moves the logit by noise.apart
}

const (
	longRun   = 4000
	someRuns  = 20 // at a load, to know its share
	manyRuns  = 200
	probeSize = 200
	coarse    = 300 // requests of a run of smooth_isotonic at its least precision
	mostUsers = 256
)

// at is the server with a seed.
func (k *known) at(seedOf int) server {
	random := k.noise.words
	if k.capped.steps {
		random = k.noise.steps
	}
	s := server{words: fmt.Sprintf("%s%s&seed=%d", k.capped.words(k.n), random, seedOf)}
	s.pace = func(load float64, run int) float64 {
		f := math.Exp(k.spread * seed.Stream(int64(seedOf), fmt.Sprintf("sim/planners/%d", run)).NormFloat64())
		if k.capped.pace != nil {
			f *= k.capped.pace(load, float64(k.n), &k.noise)
		}
		return f
	}
	return s
}

// learn finds the truth of a server.
func (k *known) learn(t *testing.T) {
	t.Helper()
	long := func(load int, slower float64) []answer {
		s := k.at(1)
		pace := s.pace
		s.pace = func(load float64, run int) float64 { return slower * pace(load, run) }
		out, _ := s.open(t).run(t, load, k.warm(load), longRun, 0)
		return out
	}
	idle := k.at(1)
	if k.capped.pace != nil {
		idle.pace = nil
	}
	alone, _ := idle.open(t).run(t, 1, 2, longRun, 0)
	k.limit = slack * p95(alone, k.metric)
	if k.noise.words == "" {
		k.limit += 1e-3 // a load at which all times equal the limit keeps it
	}
	// The share of runs like the probes of a search: requests of an engine without room for
	// all sequences are late in bunches, so that one long run shows little of them.
	tell := func(load int) (low, high float64) {
		if k.noise.words == "" {
			y := share(long(load, 1), k.metric, k.limit)
			return y.Hits / y.Of, y.Hits / y.Of
		}
		b := k.at(1).open(t)
		var of []stats.Tally
		for {
			for range someRuns {
				answers, _ := b.run(t, load, k.warm(load), probeSize, len(of))
				of = append(of, share(answers, k.metric, k.limit))
			}
			e := stats.Share(of, 0.99)
			if e.Low >= goodShare || e.High < goodShare || len(of) >= manyRuns {
				return e.Low, e.High
			}
		}
	}
	k.bracket(tell)
	if k.apart > 0 {
		logit := func(slower float64) float64 {
			y := share(long(int(k.holds), slower), k.metric, k.limit)
			p := (y.Hits + 0.5) / (y.Of + 1)
			return math.Log(p / (1 - p))
		}
		k.spread = k.apart / max((logit(math.Exp(-0.05))-logit(math.Exp(0.05)))/0.1, 1)
		k.bracket(tell) // some runs are worse by more than others are better
	}
}

// bracket finds the loads between which the limit lies, by what tells how large the share
// is at a load.
func (k *known) bracket(tell func(load int) (low, high float64)) {
	lo, hi := 1, mostUsers
	for hi-lo > 1 { // the largest load that surely holds
		mid := int(math.Round(math.Sqrt(float64(lo * hi))))
		mid = min(max(mid, lo+1), hi-1)
		if low, _ := tell(mid); low >= goodShare {
			lo = mid
		} else {
			hi = mid
		}
	}
	k.holds = float64(lo)
	fails := func(load int) bool { // surely
		_, high := tell(load)
		return high < goodShare
	}
	if !fails(hi) { // the smallest load above it that does
		lo = hi
		for hi < mostUsers && !fails(hi) {
			lo, hi = hi, min(mostUsers, hi+hi/4+1)
		}
		for hi-lo > 1 {
			if mid := (lo + hi) / 2; fails(mid) {
				hi = mid
			} else {
				lo = mid
			}
		}
	}
	k.fails = float64(hi)
}

// bracketed is what a search says.
type bracketed struct {
	holds, fails float64 // 0 and +Inf where there is none
	named        float64 // the load that is the answer
	requests     int
	theirs       int // as AIPerf counts them, whose monotonic_sla measures every load twice
}

// right reports whether the bracket holds the limit.
func (k *known) right(b bracketed) bool { return b.holds < k.fails && b.fails > k.holds }

// kept reports whether the load that is the answer keeps the limit.
func (k *known) kept(b bracketed) bool { return b.named < k.fails }

// ours is a search with this program's rules.
func ours(t *testing.T, k *known, n int, resolution float64) bracketed {
	t.Helper()
	b := k.at(n).open(t)
	terms := search.Terms{
		Low: 1, High: mostUsers, Whole: true, Share: goodShare, Resolution: resolution, Probes: 40,
	}
	var runs []search.Run
	for {
		step := search.Next(terms, runs)
		if a := step.Answer; a != nil {
			out := bracketed{fails: math.Inf(1), requests: probeSize * len(runs)}
			if a.Holds != nil {
				out.holds, out.named = a.Holds.Load, a.Holds.Load
			}
			if a.Fails != nil {
				out.fails = a.Fails.Load
			}
			if !k.right(out) {
				t.Logf("wrong: %s, %s, n %d, seed %d: %g holds, %g fails; the truth is between %g and %g, a spread of %.3g:%s",
					k.capped.name, k.noise.name, k.n, n, out.holds, out.fails, k.holds, k.fails, k.spread, probesOf(a))
			}
			return out
		}
		of, _ := b.run(t, int(step.Load), k.warm(int(step.Load)), probeSize, len(runs))
		y := share(of, k.metric, k.limit)
		runs = append(runs, search.Run{Load: step.Load, Worst: y, Best: y, Own: search.Holds})
	}
}

// probesOf is each run of a search: its load, how many requests were good, and what was
// decided then.
func probesOf(a *search.Answer) string {
	var b strings.Builder
	for i, r := range a.Runs {
		fmt.Fprintf(&b, " %g: %g %s,", r.Load, r.Worst.Hits, a.After[i])
	}
	return strings.TrimSuffix(b.String(), ",")
}

// planned is a search with one of AIPerf's planners, with its defaults.
func planned(t *testing.T, k *known, n int, name string, requests int) bracketed {
	t.Helper()
	b := k.at(n).open(t)
	terms := planner.Terms{
		Planner: name, Space: []planner.Dimension{{Low: 1, High: mostUsers, Whole: true}},
		Goals: []planner.Goal{{Maximize: true}}, Limited: true, Most: 30, Initial: 5, Patience: 10, Window: 8,
		Flat: 0.01, Seed: int64(n), Stability: 2, Precision: 0.05,
	}
	var seen []planner.Seen
	for {
		step := planner.Next(terms, seen)
		if step.Ended != "" {
			break
		}
		load := step.At[0]
		of, rate := b.run(t, int(load), k.warm(int(load)), requests, len(seen))
		margin := (k.limit - p95(of, k.metric)) / k.limit
		seen = append(seen, planner.Seen{
			At: step.At, Goals: []float64{4 * rate}, Feasible: margin > 0, Margins: []float64{margin},
		})
	}
	out := bracketed{fails: math.Inf(1), requests: requests * len(seen), theirs: requests * len(seen)}
	if name == "monotonic_sla" {
		runs := map[float64]int{}
		for _, x := range seen {
			runs[x.At[0]]++
		}
		out.theirs = 0
		for _, n := range runs {
			out.theirs += requests * max(n, terms.Stability)
		}
	}
	if x := planner.BoundaryOf(terms, seen); x != nil {
		if x.Holds != nil {
			out.holds, out.named = seen[*x.Holds].At[0], seen[*x.Holds].At[0]
		}
		if x.Fails != nil {
			out.fails = seen[*x.Fails].At[0]
		}
	}
	if row, _ := planner.Named(name); !row.Line {
		out.named = seen[planner.Best(&terms, seen)[0]].At[0]
	}
	return out
}

// searched is what many searches of one server say.
type searched struct {
	n, right, kept, ended int
	costs, widths         []float64
	theirs                []float64
}

func (s *searched) add(k *known, b bracketed) {
	s.n++
	if k.right(b) {
		s.right++
	}
	if k.kept(b) {
		s.kept++
	}
	if b.holds > 0 && !math.IsInf(b.fails, 1) {
		s.ended++
	}
	s.costs = append(s.costs, float64(b.requests))
	s.theirs = append(s.theirs, float64(b.theirs))
	s.widths = append(s.widths, b.fails/max(b.holds, 0.5)-1)
}

func (s *searched) cost() float64  { return median(s.costs) }
func (s *searched) width() float64 { return median(s.widths) }

func median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	return xs[(len(xs)-1)/2]
}

func (s *searched) String() string {
	width := "open"
	if w := s.width(); !math.IsInf(w, 0) {
		width = fmt.Sprintf("%.0f %%", 100*w)
	}
	return fmt.Sprintf("%d of %d, %d · %s · %s", s.right, s.n, s.kept, words.Whole(int64(s.cost())), width)
}

// Beside AIPerf's planners, on the same servers: a bracket of this program's holds the limit
// in at least 95 % of the searches. docs/simulations.md has what each costs.
func TestSearchBesidePlanners(t *testing.T) {
	t.Parallel()
	for _, where := range bounds() {
		for _, how := range noises() {
			t.Run(where.name+", "+how.name, func(t *testing.T) {
				t.Parallel()
				if raced || *searches <= 2 && how.words != "" {
					t.Skip("it takes long: -searches")
				}
				if where.steps && how.steps == "" && how.words != "" {
					t.Skip("its steps have no neighbours that are alike")
				}
				sizes, times := []int{5, 9, 17, 30, 50}, *searches
				every := [...]int{4, 6, 11} // one search of so many is a planner's, too
				if times <= 2 {
					sizes, times = sizes[:1], 1
				} else if how.words == "" { // each search of a server is like the first
					sizes = sizes[:0]
					for n := 4; n <= 60; n++ {
						sizes = append(sizes, n)
					}
					times, every = len(sizes), [...]int{1, 1, 1}
				}
				mine, line, curve, model := &searched{}, &searched{}, &searched{}, &searched{}
				var mu sync.Mutex
				t.Run("servers", func(t *testing.T) {
					for i, size := range sizes {
						t.Run(strconv.Itoa(size), func(t *testing.T) {
							t.Parallel()
							k := &known{capped: where, noise: how, n: size}
							k.learn(t)
							own := &searched{}
							for n := i; n < times; n += len(sizes) {
								number := *searchesFrom + n + 1
								b := ours(t, k, number, 0.05)
								own.add(k, b)
								of := map[*searched]bracketed{mine: b}
								for j, x := range []struct {
									to       *searched
									planner  string
									requests int
								}{{line, "monotonic_sla", probeSize}, {curve, "smooth_isotonic", coarse}, {model, "bayesian", probeSize}} {
									if n%every[j] == 0 {
										of[x.to] = planned(t, k, number, x.planner, x.requests)
									}
								}
								mu.Lock()
								for to, b := range of {
									to.add(k, b)
								}
								mu.Unlock()
							}
							t.Logf("between %g and %g: %s", k.holds, k.fails, own)
						})
					}
				})
				t.Logf("| %s, %s | %s | %s | %s | %s |", where.name, how.name, mine, line, curve, model)
				t.Logf("%d of %d brackets have two ends; with two runs of each load monotonic_sla takes %s requests",
					mine.ended, mine.n, words.Whole(int64(median(line.theirs))))
				e := stats.Share([]stats.Tally{{Hits: float64(mine.right), Of: float64(mine.n)}}, 0.9)
				if e.High < 0.95 {
					t.Errorf("%d of %d brackets hold the limit", mine.right, mine.n)
				}
			})
		}
	}
}
