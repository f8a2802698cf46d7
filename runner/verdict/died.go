package verdict

import (
	"fmt"
	"slices"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
)

// A server died under a run when it was not seen any more after some moment, although
// many requests were tried, and all of them found no connection.
const (
	fewestLost = 10   // requests since
	mostLost   = 0.25 // of all that were attempted
	mostEnds   = 1 << 17
)

// lost are the failures for want of a connection since the server was last seen.
type lost struct {
	was  bool    // the server was seen
	seen int64   // when the last request ended that it had: answered, refused or broken off; ns since T0
	ends []int64 // when requests failed for want of a connection
}

func (l *lost) add(r *record.Record) {
	switch {
	case slices.Contains([]record.Status{record.OK, record.HTTPError, record.Truncated, record.ParseError}, r.Status):
		l.was, l.seen = true, max(l.seen, r.End)
	case r.Status == record.Connection && len(l.ends) < mostEnds:
		l.ends = append(l.ends, r.End)
	}
}

// after counts those that failed after that.
func (l *lost) after() (n int64) {
	for _, end := range l.ends {
		if end > l.seen || !l.was {
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
		if n >= fewestLost && float64(n) > mostLost*float64(attempted) && p.lost.was {
			return fmt.Sprintf("the server was gone: the last %s of %s found no connection",
				words.Whole(n), words.Count(attempted, "request"))
		}
	}
	return ""
}
