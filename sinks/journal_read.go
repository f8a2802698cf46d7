package sinks

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"aiperf.dev/aiperf/internal/record"
)

// JournalInfo is what was found in a journal.
type JournalInfo struct {
	Meta    RunMeta
	Records int64
	Torn    int64 // bytes after the last whole batch: what the process was writing when it died
	Ended   bool  // the journal was closed; without it, later records may be missing
}

// ReadJournal calls fn with every record of a journal, in order of completion.
// The record and its chunks are valid only during the call. A torn tail is no
// error: see JournalInfo.
func ReadJournal(path string, fn func(*record.Record) error) (JournalInfo, error) {
	return readRecords(path, inJournal(requestColumns()), fn)
}

// ReadMeasured is ReadJournal without the texts that only name a request, which
// stay empty: they are most of what reading copies.
func ReadMeasured(path string, fn func(*record.Record) error) (JournalInfo, error) {
	cols := slices.DeleteFunc(inJournal(requestColumns()), func(c column[requestRow]) bool { return c.names })
	return readRecords(path, cols, fn)
}

// readRecords reads the given columns of a journal and its chunks.
func readRecords(path string, cols []column[requestRow], fn func(*record.Record) error) (JournalInfo, error) {
	var chunks []record.Chunk
	return readJournal(path, &pool{}, cols, func(RunMeta) error { return nil }, func(row *requestRow, packed []byte) error {
		var err error
		if chunks, err = unpackChunks(chunks[:0], row.Sent, packed); err != nil {
			return fmt.Errorf("journal %s: request %d: %w", path, row.RequestID, err)
		}
		row.Chunks = chunks
		return fn(&row.Record)
	})
}

// readJournal tells begin whose journal it is and hands out rows as they were
// written, of each the given columns, chunks still packed. Rows and packed bytes are valid only during
// the call; texts stay valid.
func readJournal(path string, mem *pool, cols []column[requestRow], begin func(RunMeta) error, fn func(row *requestRow, packed []byte) error) (info JournalInfo, err error) {
	f, err := os.Open(path)
	if err != nil {
		return info, journalError(path, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return info, journalError(path, err)
	}
	sound, ended := soundLength(f, st.Size())
	info.Ended, info.Torn = ended, st.Size()-sound
	if ended {
		info.Torn -= 8 // the end mark
	}
	if sound == 0 {
		return info, nil // died before the first batch
	}
	defer func() { // arrow panics on some damaged bytes
		if p := recover(); p != nil {
			err = fmt.Errorf("journal %s: damaged: %v", path, p)
		}
	}()
	r, err := ipc.NewReader(bufio.NewReaderSize(io.NewSectionReader(f, 0, sound), 256<<10), ipc.WithAllocator(mem))
	if err != nil {
		return info, journalError(path, err)
	}
	defer r.Release()
	if info.Meta, err = metaOf(path, r.Schema()); err != nil {
		return info, err
	}
	if err := begin(info.Meta); err != nil {
		return info, err
	}
	d, err := newDecoder(r.Schema(), cols)
	if err != nil {
		return info, journalError(path, err)
	}
	for r.Next() {
		if err := d.decode(r.Record()); err != nil {
			return info, journalError(path, err)
		}
		for i := range d.rows {
			if err := fn(&d.rows[i], d.packed.Value(i)); err != nil {
				return info, err
			}
		}
		info.Records += r.Record().NumRows()
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return info, journalError(path, err)
	}
	return info, nil
}

func metaOf(path string, s *arrow.Schema) (RunMeta, error) {
	var m RunMeta
	md := s.Metadata()
	if got, _ := md.GetValue("aiperf.schema"); got != journalSchema {
		return m, fmt.Errorf("journal %s: schema %q, this program reads %q", path, got, journalSchema)
	}
	text, _ := md.GetValue("aiperf.run")
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, fmt.Errorf("journal %s: run: %w", path, err)
	}
	return m, nil
}

// decoder turns batches into rows. Columns are found by name: what the journal
// lacks stays unmeasured, what it has besides is ignored.
type decoder struct {
	cols   []column[requestRow]
	at     []int // index in the batch of each
	chunks int
	blank  requestRow
	rows   []requestRow
	packed *array.Binary
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
	return d, nil
}

func (d *decoder) decode(rec arrow.Record) error {
	n := int(rec.NumRows())
	if cap(d.rows) < n {
		d.rows = make([]requestRow, n)
	}
	d.rows = d.rows[:n]
	for i := range d.rows {
		d.rows[i] = d.blank
	}
	d.packed = rec.Column(d.chunks).(*array.Binary)
	for i := range d.cols {
		if err := d.cols[i].take(rec.Column(d.at[i]), d.rows); err != nil {
			return err
		}
	}
	return nil
}

// take stores the values of an Arrow column in rows; null leaves what is there.
func (c *column[R]) take(a arrow.Array, rows []R) error {
	if a.NullN() == len(rows) && c.float == nil && c.text == nil { // what most servers and runs never tell
		return nil
	}
	switch a := a.(type) {
	case *array.Int64:
		takeInts(c, a, a.Int64Values(), rows)
	case *array.Int32:
		takeInts(c, a, a.Int32Values(), rows)
	case *array.Int16:
		takeInts(c, a, a.Int16Values(), rows)
	case *array.Float64:
		for j := range rows {
			if a.IsValid(j) {
				*c.float(&rows[j]) = a.Value(j)
			} else {
				*c.float(&rows[j]) = math.NaN()
			}
		}
	case *array.Boolean:
		for j := range rows {
			*c.flag(&rows[j]) = a.Value(j)
		}
	case *array.String:
		takeTexts(c, a, rows)
	default:
		return fmt.Errorf("column %s: unexpected %T", c.Name, a)
	}
	return nil
}

func takeInts[R any, T int64 | int32 | int16](c *column[R], a arrow.Array, values []T, rows []R) {
	whole := a.NullN() == 0
	for j := range rows {
		if whole || a.IsValid(j) {
			*c.int(&rows[j]) = int64(values[j])
		}
	}
}

// takeTexts copies the column's bytes once and cuts the texts out of the copy.
// Of a text that every row has, it copies one.
func takeTexts[R any](c *column[R], a *array.String, rows []R) {
	b := a.ValueBytes()
	if len(b) == 0 {
		for j := range rows {
			*c.text(&rows[j]) = ""
		}
		return
	}
	if one, ok := repeatedText(a, b); ok {
		for j := range rows {
			*c.text(&rows[j]) = one
		}
		return
	}
	all := string(b)
	at := 0
	for j := range rows {
		end := at + a.ValueLen(j) // 0 for null
		*c.text(&rows[j]) = all[at:end]
		at = end
	}
}

// repeatedText is the text of all rows, if it is the same: b repeats itself
// after its length.
func repeatedText(a *array.String, b []byte) (string, bool) {
	n := a.ValueLen(0)
	if n*a.Len() != len(b) || !bytes.Equal(b[n:], b[:len(b)-n]) {
		return "", false
	}
	for j := range a.Len() {
		if a.ValueLen(j) != n {
			return "", false
		}
	}
	return string(b[:n]), true
}
