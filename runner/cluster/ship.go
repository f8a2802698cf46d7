package cluster

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
)

// A batch ends at so many records, at so many chunks of them, or after so long: what a worker
// that dies had not told of is what it saw since then.
const (
	batchRecords = 256
	batchChunks  = 50_000
	batchBeside  = 1 << 20 // bytes
	batchEvery   = 250 * time.Millisecond
)

// shipper hands the records of a run on. What is not acknowledged is kept.
type shipper struct {
	w   *worker
	run int

	mu      sync.Mutex
	batch   []record.Record
	beside  [][]byte // each of them, where something is kept beside one
	next    []byte   // the next one
	bytes   int
	records int64 // that came
	chunks  int
	since   time.Time
	sent    int64
	err     error
}

// every hands on what is there, also where no further record comes, until it is told to end.
func (s *shipper) every() (end func()) {
	stop, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(batchEvery / 2)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				s.mu.Lock()
				if len(s.batch) > 0 && s.next == nil && time.Since(s.since) > batchEvery {
					s.publish()
				}
				s.mu.Unlock()
			}
		}
	}()
	return func() { close(stop); <-over }
}

func (s *shipper) add(r *record.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.batch) == 0 {
		s.since = time.Now()
	}
	s.records++
	s.batch, s.chunks = append(s.batch, *r), s.chunks+len(r.Chunks)
	if s.next != nil && s.beside == nil {
		s.beside = make([][]byte, len(s.batch)-1, batchRecords)
	}
	if s.beside != nil {
		s.beside, s.bytes, s.next = append(s.beside, s.next), s.bytes+len(s.next), nil
	}
	full := len(s.batch) >= batchRecords || s.chunks >= batchChunks || s.bytes >= batchBeside
	if full || time.Since(s.since) > batchEvery {
		s.publish()
	}
}

// keep is what is kept beside the next record.
func (s *shipper) keep(packed []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next = packed; len(packed) > mostBeside && s.err == nil {
		s.err = diag.New(fmt.Sprintf("the exchange of one request takes %d MB, and workers tell of at most %d MB", len(packed)>>20,
			mostBeside>>20), "leave --workers or --export-level raw out")
	}
}

// mostBeside leaves room for the record in a message.
const mostBeside = maxPayload - 1<<20

// publish hands the batch on; s.mu is held.
func (s *shipper) publish() {
	b := encode(batch{s.w.me.K, s.sent, s.run, s.batch, s.beside})
	s.batch, s.chunks, s.beside, s.bytes = s.batch[:0], 0, nil, 0
	s.w.keep.add(b)
	s.ship(b)
}

// ship hands a message on. Where the coordinator is gone it may be kept, and that is all.
func (s *shipper) ship(b []byte) {
	s.sent++
	if s.w.alone() {
		return
	}
	subject := fmt.Sprintf(subjectRecord, s.w.me.K)
	_, err := s.w.js.PublishAsync(subject, b, jetstream.WithStallWait(patience))
	if err != nil && s.err == nil && !s.w.alone() {
		s.err = fmt.Errorf("records could not be handed on: %w", err)
	}
}

// patience is how long records wait for the coordinator to take earlier ones.
const patience = time.Minute

// flush waits until all is acknowledged, also where the run was ended at once: what was
// sent is told.
func (s *shipper) flush() error {
	s.mu.Lock()
	if len(s.batch) > 0 {
		s.publish()
	}
	err := s.err
	s.mu.Unlock()
	select {
	case <-s.w.js.PublishAsyncComplete():
	case <-s.w.cut:
	case <-time.After(patience):
		return errors.New("the coordinator takes no records any more")
	}
	return err
}
