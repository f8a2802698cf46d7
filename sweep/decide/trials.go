package decide

import (
	"fmt"
	"math"

	"aiperf.dev/aiperf/internal/stats"
)

// Trials is how many would decide, as far as that is known: how much trials vary is
// known from few of them. The zero value says nothing.
type Trials struct {
	Least, Most int
	Rough       bool // by the spread as it was seen: too few trials were run to say more
}

// Known reports whether there is anything to say.
func (t Trials) Known() bool { return t.Most > 0 }

// String is "8 to 24 trials", or "about 9 trials".
func (t Trials) String() string {
	switch {
	case t.Rough:
		return fmt.Sprintf("about %d trials", t.Most)
	case t.Least == t.Most:
		return fmt.Sprintf("%d trials", t.Most)
	}
	return fmt.Sprintf("%d to %d trials", t.Least, t.Most)
}

// widestTrials is where a range says nothing more.
const widestTrials = 10

// trialsBetween is how many trials it takes at both ends of the 80 % interval of the
// spread of which sd was seen with df degrees of freedom in so many trials. Nothing
// where not even stats.MostTrials would do, or the ends are a factor of widestTrials
// apart: a single number, "9 more trials", was wrong by a factor of three as often as
// not.
func trialsBetween(sd, df float64, now int, need func(sd float64) (int, bool)) Trials {
	low, high := stats.SpreadInterval(df, 0.8)
	least, ok := need(sd * low)
	most, enough := need(sd * high)
	if !ok || !enough || math.IsNaN(low) {
		return Trials{}
	}
	t := Trials{Least: even(max(least, now+1)), Most: even(max(most, now+1))}
	if t.Most > widestTrials*t.Least {
		return Trials{}
	}
	return t
}

// trialsAbout is trialsBetween, and where that says nothing the number for the spread as it
// was seen, which is said to be rough; nothing where not even stats.MostTrials would do.
func trialsAbout(sd, df float64, now int, need func(sd float64) (int, bool)) Trials {
	if t := trialsBetween(sd, df, now, need); t.Known() {
		return t
	}
	n, ok := need(sd)
	if !ok {
		return Trials{}
	}
	n = even(max(n, now+1, leastRough))
	return Trials{Least: n, Most: n, Rough: true}
}

// even is n, or one more: a slow change of the server cancels out over pairs of trials, and what
// is advised here is nothing that the next plan warns of.
func even(n int) int { return n + n%2 }

// leastRough is the least that is told where few trials show little of how much they vary.
const leastRough = 6
