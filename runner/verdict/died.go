package verdict

import (
	"fmt"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
)

// A server died under a run when no request was answered after some moment,
// although many were tried, and all of them for want of a connection.
const (
	fewestLost = 10   // requests after the last answer
	mostLost   = 0.25 // of all that were attempted
	mostEnds   = 1 << 17
)

// lost are the failures for want of a connection since the last answer.
type lost struct {
	lastOK int64   // when the last answered request ended, ns since T0
	ends   []int64 // when requests failed for want of a connection
}

func (l *lost) add(r *record.Record) {
	switch {
	case r.Status == record.OK:
		l.lastOK = max(l.lastOK, r.End)
	case r.Status == record.Connection && len(l.ends) < mostEnds:
		l.ends = append(l.ends, r.End)
	}
}

// after counts those that failed after the last answer.
func (l *lost) after() (n int64) {
	for _, end := range l.ends {
		if end > l.lastOK {
			n++
		}
	}
	return n
}

// ServerDied says how it was seen that the server went away for good in the
// middle of a run; "" when it did not. Such a run is no measurement of it.
func (e *Evidence) ServerDied() string {
	for _, p := range e.Phases {
		n, attempted := p.lost.after(), p.OK+p.Failed
		if n >= fewestLost && float64(n) > mostLost*float64(attempted) && p.OK > 0 {
			return fmt.Sprintf("the server was gone: the last %s of %s found no connection",
				words.Whole(n), words.Count(attempted, "request"))
		}
	}
	return ""
}
