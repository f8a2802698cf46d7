package stats_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

var histories = flag.Int("histories", 40, "series that TestChangesOfDrawnHistories draws of each kind; docs/simulations.md has 2,000")

var historySeed = flag.Uint64("history-seed", 20261128, "what TestChangesOfDrawnHistories draws from")

// watchRise is how a figure is watched that should be small.
var watchRise = stats.Watch{Rise: stats.ChangeAlpha, Fall: stats.UrgeLessAlpha}

// history is a kind of series: noise of 3 %, and what happens to it. Its second part is judged.
type history struct {
	name   string
	before int // results before it; 0: drawn from 30 to 329
	judged int
	draw   func(r *rand.Rand, i, at int) float64 // result i, where something happens at `at`
	own    func(r *rand.Rand) float64            // standard error of a result; nil: not known
}

const noise = 0.03

func normal(r *rand.Rand) float64 { return noise * r.NormFloat64() }

// heavy is Student's t with three degrees of freedom, of the same standard deviation.
func heavy(r *rand.Rand) float64 {
	chi := 0.0
	for range 3 {
		x := r.NormFloat64()
		chi += x * x
	}
	return noise * r.NormFloat64() / math.Sqrt(chi/3) / math.Sqrt(3)
}

func step(by float64) func(r *rand.Rand, i, at int) float64 { return risen(by, noisy) }

// risen is noise whose level moves once.
func risen(by float64, noise func(r *rand.Rand, i, at int) float64) func(r *rand.Rand, i, at int) float64 {
	return func(r *rand.Rand, i, at int) float64 {
		if i < at {
			return noise(r, i, at)
		}
		return math.Log1p(by) + noise(r, i, at)
	}
}

// tally is what was said of histories of a kind.
type tally struct {
	rises, falls  int // found while they were judged, later withdrawn or not
	stay          int // of them that stand at the end
	within        int // histories in which a rise was found within four results of its beginning
	falling       int // the same of a fall
	ever          int // histories in which a rise that began there was found at all
	holds, placed int // of these: the interval has the true size, the range the true place
	gradual       int // of all that stand: said to be gradual
}

func (h history) tally(n int) (t tally) {
	for k := range n {
		r := rand.New(rand.NewPCG(uint64(k), *historySeed))
		at := h.before
		if at == 0 {
			at = 30 + r.IntN(300)
		}
		points := make([]stats.Point, at+h.judged)
		for i := range points {
			points[i] = stats.Point{Value: h.draw(r, i, at), StdErr: math.NaN()}
			if h.own != nil {
				points[i].StdErr = h.own(r)
				points[i].Value += points[i].StdErr * r.NormFloat64()
			}
		}
		found, withdrawn := stats.Changes(points, watchRise)
		size := 0.0
		quiet := rand.New(rand.NewPCG(0, 0))
		for range 4000 { // the mean size, whatever the noise is
			size += (h.draw(quiet, at+3, at) - h.draw(quiet, 0, at)) / 4000
		}
		first := true
		for i, c := range slices.Concat(found, withdrawn) {
			if c.Found < at {
				continue
			}
			if c.By < 0 {
				t.falls++
				if c.Found < at+4 {
					t.falling++
				}
			} else {
				t.rises++
				if c.Found < at+4 {
					t.within++
				}
			}
			if i >= len(found) {
				continue
			}
			t.stay++
			if c.Gradual {
				t.gradual++
			}
			if first && c.After <= at+4 && c.Until >= at-4 {
				first = false
				t.ever++
				if c.Low <= size && size <= c.High {
					t.holds++
				}
				if c.After < at && at <= c.Until {
					t.placed++
				}
			}
		}
	}
	return t
}

func noisy(r *rand.Rand, _, _ int) float64 { return normal(r) }

// Of 100 results of a stable series at most one is taken for a change, a rise of 5 % among noise
// of 3 % is found within four results in four of five histories, and what is said of a change is
// true of it. The bounds are those of a few histories; docs/simulations.md counts many.
func TestChangesOfDrawnHistories(t *testing.T) {
	t.Parallel()
	most := func(share float64) int {
		return int(share*float64(*histories) + 2*math.Sqrt(share*float64(*histories)))
	}
	least := func(share float64) int {
		return int(share*float64(*histories) - 2*math.Sqrt(share*(1-share)*float64(*histories)))
	}
	stable := func(x tally) bool { return x.rises+x.falls <= most(1) && x.stay <= most(0.05) }
	for _, h := range []struct {
		history
		right func(tally) bool
	}{
		{history{name: "stable", judged: 100, draw: noisy}, stable},
		{history{name: "stable from the first result on", before: 1, judged: 99, draw: noisy}, stable},
		{history{name: "stable, heavy tails", judged: 100, draw: func(r *rand.Rand, _, _ int) float64 { return heavy(r) }}, stable},
		{history{name: "stable, one result in fifty is off by 30 %", judged: 100, draw: func(r *rand.Rand, _, _ int) float64 {
			if r.IntN(50) == 0 {
				return 0.3 + normal(r)
			}
			return normal(r)
		}}, stable},
		{history{
			name: "stable, errors of results known", judged: 100,
			draw: func(r *rand.Rand, _, _ int) float64 { return normal(r) / 3 },
			own:  func(r *rand.Rand) float64 { return noise * (0.5 + r.Float64()) },
		}, func(x tally) bool { return x.rises+x.falls <= most(1.1) && x.stay <= most(0.05) }},
		{history{name: "level stays, noise doubles", judged: 100, draw: func(r *rand.Rand, i, at int) float64 {
			if i < at {
				return normal(r)
			}
			return 2 * normal(r)
		}}, func(x tally) bool { return x.rises+x.falls <= most(1.3) && x.stay <= most(0.1) }},
		{
			history{name: "each result is like the one before: 0.1", judged: 100, draw: following(0.1)},
			func(x tally) bool { return x.rises+x.falls <= most(1.3) },
		},
		{
			history{name: "the same: 0.3", judged: 100, draw: following(0.3)},
			func(x tally) bool { return x.rises+x.falls <= most(1.3) },
		},
		{
			history{name: "the same: 0.3 from day to day, no results at weekends", judged: 100, draw: workdays(following(0.3))},
			func(x tally) bool { return x.rises+x.falls <= most(1.3) },
		},
		{history{name: "5 % up", judged: 4, draw: step(0.05)}, func(x tally) bool {
			return x.within >= least(0.8) && x.holds >= least(0.75) && x.placed >= least(0.75) &&
				x.gradual <= most(0.02)
		}},
		{history{name: "5 % up, ten results", judged: 10, draw: step(0.05)}, func(x tally) bool {
			return x.ever >= least(0.92) && x.gradual <= most(0.02)
		}},
		{history{name: "3 % up", judged: 4, draw: step(0.03)}, func(x tally) bool { return x.within >= least(0.4) }},
		{history{name: "3 % up, ten results", judged: 10, draw: step(0.03)}, func(x tally) bool { return x.ever >= least(0.5) }},
		{history{name: "10 % up", judged: 4, draw: step(0.1)}, func(x tally) bool { return x.within >= least(0.97) }},
		{history{name: "2 % up, 60 results", judged: 60, draw: step(0.02)}, func(x tally) bool { return x.ever >= least(0.75) }},
		{history{name: "5 % down, a gain", judged: 4, draw: step(-0.05)}, func(x tally) bool { return x.falling >= least(0.3) }},
		{history{name: "5 % down, ten results", judged: 10, draw: step(-0.05)}, func(x tally) bool { return x.ever >= least(0.82) }},
		{history{name: "10 % down, a gain", judged: 4, draw: step(-0.1)}, func(x tally) bool { return x.falling >= least(0.9) }},
		{history{name: "5 % up where noise is like the one before: 0.3", judged: 10, draw: risen(0.05, following(0.3))}, func(x tally) bool { return x.ever >= least(0.5) }},
		{history{
			name: "0.1 % more with each result, 100 results", before: 40, judged: 100,
			draw: func(r *rand.Rand, i, at int) float64 { return 0.001*float64(max(0, i-at)) + normal(r) },
		}, func(x tally) bool {
			return x.stay >= *histories && float64(x.gradual) >= 0.6*float64(x.stay) && x.falls <= most(0.1)
		}},
	} {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			x := h.tally(*histories)
			t.Logf("of %d: %+v", *histories, x)
			if !h.right(x) {
				t.Errorf("of %d histories: %+v", *histories, x)
			}
		})
	}
}

// following is noise in which a result is partly that of the one before: its correlation.
func following(part float64) func(r *rand.Rand, i, at int) float64 {
	last := map[*rand.Rand]float64{}
	return func(r *rand.Rand, i, _ int) float64 {
		if i == 0 {
			last = map[*rand.Rand]float64{}
		}
		last[r] = part*last[r] + math.Sqrt(1-part*part)*normal(r)
		return last[r]
	}
}

// workdays leaves two days in seven out.
func workdays(daily func(r *rand.Rand, i, at int) float64) func(r *rand.Rand, i, at int) float64 {
	return func(r *rand.Rand, i, at int) float64 {
		day := i/5*7 + i%5
		if i > 0 && i%5 == 0 {
			daily(r, day-2, at)
			daily(r, day-1, at)
		}
		return daily(r, day, at)
	}
}

// A step in a series that scatters evenly, by hand: eight results around 10, six around 12.
func TestChangesByHand(t *testing.T) {
	t.Parallel()
	var points []stats.Point
	for i, v := range []float64{10, 10.1, 9.9, 10, 10.1, 9.9, 10, 10, 12.1, 11.9, 12, 12.1, 11.9, 12} {
		points = append(points, stats.Point{Value: v, StdErr: math.NaN()})
		found, withdrawn := stats.Changes(points, watchRise)
		if i < 10 && len(found) > 0 || len(withdrawn) > 0 {
			t.Fatalf("with result %d: found %+v, withdrawn %+v", i, found, withdrawn)
		}
	}
	found, _ := stats.Changes(points, watchRise)
	if len(found) != 1 {
		t.Fatalf("found %+v, want one", found)
	}
	c := found[0]
	if c.At != 8 || c.After != 7 || c.Until != 8 || math.Abs(c.From-10) > 1e-9 || math.Abs(c.To-12) > 1e-9 ||
		math.Abs(c.By-2) > 1e-9 || !(c.Low > 1.8 && c.Low < 2 && c.High < 2.2 && c.High > 2) || c.Gradual {
		t.Errorf("found %+v", c)
	}
	if least := stats.LeastSeries(watchRise.Rise); c.Found+1 < least {
		t.Errorf("found with result %d, and %d are needed", c.Found+1, least)
	}
}

// What is found with a result does not depend on later ones, and is found again each time.
func TestChangesOfAPrefix(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	var points []stats.Point
	for i := range 120 {
		v := normal(r)
		if i >= 70 {
			v += 0.06
		}
		points = append(points, stats.Point{Value: v, StdErr: 0.01})
	}
	revealed := func(n int) (out []int) {
		found, withdrawn := stats.Changes(points[:n], watchRise)
		for _, c := range append(found, withdrawn...) {
			out = append(out, c.Found)
		}
		slices.Sort(out)
		return out
	}
	all := revealed(len(points))
	if len(all) == 0 {
		t.Fatal("nothing found")
	}
	for n := range points {
		want := slices.DeleteFunc(slices.Clone(all), func(f int) bool { return f >= n })
		if got := revealed(n); !slices.Equal(got, want) {
			t.Fatalf("the first %d results reveal %v, and as part of all %v", n, got, want)
		}
	}
}

// Nothing moves in a series of equal results, nor in one that is too short.
func TestNoChanges(t *testing.T) {
	t.Parallel()
	same := make([]stats.Point, 50)
	for i := range same {
		same[i] = stats.Point{Value: 3, StdErr: math.NaN()}
	}
	short := []stats.Point{{Value: 1}, {Value: 1}, {Value: 9}, {Value: 9}}
	for _, points := range [][]stats.Point{nil, same, same[:1], short} {
		if found, withdrawn := stats.Changes(points, watchRise); len(found)+len(withdrawn) > 0 {
			t.Errorf("%d results: %+v %+v", len(points), found, withdrawn)
		}
	}
	// errors of 0, of which one request failed in one result
	same[40].Value = 3.1
	if found, _ := stats.Changes(same, watchRise); len(found) > 0 {
		t.Errorf("one result alone: %+v", found)
	}
}

// A year of daily results; a page has 72 such series.
func BenchmarkChanges(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	points := make([]stats.Point, 365)
	for i := range points {
		points[i] = stats.Point{Value: normal(r), StdErr: noise / 3}
	}
	for b.Loop() {
		stats.Changes(points, watchRise)
	}
}
