package sinks

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/heap"
	"aiperf.dev/aiperf/internal/record"
)

// Records reads the tables requests and chunks back as the records that they were
// made of, run after run: what a run's journal held, once it is gone. Close gives the
// files back.
type Records struct {
	requests, chunks *rowsOf
	cols             []column[requestRow]
	at               []int // of each of cols, its place in the file
	late             heap.Heap[*restored]
}

// restored is a record that waits for those that ended before it.
type restored struct{ requestRow }

// Before orders by the end.
func (r *restored) Before(o *restored) bool { return r.ended < o.ended }

// OpenRecords opens the tables of a result directory.
func OpenRecords(dir string) (*Records, error) {
	r := &Records{}
	var err error
	if r.requests, err = openRows(dir, "requests"); err != nil {
		return nil, err
	}
	if r.chunks, err = openRows(dir, "chunks"); err != nil && !os.IsNotExist(err) {
		r.Close()
		return nil, err
	}
	if r.chunks != nil {
		for _, name := range []string{"request_id", "t_ns", "bytes", "same_read", "tokens", "kind"} {
			if r.chunks.index(name) < 0 {
				r.Close()
				return nil, lacks(dir, "chunks", name)
			}
		}
	}
	for _, c := range inTable(requestColumns()) {
		if c.in != everywhere && c.Name != "ended" && c.Name != "chunks" {
			continue
		}
		at := r.requests.index(c.Name)
		if at < 0 {
			r.Close()
			return nil, lacks(dir, "requests", c.Name)
		}
		r.cols, r.at = append(r.cols, c), append(r.at, at)
	}
	return r, nil
}

func lacks(dir, table, column string) error {
	return fmt.Errorf("%s has no column %s: an older version of aiperf wrote it", filepath.Join(dir, table+".parquet"), column)
}

// Close gives the files back.
func (r *Records) Close() {
	r.requests.close()
	if r.chunks != nil {
		r.chunks.close()
	}
}

// Next is the place of the next run in the tables; false at their end.
func (r *Records) Next() (Place, bool, error) {
	ok, err := r.requests.more()
	if !ok {
		return Place{}, false, err
	}
	return r.here(), true, nil
}

// here is the place of the row that comes next.
func (r *Records) here() Place {
	return Place{int(r.requests.int("cell_index")), int(r.requests.int("trial"))}
}

// Each hands out the records of the run that comes next, in the order in which they
// ended, as the run's journal did: their times count from began, the run's T0 as ns
// since that of the experiment. A record is valid during the call.
func (r *Records) Each(began int64, take Consumer) error {
	run, next := r.here(), int64(0)
	for {
		ok, err := r.requests.more()
		if err != nil {
			return err
		}
		if !ok || r.here() != run {
			break
		}
		row, err := r.row(began)
		if err != nil {
			return err
		}
		r.late.Push(row)
		for r.late.Len() > 0 && r.late.Top().ended == next {
			next++
			if err := take(&r.late.Pop().Record); err != nil {
				return err
			}
		}
	}
	if n := r.late.Len(); n > 0 {
		return fmt.Errorf("requests: cell %d trial %d: request %d of it is missing", run.Cell, run.Trial, next)
	}
	return nil
}

// row takes the next row with its chunks.
func (r *Records) row(began int64) (*restored, error) {
	out := &restored{requestRow: none()}
	j := r.requests.j
	for i := range r.cols {
		c, v := &r.cols[i], &r.requests.b.cols[r.at[i]]
		switch {
		case c.int != nil:
			*c.int(&out.requestRow) = v.ints[j]
		case c.flag != nil:
			*c.flag(&out.requestRow) = v.ints[j] == 1
		case c.float != nil:
			*c.float(&out.requestRow) = v.floats[j]
		default:
			*c.text(&out.requestRow) = v.texts[j]
		}
	}
	r.requests.j++
	if err := r.eventsOf(out); err != nil {
		return nil, err
	}
	out.shift(-began)
	for i := range out.Chunks {
		out.Chunks[i].At -= began
		out.Chunks[i].Low -= began
	}
	out.XCorrelationID = out.SessionID
	return out, nil
}

// eventsOf takes the rows of a request from the table of the chunks. Without that
// table only answers without any can be read.
func (r *Records) eventsOf(row *restored) error {
	if r.chunks == nil {
		if row.chunks > 0 {
			return fmt.Errorf("no table chunks: tables.chunks left it out")
		}
		return nil
	}
	c := r.chunks
	for {
		ok, err := c.more()
		if err != nil {
			return err
		}
		if !ok || c.int("request_id") != row.RequestID {
			return nil
		}
		at := c.int("t_ns")
		e := record.Chunk{At: at, Low: at, Bytes: int32(c.int("bytes")), SameRead: c.int("same_read") == 1}
		if n := c.int("tokens"); n != record.None {
			e.Tokens = int32(n)
		}
		if e.Kind, ok = kindOfChunk(c.text("kind")); !ok {
			return fmt.Errorf("chunks: request %d: kind %q", row.RequestID, c.text("kind"))
		}
		row.Chunks = append(row.Chunks, e)
		c.j++
	}
}

// kindOfChunk is the kind that the tables have a word for.
func kindOfChunk(word string) (record.Kind, bool) {
	for k := record.Content; k <= record.Done; k++ {
		if k.String() == word {
			return k, true
		}
	}
	return 0, false
}

// rowsOf goes through a table row by row.
type rowsOf struct {
	file *os.File
	in   *parquetInput
	next func() (*batch, error, bool)
	stop func()
	b    *batch
	j    int
	at   map[string]int
}

func openRows(dir, table string) (*rowsOf, error) {
	f, err := os.Open(filepath.Join(dir, table+".parquet"))
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	in, err := newParquetInput(f, st.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	r := &rowsOf{file: f, in: in, at: map[string]int{}}
	for i, c := range in.fs {
		r.at[c.Name] = i
	}
	r.next, r.stop = iter.Pull2(func(yield func(*batch, error) bool) {
		err := in.each(func(b *batch) error {
			if !yield(b, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, fmt.Errorf("%s: %w", f.Name(), err))
		}
	})
	return r, nil
}

// errStopped ends the reading of a table that nobody wants more of.
var errStopped = errors.New("stopped")

// index is where a column stands, -1 where the file has none of that name.
func (r *rowsOf) index(column string) int {
	if i, ok := r.at[column]; ok {
		return i
	}
	return -1
}

// more tells whether there is a row at j, and reads the next batch for it.
func (r *rowsOf) more() (bool, error) {
	for r.b == nil || r.j >= r.b.n {
		b, err, ok := r.next()
		if !ok || err != nil {
			return false, err
		}
		r.b, r.j = b, 0
	}
	return true, nil
}

// int is a value of the row at hand.
func (r *rowsOf) int(column string) int64 { return r.b.cols[r.at[column]].ints[r.j] }

func (r *rowsOf) text(column string) string { return r.b.cols[r.at[column]].texts[r.j] }

func (r *rowsOf) close() {
	r.stop()
	_ = r.file.Close() // it was read
}
