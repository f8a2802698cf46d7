package sinks

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/secret"
)

// rowBatch is one batch of a journal as rows.
type rowBatch struct {
	rows   []requestRow
	arena  []record.Chunk // the rows' chunks
	ends   []int          // where those of each row end there
	held   arrow.Record   // that packed points into
	packed *array.Binary
	spare  []requestRow // room for rows, while requests that failed alike get theirs
	at     []int        // the journal's row of each of rows, −1 for one that was counted; nil: each has its own
}

// chunksOf are the chunks of row i, packed.
func (b *rowBatch) chunksOf(i int) []byte {
	if b.at == nil {
		return b.packed.Value(i)
	}
	if b.at[i] < 0 {
		return nil
	}
	return b.packed.Value(b.at[i])
}

// stream reads the batches of a journal.
type stream struct {
	path string
	r    *ipc.Reader
	meta RunMeta
	d    *decoder
}

// openStream reads what stands before the first batch.
func openStream(path string, in io.Reader, mem *pool, cols []column[requestRow]) (s *stream, err error) {
	defer recovered(path, &err)
	r, err := ipc.NewReader(bufio.NewReaderSize(in, 256<<10), ipc.WithAllocator(mem))
	if err != nil {
		return nil, journalError(path, err)
	}
	s = &stream{path: path, r: r}
	if s.meta, err = metaOf(path, r.Schema()); err == nil {
		if s.d, err = newDecoder(r.Schema(), cols); err != nil {
			err = journalError(path, err)
		}
	}
	if err != nil {
		r.Release()
		return nil, err
	}
	return s, nil
}

func (s *stream) close() { s.r.Release() }

// recovered makes an error of a panic: arrow panics on some damaged bytes.
func recovered(path string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("journal %s: damaged: %s", path, secret.Panic(p))
	}
}

// each decodes one batch while fn works on the one before. Everything of arrow
// stays with the goroutine that decodes, so that its memory has one owner.
func (s *stream) each(fn func(*rowBatch) error) error {
	full, free := make(chan *rowBatch), make(chan *rowBatch, 2) // two batches take turns
	free <- &rowBatch{}
	free <- &rowBatch{}
	var decoding sync.WaitGroup
	var failed error
	decoding.Go(func() {
		defer close(full)
		for b := range free {
			var more bool
			if more, failed = s.next(b); !more {
				return
			}
			full <- b
		}
	})
	var err error
	for b := range full {
		if err != nil {
			continue // what was decoded before the decoder noticed
		}
		if err = fn(b); err != nil {
			close(free)
		} else {
			free <- b
		}
	}
	decoding.Wait()
	return errors.Join(err, failed)
}

// next decodes a batch into b; false at the end.
func (s *stream) next(b *rowBatch) (more bool, err error) {
	defer func() { more = more && err == nil }()
	defer recovered(s.path, &err)
	if b.held != nil {
		b.held.Release()
		b.held = nil
	}
	if !s.r.Next() {
		if err := s.r.Err(); err != nil && !errors.Is(err, io.EOF) {
			return false, journalError(s.path, err)
		}
		return false, nil
	}
	b.held = s.r.Record()
	b.held.Retain()
	return true, s.d.decode(s.path, b)
}

// decoder turns batches into rows. Columns are found by name: what the journal
// lacks stays unmeasured, what it has besides is ignored.
type decoder struct {
	cols   []column[requestRow]
	at     []int // index in the batch of each
	chunks int
	alike  *alike
	counts [2]int // columns of what was counted; −1 in a journal without
	blank  requestRow
}

func newDecoder(s *arrow.Schema, cols []column[requestRow]) (*decoder, error) {
	d := &decoder{blank: none(), chunks: -1}
	for _, c := range cols {
		if at := s.FieldIndices(c.Name); len(at) == 1 {
			if want := arrowType(c.Kind); !arrow.TypeEqual(want, s.Field(at[0]).Type) {
				return nil, fmt.Errorf("column %s: %v, want %v", c.Name, s.Field(at[0]).Type, want)
			}
			d.cols, d.at = append(d.cols, c), append(d.at, at[0])
		}
	}
	at := s.FieldIndices(chunksColumn)
	if len(at) != 1 || !arrow.TypeEqual(s.Field(at[0]).Type, arrow.BinaryTypes.Binary) {
		return nil, fmt.Errorf("no binary column %s", chunksColumn)
	}
	d.chunks = at[0]
	d.alike = newAlike(inJournal(requestColumns()))
	d.alike.skip = map[string]bool{}
	for _, c := range d.alike.texts {
		d.alike.skip[c.Name] = !slices.ContainsFunc(cols,
			func(wanted column[requestRow]) bool { return wanted.Name == c.Name })
	}
	d.counts = [2]int{-1, -1}
	for i, f := range repeatFields() {
		if at := s.FieldIndices(f.Name); len(at) == 1 && arrow.TypeEqual(s.Field(at[0]).Type, f.Type) {
			d.counts[i] = at[0]
		}
	}
	return d, nil
}

func (d *decoder) decode(path string, b *rowBatch) error {
	n := int(b.held.NumRows())
	if cap(b.rows) < n {
		b.rows = make([]requestRow, n)
	}
	b.rows = b.rows[:n]
	for i := range b.rows {
		b.rows[i] = d.blank
	}
	for i := range d.cols {
		if err := d.cols[i].store(b.held.Column(d.at[i]), b.rows); err != nil {
			return journalError(path, err)
		}
	}
	b.packed = b.held.Column(d.chunks).(*array.Binary)
	if err := b.unpack(path); err != nil {
		return err
	}
	return d.expand(path, b)
}

// expand gives requests that were counted with another one their rows.
func (d *decoder) expand(path string, b *rowBatch) error {
	b.at = nil
	if d.counts[0] < 0 || d.counts[1] < 0 {
		return nil
	}
	n, packed := b.held.Column(d.counts[0]).(*array.Int32), b.held.Column(d.counts[1]).(*array.Binary)
	if n.NullN() == n.Len() {
		return nil
	}
	rows, at := b.spare[:0], make([]int, 0, len(b.rows))
	for i := range b.rows {
		rows, at = append(rows, b.rows[i]), append(at, i)
		if n.IsNull(i) {
			continue
		}
		var err error
		if rows, err = d.alike.unpack(rows, &b.rows[i], n.Value(i), packed.Value(i)); err != nil {
			return fmt.Errorf("journal %s: request %d: %w", path, b.rows[i].RequestID, err)
		}
		for len(at) < len(rows) {
			at = append(at, -1)
		}
	}
	b.rows, b.spare, b.at = rows, b.rows, at
	return nil
}

// unpack gives every row its chunks.
func (b *rowBatch) unpack(path string) error {
	b.arena, b.ends = b.arena[:0], b.ends[:0]
	for i := range b.rows {
		var err error
		if b.arena, err = unpackChunks(b.arena, b.rows[i].Sent, b.packed.Value(i)); err != nil {
			return fmt.Errorf("journal %s: request %d: %w", path, b.rows[i].RequestID, err)
		}
		b.ends = append(b.ends, len(b.arena))
	}
	from := 0
	for i, to := range b.ends { // the arena stands still now
		b.rows[i].Chunks = b.arena[from:to:to]
		from = to
	}
	return nil
}
