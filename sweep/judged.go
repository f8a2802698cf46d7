package sweep

import (
	"cmp"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/schema"
)

// Judged is a percentile of a latency that decisions may rest on.
type Judged struct {
	Stat     string
	Requests int64 // that a run must plan
}

// Percentiles are what cells and systems are judged by, the highest first. Which one
// follows from the requests that a run plans, before anything is sent: chosen by what came
// out, it would differ from trial to trial and from cell to cell. Of independent values so
// many make the percentile certain enough in all of five trials, in 95 % of cells.
var Percentiles = [...]Judged{{"p99", 1050}, {"p90", 160}, {"p50", 35}}

// Takes says how many requests a run plans for each percentile, in the words that plan,
// the glossary and the pages have.
func Takes() string {
	var takes []string
	for _, p := range slices.Backward(Percentiles[:]) {
		takes = append(takes, "a "+p.Stat+" takes "+words.Whole(p.Requests))
	}
	return words.And(takes) + " requests a run"
}

// unplanned is the percentile where the server decides how many requests there are.
const unplanned = "p90"

// Percentile is the one that runs of so many planned requests are judged by; 0 is not
// known.
func Percentile(requests int64) string {
	if requests == 0 {
		return unplanned
	}
	for _, p := range Percentiles {
		if requests >= p.Requests {
			return p.Stat
		}
	}
	return "p50"
}

// Certain tells whether quantile q can be relied on in a run that plans so many requests,
// whose values are worth so many independent ones. The plan decides, so that two equal
// runs say the same; what came takes only away. Screens, tables and comparisons ask here.
func Certain(q float64, planned int64, worth float64) bool {
	return CertainBy(Percentile(planned), q, worth)
}

// CertainBy is Certain of a run that is judged by a percentile.
func CertainBy(judged string, q, worth float64) bool {
	q = max(q, 1-q)
	return (judged == Percentiles[0].Stat || q <= quantileOf(judged)) && stats.Certified(q, worth)
}

// RequestsFor is how many requests make quantile q certain: what a plan needs, and more
// where n values are worth less.
func RequestsFor(q, worth, n float64) float64 {
	plan := Percentiles[0].Requests
	for _, p := range Percentiles {
		if q <= quantileOf(p.Stat) {
			plan = p.Requests
		}
	}
	need := float64(stats.Floor(q))
	if worth > 0 && worth < n { // neighbours are alike: rounded up to two digits
		need *= n / worth
		digits := math.Pow10(int(math.Log10(need)) - 1)
		need = math.Ceil(need/digits) * digits
	}
	return max(float64(plan), need)
}

// quantileOf is p90 as 0.9.
func quantileOf(stat string) float64 {
	return map[string]float64{"p99": 0.99, "p90": 0.9, "p50": 0.5}[stat]
}

// Lower is the lower one of two percentiles.
func Lower(a, b string) string {
	place := func(stat string) int {
		return slices.IndexFunc(Percentiles[:], func(p Judged) bool { return p.Stat == stat })
	}
	return slices.MaxFunc([]string{a, b}, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
}

// Planned is how many requests a run of the phases measures, 0 where that is not known
// before.
func Planned(phases []schema.Phase) (n int64) {
	for i := range phases {
		if phases[i].Kind == "warmup" {
			continue
		}
		m, err := mode.Of(&phases[i])
		if err != nil {
			return 0
		}
		one := m.Plan(&phases[i]).Requests
		if one == 0 {
			return 0
		}
		n += one
	}
	return n
}

// Judged is the percentile of a latency that all cells of the plan are judged by.
func (p *Plan) Judged() string {
	stat := Percentiles[0].Stat
	for _, c := range p.Cells {
		stat = Lower(stat, c.Judged())
	}
	return stat
}

// Judged is the percentile that the cell by itself is judged by.
func (c *Cell) Judged() string { return Percentile(Planned(c.Resolved.Benchmark.Phases)) }
