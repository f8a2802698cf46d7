package decide

import (
	"cmp"
	"fmt"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
)

// Terms are how two arms are compared.
type Terms struct {
	Margin float64 // what counts as a difference: 0.05 is 5 %; 0 takes DefaultMargin and TailMargin
	// ShareMargin is what counts as a difference of a share, as a part of the whole: 0.01 is
	// one point. 0 takes DefaultShareMargin.
	ShareMargin float64
	Primary     []Key  // what decides; empty takes the defaults
	Undecided   string // what an open question means for the exit code: "" none, pass, fail
	Paired      bool   // trial k of both arms met the same load
	Invalid     bool   // compare INVALID runs, too: both experiments allow them
	// MustDetect is a change that the comparison must be able to find (0.1 is 10 %): one
	// that could not is UNDECIDED, whatever its rows say. 0 asks for nothing.
	MustDetect float64
	// Candidates is how many are compared with the same baseline: the level holds
	// over all of them together. 0 is one.
	Candidates int
}

// The margins, for what is below p95 and from there on.
const (
	DefaultMargin = 0.05
	TailMargin    = 0.15
)

// The margins of a share, as parts of the whole. A relative margin would be 5 points of
// errors, which nobody calls the same. Where every request of both sides was good there is
// nothing to tell apart: as observed they are equal, as soon as cleanShareMargin is ruled
// out, which 59 requests of each side do; one point would take 300.
const (
	DefaultShareMargin = 0.01
	cleanShareMargin   = 0.05
)

// compareAlpha is the chance that identical systems are told apart anywhere
// among the primary metrics.
const compareAlpha = 0.05

// The levels of a comparison, as screens, help and pages say them: that of the intervals of
// all primary metrics together and of the one-sided bound of harm, and that of the interval
// which must lie within the margin for EQUIVALENT (two one-sided tests).
const (
	CompareLevel = 1 - compareAlpha
	EqualLevel   = 1 - 2*compareAlpha
)

// marginOf is the margin for a metric.
func marginOf(k Key, t Terms) float64 {
	switch {
	case isShare(k):
		return cmp.Or(t.ShareMargin, DefaultShareMargin)
	case t.Margin > 0:
		return t.Margin
	case k.Stat == "p95" || k.Stat == "p99" || k.Stat == "p999" || k.Stat == "max":
		return TailMargin
	}
	return DefaultMargin
}

// isShare reports whether a metric is a share of the whole, such as the error rate.
func isShare(k Key) bool {
	m, ok := metrics.Lookup(k.Tag)
	return ok && m.Over == metrics.Share && k.Stat == "avg"
}

// mustDetect is the change that must be found in a metric: as the margin, three times
// as much from p95 on, unless the experiment says its own margin. Of a share it is so many
// points: a tenth is ten of them.
func (t Terms) mustDetect(k Key) float64 {
	if isShare(k) {
		return t.MustDetect
	}
	return t.MustDetect * marginOf(k, t) / marginOf(Key{}, t)
}

// checkMustDetect refuses a change that no number of trials would call WORSE.
func (t Terms) checkMustDetect() *diag.Error {
	if t.MustDetect == 0 {
		return nil
	}
	if margin := max(marginOf(Key{}, t), t.ShareMargin); !(t.MustDetect > margin && t.MustDetect < 1) {
		return &diag.Error{
			Message: fmt.Sprintf("a change of %s must be detected, and the margin is %s: no change within the margin is ever WORSE",
				percent(t.MustDetect), percent(margin)),
			Hint: fmt.Sprintf("a margin of half of it: %g", t.MustDetect/2),
		}
	}
	return nil
}

func percent(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) }
