package sinks

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"aiperf.dev/aiperf/internal/resultdir"
)

// Series is a table of what was sampled over the time of a run, in rows R. Each run
// streams its samples to a file of its own (Open), and the table is read from those
// files: no memory holds the samples of a plan, nor those of a run.
type Series[R any] struct {
	name, doc string
	columns   func() []column[R]
	// when it was taken: ns since the run's T0 in the file, since the experiment's in the table
	at func(*R) *int64
}

// Sample is a row of the telemetry table: one figure at one moment.
type Sample struct {
	At                                int64
	Source, Collector, Metric, Labels string // labels as a JSON object with its keys in order
	Unit, Kind                        string
	Value                             float64 // NaN: the source does not say it any more
}

// Telemetry are figures that are not about one request.
func Telemetry() Series[Sample] {
	return Series[Sample]{
		name: "telemetry", doc: "One row per sample of a figure that is not about one request: the client's CPU use each second, and what servers and exporters of GPU metrics publish, which is read three times a second. Of a server's figure there is a row when its value changes, so that it holds until the next one; a row without a value says that the server does not publish it any more. While up is 0 nothing is known of that source. Absent where nothing was sampled.",
		columns: telemetryColumns, at: func(s *Sample) *int64 { return &s.At },
	}
}

// sampled is what the tables know of a Series.
type sampled interface {
	table() Table
	fold(s *tableSet, runs []RunJournal) error
}

// series is every Series, in the order of Tables.
func series() []sampled {
	return []sampled{
		Telemetry(),
		Answers(),
	}
}

// SeriesFiles are the files that a run's observers may stream samples to.
func SeriesFiles() (names []string) {
	for _, s := range series() {
		names = append(names, resultdir.StreamOf(s.table().Name))
	}
	return names
}

func (s Series[R]) table() Table {
	return Table{s.name, s.doc, func() []Field { return fields(s.columns()) }}
}

// Stream writes the samples of one run. It belongs to one goroutine.
type Stream[R any] struct {
	path    string
	meta    []byte
	cols    []column[R]
	at      func(*R) *int64
	file    *os.File // nil before the first sample
	buf     *bufio.Writer
	w       *ipc.Writer
	rb      *array.RecordBuilder
	rows    []R
	values  []vector // of rows, by column; their room is used again
	waiting int64    // when the first of rows was taken
	err     error    // the first failure
}

// Open begins the stream of the run in folder dir. The file is made with the first
// sample.
func (s Series[R]) Open(dir string, meta RunMeta) (*Stream[R], error) {
	text, err := json.Marshal(meta)
	return &Stream[R]{path: filepath.Join(dir, resultdir.StreamOf(s.name)), meta: text, cols: s.columns(), at: s.at},
		err
}

// Write adds samples. What is older than a second, by the samples' own time, is with
// the system when it returns.
func (w *Stream[R]) Write(rows ...R) error {
	for i := range rows {
		at := *w.at(&rows[i])
		if len(w.rows) == 0 {
			w.waiting = at
		}
		w.rows = append(w.rows, rows[i])
		if len(w.rows) == batchRows || at-w.waiting >= int64(time.Second) {
			w.flush()
		}
	}
	return w.err
}

func (w *Stream[R]) flush() {
	if len(w.rows) == 0 || w.err != nil {
		return
	}
	if w.file == nil {
		if w.err = w.create(); w.err != nil {
			return
		}
	}
	for i := range w.cols {
		c, v := &w.cols[i], &w.values[i]
		if v.room() < len(w.rows) {
			v.grow(c.Kind, len(w.rows))
		}
		c.load(w.rows, 0, v)
		w.err = errors.Join(w.err, toArrow(&c.Field, v, len(w.rows), w.rb.Field(i)))
	}
	rec := w.rb.NewRecord()
	defer rec.Release()
	w.err = errors.Join(w.err, w.w.Write(rec), w.buf.Flush())
	clear(w.rows) // their texts
	w.rows = w.rows[:0]
}

func (w *Stream[R]) create() (err error) {
	if w.file, err = os.OpenFile(w.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
		return err
	}
	md := arrow.MetadataFrom(map[string]string{"aiperf.run": string(w.meta)})
	schema, mem := arrow.NewSchema(arrowFields(fields(w.cols)), &md), &pool{}
	w.buf, w.values = bufio.NewWriter(w.file), make([]vector, len(w.cols))
	w.w, w.rb = ipc.NewWriter(w.buf, ipc.WithSchema(schema), ipc.WithAllocator(mem)),
		array.NewRecordBuilder(mem, schema)
	return nil
}

// Close completes the file, and repeats the first failure of the stream's life.
func (w *Stream[R]) Close() error {
	w.flush()
	if w.file == nil {
		return w.err
	}
	defer w.rb.Release()
	err := errors.Join(w.err, w.w.Close(), w.buf.Flush(), w.file.Sync(), w.file.Close())
	if err != nil {
		return fmt.Errorf("samples %s: %w", w.path, err)
	}
	return nil
}

// Discard closes the file and removes it: the run did not begin.
func (w *Stream[R]) Discard() error {
	w.rows = nil
	if err := w.Close(); w.file == nil {
		return err
	}
	return os.Remove(w.path)
}

// Each hands out what was sampled in the run of folder dir, in batches, with times in ns
// since the run's T0. A run that sampled nothing has none.
func (s Series[R]) Each(dir string, fn func([]R) error) error {
	err := s.read(filepath.Join(dir, resultdir.StreamOf(s.name)), func(RunMeta) error { return nil }, fn)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// fold writes the table of what the runs sampled; none where they sampled nothing.
func (s Series[R]) fold(set *tableSet, runs []RunJournal) error {
	var out *table[R]
	for _, run := range runs {
		path := filepath.Join(filepath.Dir(run.Path), resultdir.StreamOf(s.name))
		var shift int64
		begin := func(m RunMeta) (err error) {
			shift = m.T0.Sub(set.in.T0).Nanoseconds()
			if out == nil {
				if out, err = newTable(s.name, set.id, s.columns(), set.outputs); err != nil {
					return err
				}
			}
			return out.at(run.Place)
		}
		err := s.read(path, begin, func(rows []R) error {
			for i := range rows {
				*s.at(&rows[i]) += shift
			}
			return out.append(rows)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("samples %s: %w", path, err)
		}
	}
	if out == nil {
		return nil
	}
	return closeTable(set, out)
}

// read tells begin whose samples they are, and hands them out in batches. A torn tail
// is left out: the process died in it.
func (s Series[R]) read(path string, begin func(RunMeta) error, fn func([]R) error) (err error) {
	defer recovered(path, &err)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	sound, _ := soundLength(f, st.Size())
	if sound == 0 {
		return nil
	}
	r, err := ipc.NewReader(bufio.NewReader(io.NewSectionReader(f, 0, sound)), ipc.WithAllocator(&pool{}))
	if err != nil {
		return err
	}
	defer r.Release()
	var meta RunMeta
	text, _ := r.Schema().Metadata().GetValue("aiperf.run")
	if err := json.Unmarshal([]byte(text), &meta); err != nil {
		return err
	}
	if err := begin(meta); err != nil {
		return err
	}
	cols := s.columns()
	for r.Next() {
		rec := r.Record()
		rows := make([]R, rec.NumRows())
		for i := range cols {
			at := rec.Schema().FieldIndices(cols[i].Name)
			if len(at) != 1 || !arrow.TypeEqual(arrowType(cols[i].Kind), rec.Column(at[0]).DataType()) {
				continue // of another version: unmeasured
			}
			if err := cols[i].store(rec.Column(at[0]), rows); err != nil {
				return err
			}
		}
		if err := fn(rows); err != nil {
			return err
		}
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
