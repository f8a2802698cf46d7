package sinks

import (
	"errors"
	"fmt"
)

// output writes batches in one format. It is used by one goroutine at a time and
// does not change them.
type output interface {
	write(b *batch) error
	close() error // ends the format; the file itself belongs to the caller
}

// table turns rows into batches for one or more outputs. The first columns are
// the identity of a place and change only there.
type table[R any] struct {
	name    string
	cols    []column[R]
	fs      []Field // identity and cols
	own     int     // index of the first column that is not identity
	open    *shared // being filled; nil: none
	free    chan *shared
	made    int // batches, turns at most
	id      *identity
	place   Place
	placed  bool
	values  []any // of the identity columns
	gen     int
	lanes   []*lane
	written int64
}

func newTable[R any](
	name string, id *identity, cols []column[R], open func(name string, fs []Field) ([]*lane, error),
) (*table[R], error) {
	first := identityFields(name, id.axes)
	t := &table[R]{
		name: name, cols: cols, fs: append(first, fields(cols)...),
		own: len(first), free: make(chan *shared, turns), id: id,
	}
	var err error
	t.lanes, err = open(name, t.fs)
	return t, err
}

// at says what the following rows are about.
func (t *table[R]) at(p Place) error {
	if t.placed && p == t.place {
		return nil
	}
	if err := t.flush(); err != nil {
		return err
	}
	values, err := t.id.values(t.name, p)
	if err != nil {
		return err
	}
	t.values, t.place, t.placed = values, p, true
	t.gen++
	return nil
}

// append adds rows at the current place. They are the caller's again when it
// returns.
func (t *table[R]) append(rows []R) error {
	for len(rows) > 0 {
		if t.open == nil {
			t.open = t.batch()
		}
		b := t.open
		n := min(len(rows), batchRows-b.n)
		b.grow(t.fs, b.n+n)
		t.identify(b, b.n+n)
		load(t.cols, rows[:n], b.n, b.cols[t.own:])
		b.n += n
		if b.n == batchRows {
			if err := t.flush(); err != nil {
				return err
			}
		}
		rows, t.written = rows[n:], t.written+int64(n)
	}
	return nil
}

// batch is an empty one that nobody writes.
func (t *table[R]) batch() *shared {
	if t.made < turns && len(t.free) == 0 {
		t.made++
		return &shared{batch: newBatch(t.fs, near), back: t.free}
	}
	b := <-t.free
	b.n = 0
	return b
}

// flush hands the open batch to all lanes.
func (t *table[R]) flush() error {
	b := t.open
	if b == nil {
		return nil
	}
	t.open = nil
	if err := b.hand(t.lanes); err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	return nil
}

// identify makes the identity columns of b hold n rows of the current values.
func (t *table[R]) identify(b *shared, n int) {
	if b.gen != t.gen {
		b.gen, b.identified = t.gen, 0
	}
	if n <= b.identified {
		return
	}
	for i, v := range t.values {
		b.cols[i].fill(v, b.identified, n)
		b.cols[i].gen = t.gen
	}
	b.identified = n
}

// close writes what is left and ends all formats.
func (t *table[R]) close() error {
	errs := []error{t.flush()}
	for _, l := range t.lanes {
		l.end(errs[0] == nil)
	}
	for _, l := range t.lanes {
		if err := l.wait(); err != nil && errs[0] == nil {
			errs = append(errs, fmt.Errorf("table %s: %w", t.name, err))
		}
	}
	return errors.Join(errs...)
}

// writeRows writes rows that each know their place, in the given order.
func writeRows[R any](t *table[R], rows []R, place func(*R) Place) error {
	for i := 0; i < len(rows); {
		p := place(&rows[i])
		end := i + 1
		for end < len(rows) && place(&rows[end]) == p {
			end++
		}
		if err := t.at(p); err != nil {
			return err
		}
		if err := t.append(rows[i:end]); err != nil {
			return err
		}
		i = end
	}
	return nil
}
