package sinks

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"aiperf.dev/aiperf/internal/record"
)

// journalSchema names the layout of a journal; its columns are found by name.
const journalSchema = "journal/1"

// A batch ends at flushBytes or flushEvery, whichever comes first. Smaller
// batches cost three times as much: each has some hundred buffers of framing,
// and reading one allocates five times per column (TestAllocationsPerRow).
const (
	flushBytes = 1152 << 10
	flushEvery = int64(time.Second)
)

// RunMeta is what a journal says about its run.
type RunMeta struct {
	Experiment string         `json:"experiment"`
	Plan       string         `json:"plan_sha256"`
	Cell       string         `json:"cell"`
	CellIndex  int            `json:"cell_index"`
	Trial      int            `json:"trial"`
	Share      record.Share   `json:"share,omitzero"` // the part of the run that is in it
	RunID      string         `json:"run_id"`
	Seed       int64          `json:"seed"`
	Axes       map[string]any `json:"axes,omitempty"` // axis → value
	T0         time.Time      `json:"t0"`             // wall-clock moment of the records' zero
	Version    string         `json:"version"`
}

// Journal keeps the records of a running run in an Arrow IPC stream. What was
// flushed survives the death of the process; Close makes it survive a power
// cut. It implements Sink and belongs to one goroutine, which calls Flush
// about once a second when no records come.
type Journal struct {
	path    string
	f       *os.File
	buf     *bufio.Writer
	w       *ipc.Writer
	rb      *array.RecordBuilder
	cols    []column[requestRow]
	texts   []func(*requestRow) *string // of the columns that hold one
	rows    []requestRow                // the last ones, near at most, without their chunks
	n       int                         // rows before them that wait
	values  []vector                    // theirs, by column
	packed  *array.BinaryBuilder
	alike   *alike // requests that failed as the last row did
	repeats struct {
		n      *array.Int32Builder
		packed *array.BinaryBuilder
	}
	scratch []byte
	fixed   int   // bytes of a row without texts and chunks
	size    int   // bytes waiting, about
	waiting int64 // end of the first record that waits, ns since T0
	err     error // the first failure: everything after it is lost, and said so
}

// NewJournal creates the journal of one run. An existing file is not touched.
func NewJournal(path string, meta RunMeta) (*Journal, error) {
	text, err := json.Marshal(meta)
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, journalError(path, err)
	}
	cols := inJournal(requestColumns())
	md := arrow.MetadataFrom(map[string]string{"aiperf.schema": journalSchema, "aiperf.run": string(text)})
	all := append(arrowFields(fields(cols)), arrow.Field{
		Name: chunksColumn, Type: arrow.BinaryTypes.Binary,
		Nullable: true,
	})
	schema := arrow.NewSchema(append(all, repeatFields()...), &md)
	mem := &pool{}
	j := &Journal{
		path: path, f: f, buf: bufio.NewWriterSize(f, 64<<10), cols: cols, values: make([]vector, len(cols)),
		rb: array.NewRecordBuilder(mem, schema), waiting: record.None,
	}
	j.w = ipc.NewWriter(j.buf, ipc.WithSchema(schema), ipc.WithAllocator(mem))
	j.packed = j.rb.Field(len(cols)).(*array.BinaryBuilder)
	j.alike = newAlike(cols)
	j.repeats.n, j.repeats.packed = j.rb.Field(len(cols)+1).(*array.Int32Builder),
		j.rb.Field(len(cols)+2).(*array.BinaryBuilder)
	for i := range cols {
		cols[i].Null = true // here, whatever was not measured is absent
		if cols[i].text != nil {
			j.texts = append(j.texts, cols[i].text)
		}
		j.fixed += cols[i].Kind.bytes()
	}
	// The writer sends the schema with the first batch. An empty batch sends it
	// now, so that even a journal without records says whose it is.
	if err := j.emit(); err != nil {
		j.rb.Release()
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return j, nil
}

// Write adds a record. It flushes by size and by the records' own time.
func (j *Journal) Write(r *record.Record) error {
	if j.err != nil {
		return j.err
	}
	j.add(r)
	if j.waiting == record.None {
		j.waiting = r.End
	}
	late := r.End != record.None && j.waiting != record.None && r.End-j.waiting >= flushEvery
	if j.size >= flushBytes || late {
		return j.Flush()
	}
	return nil
}

// add puts r into the batch: into a row of its own, or with those that failed as it did.
func (j *Journal) add(r *record.Record) {
	j.size += j.fixed // of readers, who give each request a row
	failed := unconnected(r)
	if failed {
		row := requestRow{Record: *r}
		if j.alike.add(&row) {
			return
		}
	}
	j.endRepeats()
	j.rows = append(j.rows, requestRow{Record: *r})
	row := &j.rows[len(j.rows)-1]
	row.Chunks = nil // the caller's
	for _, text := range j.texts {
		j.size += len(*text(row))
	}
	j.scratch = packChunks(j.scratch[:0], r.Sent, r.Chunks)
	if len(j.scratch) == 0 {
		j.packed.AppendNull()
	} else {
		j.packed.Append(j.scratch)
	}
	j.size += 4 + len(j.scratch)
	if failed {
		j.alike.begin(row)
	} else {
		j.repeats.n.AppendNull()
		j.repeats.packed.AppendNull()
	}
	if len(j.rows) == near {
		j.load()
	}
}

// endRepeats notes what was counted with the last row, if it is one that others may
// be counted with.
func (j *Journal) endRepeats() {
	switch a := j.alike; {
	case !a.open:
		return
	case a.n == 0:
		j.repeats.n.AppendNull()
		j.repeats.packed.AppendNull()
	default:
		j.repeats.n.Append(a.n)
		j.repeats.packed.Append(a.packed)
	}
	j.alike.open = false
}

// Flush hands everything written so far to the system.
func (j *Journal) Flush() error {
	if j.err != nil || j.size == 0 {
		return j.err
	}
	return j.emit()
}

func (j *Journal) emit() error {
	j.size, j.waiting = 0, record.None
	j.endRepeats()
	if err := j.build(); err != nil {
		j.err = journalError(j.path, err)
		return j.err
	}
	rec := j.rb.NewRecord()
	err := j.w.Write(rec)
	rec.Release()
	if err == nil {
		err = j.buf.Flush()
	}
	j.err = journalError(j.path, err)
	return j.err
}

// load moves the last rows into the columns, while they are at hand.
func (j *Journal) load() {
	for i := range j.cols {
		v := &j.values[i]
		if most := v.room(); j.n+len(j.rows) > most {
			v.grow(j.cols[i].Kind, max(near, 2*most))
		}
		j.cols[i].load(j.rows, j.n, v)
	}
	j.n += len(j.rows)
	clear(j.rows) // their texts
	j.rows = j.rows[:0]
}

// build moves the columns into the builder.
func (j *Journal) build() error {
	j.load()
	for i := range j.cols {
		v := &j.values[i]
		if err := toArrow(&j.cols[i].Field, v, j.n, j.rb.Field(i)); err != nil {
			return err
		}
		clear(v.texts)
	}
	j.n = 0
	return nil
}

// Close flushes, ends the stream, syncs and closes the file. It repeats the
// first failure of the journal's life.
func (j *Journal) Close() error {
	if j.f == nil {
		return j.err
	}
	err := j.Flush()
	for _, step := range []func() error{j.w.Close, j.buf.Flush, j.f.Sync} {
		if err == nil {
			err = journalError(j.path, step())
		}
	}
	if e := j.f.Close(); err == nil {
		err = journalError(j.path, e)
	}
	j.rb.Release()
	j.f, j.err = nil, err
	return err
}

func journalError(path string, err error) error {
	if err == nil {
		return nil
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("journal %s: %w", path, err)
}
