package sinks

import (
	"errors"
	"sync"
	"sync/atomic"
)

// lane writes batches to one output, in a goroutine of its own: no format waits
// for a slower one. It belongs to the goroutine that made it, which calls end and
// then wait.
type lane struct {
	in     chan *shared
	ended  sync.WaitGroup
	over   bool // end was called
	whole  bool // and the format is to be ended
	failed atomic.Bool
	err    error // the first; whoever has seen failed, or has waited, may read it
}

func newLane(to output) *lane {
	l := &lane{in: make(chan *shared, turns)}
	l.ended.Go(func() {
		for b := range l.in {
			if l.err == nil {
				l.note(to.write(b.batch))
			}
			b.done()
		}
		if l.whole && l.err == nil {
			l.note(to.close())
		}
	})
	return l
}

func (l *lane) note(err error) {
	if err != nil {
		l.err = err
		l.failed.Store(true)
	}
}

// end says that nothing more will come. whole ends the format, too; without it
// the file is going to be thrown away. Later calls do nothing.
func (l *lane) end(whole bool) {
	if l.over {
		return
	}
	l.over, l.whole = true, whole
	close(l.in)
}

// wait returns when everything is written that the lane was given before end.
func (l *lane) wait() error {
	l.ended.Wait()
	return l.err
}

// turns is how many batches of a table take turns: one is filled while another
// is written. A batch takes a megabyte.
const turns = 2

// shared is a batch that several lanes write. It goes back when the last of them
// is done.
type shared struct {
	*batch
	identified int // rows that hold the values of the place gen
	gen        int
	users      atomic.Int32
	back       chan<- *shared
}

func (b *shared) done() {
	if b.users.Add(-1) == 0 {
		b.back <- b
	}
}

// hand gives b to all lanes, and tells what has failed so far.
func (b *shared) hand(to []*lane) error {
	b.users.Store(int32(len(to)))
	var errs []error
	for _, l := range to {
		if l.failed.Load() {
			errs = append(errs, l.err)
		}
		l.in <- b
	}
	return errors.Join(errs...)
}
