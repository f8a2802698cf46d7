package sweep

import (
	"cmp"
	"slices"

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
