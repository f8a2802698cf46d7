package sinks

import (
	"fmt"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/heap"
	"aiperf.dev/aiperf/internal/record"
)

// RunJournal is a finished run to be folded into the tables.
type RunJournal struct {
	Place
	Path                   string // of its journal
	SteadyStart, SteadyEnd int64  // ns since the run's T0; record.None without a steady window
}

// maxHeld bounds the records that wait for one that is still missing. Past it
// they are written in the order they have.
const maxHeld = 1 << 15

// fold appends journals to the requests and chunks tables. Records come in
// order of completion and leave in order of request id. The next id of a worker is
// known, so mostly only what overtook something unfinished has to wait; where ids are
// missing, up to maxHeld records do.
type fold struct {
	requests *table[requestRow]
	chunks   *table[chunkRow] // nil: not wanted
	t0       time.Time        // the experiment's
	mem      *pool
	rows     []requestRow
	events   []chunkRow
	unpacked []record.Chunk
	late     heap.Heap[*held]
	free     []*held
	next     int64 // id that is waited for
	step     int64 // from one id of the worker to the next
	run      RunJournal
	shift    int64    // from the run's T0 to the experiment's
	began    int64    // the run's T0, unix ns
	base     int64    // requests of earlier runs, by which ids of this one are moved
	unsent   int64    // as base, of what was never sent
	ids      [2]int64 // one past the last id of the run, and of what was never sent
}

// held is a record that waits.
type held struct {
	row    requestRow
	packed []byte
}

// Before orders by request id.
func (h *held) Before(o *held) bool { return h.row.RequestID < o.row.RequestID }

// journal folds one run. The journal must belong to the place it is given for.
func (f *fold) journal(run RunJournal) (JournalInfo, error) {
	begin := func(m RunMeta) error {
		if m.CellIndex != run.Cell || m.Trial != run.Trial {
			return fmt.Errorf("journal %s: is of cell %d trial %d, want cell %d trial %d",
				run.Path, m.CellIndex, m.Trial, run.Cell, run.Trial)
		}
		f.run, f.next, f.step = run, m.Share.ID(0), max(m.Share.Of, 1)
		f.base, f.unsent, f.ids = f.base+f.ids[0], f.unsent+f.ids[1], [2]int64{}
		f.began = m.T0.UnixNano()
		f.shift = f.began - f.t0.UnixNano()
		if f.chunks != nil {
			if err := f.chunks.at(run.Place); err != nil {
				return err
			}
		}
		return f.requests.at(run.Place)
	}
	info, err := readJournal(run.Path, f.mem, forTables(), begin, func(b *rowBatch) error {
		for i := range b.rows {
			if err := f.add(&b.rows[i], b.chunksOf(i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return info, err
	}
	for f.late.Len() > 0 { // ids that are missing: the process died before them
		if err := f.emitHeld(); err != nil {
			return info, err
		}
	}
	return info, f.flush()
}

// forTables are the columns that the tables need: not the names that only AIPerf's
// files have.
func forTables() []column[requestRow] {
	return slices.DeleteFunc(inJournal(requestColumns()),
		func(c column[requestRow]) bool { return c.names && c.in == journalOnly })
}

// add brings a row into order. packed is its chunks as they are kept while it
// waits.
func (f *fold) add(row *requestRow, packed []byte) error {
	switch {
	case row.RequestID == f.next:
		if err := f.emit(row); err != nil {
			return err
		}
	case f.late.Len() < maxHeld:
		f.hold(row, packed)
		return nil
	default: // the one that is waited for may never come
		f.hold(row, packed)
		if err := f.emitHeld(); err != nil {
			return err
		}
	}
	for f.late.Len() > 0 && f.late.Top().row.RequestID <= f.next {
		if err := f.emitHeld(); err != nil {
			return err
		}
	}
	return nil
}

func (f *fold) hold(row *requestRow, packed []byte) {
	if len(f.free) == 0 {
		f.free = append(f.free, &held{})
	}
	l := len(f.free) - 1
	h := f.free[l]
	f.free = f.free[:l]
	h.row = *row
	h.row.Chunks = nil
	h.packed = append(h.packed[:0], packed...)
	f.late.Push(h)
}

func (f *fold) emitHeld() error {
	h := f.late.Pop()
	var err error
	if f.unpacked, err = unpackChunks(f.unpacked[:0], h.row.Sent, h.packed); err != nil {
		return fmt.Errorf("journal %s: request %d: %w", f.run.Path, h.row.RequestID, err)
	}
	h.row.Chunks = f.unpacked
	err = f.emit(&h.row)
	h.row = requestRow{}
	f.free = append(f.free, h)
	return err
}

// emit finishes a row: chunks, derived columns, the experiment's clock.
func (f *fold) emit(row *requestRow) error {
	f.next = max(f.next, row.RequestID+f.step) // what was never sent has numbers below 0
	f.name(row)
	row.steady = f.run.steady(&row.Record)
	row.keep(f.began)
	if f.chunks != nil {
		f.events = appendChunks(f.events, &row.Record, f.shift)
	}
	row.Chunks = nil
	row.shift(f.shift)
	f.rows = append(f.rows, *row)
	if len(f.rows) == near || len(f.events) >= batchRows {
		return f.flush()
	}
	return nil
}

// name gives row its number in the experiment.
func (f *fold) name(row *requestRow) {
	if id := row.RequestID; id < 0 {
		f.ids[1] = max(f.ids[1], -id)
		row.RequestID -= f.unsent
	} else {
		f.ids[0] = max(f.ids[0], id+1)
		row.RequestID += f.base
	}
}

// steady reports whether a request counts in the steady window, as in its
// statistics: it was sent inside.
func (j *RunJournal) steady(r *record.Record) bool {
	start, end := j.SteadyStart, j.SteadyEnd
	return r.InWindow && start != record.None && end != record.None && start < end && r.Sent >= start && r.Sent <= end
}

// flush moves the last rows into the columns, while they are at hand.
func (f *fold) flush() error {
	if err := f.requests.append(f.rows); err != nil {
		return err
	}
	clear(f.rows) // their texts
	f.rows = f.rows[:0]
	if f.chunks == nil {
		return nil
	}
	err := f.chunks.append(f.events)
	f.events = f.events[:0]
	return err
}
