package telemetry

import (
	"context"
	"fmt"
	"time"
)

// firstTimeout is how long the first look at a library of this machine may take: without
// its persistence daemon, NVIDIA's driver wakes its GPUs for it.
const firstTimeout = 10 * time.Second

// Local is a source that is asked through a library of this machine. It belongs to one
// page at a time, and may be handed on to the next run.
//
// A call into a driver cannot be ended from outside. So it is made on a goroutine of its
// own, for which nobody waits longer than for a page: while one hangs there is no second
// one, and the process may end without it.
type Local struct {
	// Read is what the library says now, and the time on a processor that it took. An
	// error of type NotPrometheusError says that there is nothing to read.
	Read func() (*Page, time.Duration, error)

	asked   bool
	pending chan answer // of a call that has not come back; nil for none
}

type answer struct {
	page *Page
	work time.Duration
	err  error
}

// ask waits for the answer, if not for long.
func (l *Local) ask(ctx context.Context) (*Page, time.Duration, error) {
	patience := lookTimeout
	if !l.asked {
		patience = firstTimeout
	}
	l.asked = true
	if l.pending == nil {
		answers := make(chan answer, 1) // so that a late one holds nobody
		l.pending = answers
		go func() {
			page, work, err := l.Read()
			answers <- answer{page, work, err}
		}()
	}
	over := time.NewTimer(patience)
	defer over.Stop()
	select {
	case a := <-l.pending:
		l.pending = nil
		return a.page, a.work, a.err
	case <-over.C:
		return nil, 0, fmt.Errorf("no answer within %s", patience)
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}
