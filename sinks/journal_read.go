package sinks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"aiperf.dev/aiperf/internal/record"
)

// JournalInfo is what was found in a journal.
type JournalInfo struct {
	Meta    RunMeta
	Records int64
	Torn    int64 // bytes after the last whole batch: what the process was writing when it died
	Ended   bool  // the journal was closed; without it, later records may be missing
}

// Consumer takes the records of a run one by one, in the order in which they
// ended. A record belongs to the reader: it is valid only during the call and
// must not be changed.
type Consumer func(*record.Record) error

// ReadJournal hands every record of a journal to each of the consumers, which
// work side by side. A torn tail is no error: see JournalInfo.
func ReadJournal(path string, consumers ...Consumer) (JournalInfo, error) {
	return readRecords(path, inJournal(requestColumns()), consumers)
}

// ReadMeasured is ReadJournal without the texts that only name a request, which
// stay empty: they are most of what reading copies.
func ReadMeasured(path string, consumers ...Consumer) (JournalInfo, error) {
	cols := slices.DeleteFunc(inJournal(requestColumns()), func(c column[requestRow]) bool { return c.names })
	return readRecords(path, cols, consumers)
}

// readRecords reads the given columns of a journal and its chunks.
func readRecords(path string, cols []column[requestRow], consumers []Consumer) (JournalInfo, error) {
	return readJournal(path, &pool{}, cols, func(RunMeta) error { return nil },
		func(b *rowBatch) error { return sideBySide(b, consumers) })
}

// sideBySide hands a batch to all consumers at once, where that pays.
func sideBySide(b *rowBatch, consumers []Consumer) error {
	const worth = 64 // records; fewer are done before another goroutine has begun
	each := func(c Consumer) error {
		for i := range b.rows {
			if err := c(&b.rows[i].Record); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, len(consumers))
	var others sync.WaitGroup
	for i, c := range consumers {
		if i == len(consumers)-1 || len(b.rows) < worth {
			errs[i] = each(c)
			continue
		}
		others.Go(func() { errs[i] = each(c) })
	}
	others.Wait()
	return errors.Join(errs...)
}

// readJournal tells begin whose journal it is and hands out its rows in
// batches, as they were written, of each row the given columns. A batch is
// valid only during the call; its texts stay valid.
func readJournal(
	path string, mem *pool, cols []column[requestRow], begin func(RunMeta) error, fn func(*rowBatch) error,
) (info JournalInfo, err error) {
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
	s, err := openStream(path, io.NewSectionReader(f, 0, sound), mem, cols)
	if err != nil {
		return info, err
	}
	defer s.close()
	info.Meta = s.meta
	if err := begin(info.Meta); err != nil {
		return info, err
	}
	return info, s.each(func(b *rowBatch) error {
		info.Records += int64(len(b.rows))
		return fn(b)
	})
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

// store keeps the values of an Arrow column in rows; null leaves what is there.
func (c *column[R]) store(a arrow.Array, rows []R) error {
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
