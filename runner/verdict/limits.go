package verdict

import (
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
)

// limits counts the successes of a phase by whether they met their limits, and, of both, those whose
// first token may have come earlier than its stamp: they alone may belong to the others.
type limits struct{ met, metLate, missedLate int64 }

func (l *limits) add(met, late bool) {
	switch {
	case met && late:
		l.met, l.metLate = l.met+1, l.metLate+1
	case met:
		l.met++
	case late:
		l.missedLate++
	}
}

// ranges are how far the share of good requests may be off because first tokens were read late; none
// where no request was good.
func (l *limits) ranges() validity.Ranges {
	if l.met == 0 {
		return nil
	}
	by := validity.Range{Less: float64(l.metLate) / float64(l.met), More: float64(l.missedLate) / float64(l.met)}
	return validity.Ranges{metrics.GoodRequestFraction + ".avg": by}
}
