package sinks

import (
	"errors"
	"fmt"
	"sync"
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
	own     int // index of the first column that is not identity
	batch   *batch
	id      *identity
	place   Place
	placed  bool
	values  []any // of the identity columns
	filled  int   // rows of them that hold the current values
	gen     int
	outs    []output
	written int64
}

func newTable[R any](name string, id *identity, cols []column[R], open func(name string, fs []Field) ([]output, error)) (*table[R], error) {
	first := identityFields(name, id.axes)
	fs := append(first, fields(cols)...)
	t := &table[R]{name: name, cols: cols, own: len(first), batch: newBatch(fs), id: id}
	var err error
	t.outs, err = open(name, fs)
	return t, err
}

// at says what the following rows are about.
func (t *table[R]) at(p Place) error {
	if t.placed && p == t.place {
		return nil
	}
	values, err := t.id.values(t.name, p)
	if err != nil {
		return err
	}
	t.values, t.place, t.placed, t.filled = values, p, true, 0
	t.gen++
	return nil
}

// append writes rows at the current place.
func (t *table[R]) append(rows []R) error {
	for len(rows) > 0 {
		n := min(len(rows), batchRows)
		t.identify(n)
		load(t.cols, rows[:n], t.batch.cols[t.own:])
		t.batch.n = n
		if err := t.write(); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
		rows, t.written = rows[n:], t.written+int64(n)
	}
	return nil
}

// write hands the batch to every output, side by side where that pays.
func (t *table[R]) write() error {
	const worth = batchRows / 4
	errs := make([]error, len(t.outs))
	var others sync.WaitGroup
	for i, o := range t.outs[1:] {
		if t.batch.n < worth {
			errs[i+1] = o.write(t.batch)
			continue
		}
		others.Go(func() { errs[i+1] = o.write(t.batch) })
	}
	errs[0] = t.outs[0].write(t.batch)
	others.Wait()
	return errors.Join(errs...)
}

// identify makes the identity columns hold n rows of the current values.
func (t *table[R]) identify(n int) {
	if n <= t.filled {
		return
	}
	for i, v := range t.values {
		t.batch.cols[i].fill(v, t.filled, n)
		t.batch.cols[i].gen = t.gen
	}
	t.filled = n
}

func (t *table[R]) close() error {
	var errs []error
	for _, o := range t.outs {
		errs = append(errs, o.close())
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
