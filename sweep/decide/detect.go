package decide

import (
	"math"

	"aiperf.dev/aiperf/internal/stats"
)

// Need is how many trials it takes to find a difference in one metric.
type Need struct {
	Key    Key
	Header string
	Spread float64 // of the log-ratio of two systems in one trial
	Trials int     // of each system; 0 where not even stats.MostTrials are enough
}

// Detect says how many trials find a true difference of that size, four times in
// five, in each primary metric: what Compare would call WORSE or BETTER with a
// margin of half the size. The spread comes from a past result: from the
// log-ratios of its cells within trials, or where it has one cell from its trials
// by themselves, which also holds what blocks would take out. cells is how many
// are to be compared.
func Detect(past Arm, size float64, cells int, primary []Key) []Need {
	var duels []*duel
	for i := range past.Cells {
		d := newDuel(&past.Cells[i], &past.Cells[i], Terms{Paired: true, Invalid: true})
		d.choose(primary)
		duels = append(duels, d)
	}
	if len(duels) == 0 {
		return nil
	}
	var out []Need
	for _, k := range duels[0].primary {
		if spread := spreadOf(duels, k); !math.IsNaN(spread) {
			d := duels[0].describe(k, Terms{})
			n := Need{Key: k, Header: d.Header, Spread: spread}
			n.Trials = TrialsFor(spread, size, len(duels[0].primary)*cells)
			out = append(out, n)
		}
	}
	return out
}

// TrialsFor is Detect for one spread; 0 where no number is enough.
func TrialsFor(spread, size float64, comparisons int) int {
	design := stats.Design{SD: spread, Alpha: compareAlpha / float64(max(1, comparisons)), Margin: math.Log1p(size / 2)}
	n, ok := design.Trials(math.Log1p(size), 0.8)
	if !ok {
		return 0
	}
	return even(n)
}

// spreadOf is the root mean square, by degrees of freedom, of the standard
// deviations of log-ratios of neighbouring cells; of one cell √2 times that of
// its logarithms. NaN where trials are too few.
func spreadOf(duels []*duel, k Key) float64 {
	sum, freedom := 0.0, 0.0
	add := func(d []float64, scale float64) {
		if s := stats.StdSample(d); !math.IsNaN(s) {
			sum, freedom = sum+float64(len(d)-1)*scale*s*s, freedom+float64(len(d)-1)
		}
	}
	if len(duels) == 1 {
		add(logsOf(present(duels[0].base.Values(k))), 2)
	}
	for i := 1; i < len(duels); i++ {
		pair := duel{base: duels[i-1].base, candidate: duels[i].base, paired: true}
		if p := pair.evidence(k); !p.signs {
			add(p.d, 1)
		}
	}
	if freedom == 0 {
		return math.NaN()
	}
	return math.Sqrt(sum / freedom)
}
