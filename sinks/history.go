package sinks

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/atomicfile"
)

// HistoryRow is a row of the history: a figure of a cell of one result, for following it
// over many results.
type HistoryRow struct {
	Result                           string // identity of the result
	Name                             string
	Time, Added                      int64 // ns since the epoch
	Commit, Version, Label           string
	Cell, Metric, Stat, Unit, Better string
	Span                             string
	Decides                          bool
	Value, Low, High                 float64
	Trials                           int64
	Doubt, Receipt, Program          string
}

const (
	historyName    = "history"
	historyVersion = 1
)

func historyColumns() []column[HistoryRow] {
	type r = HistoryRow
	moment := func(name, doc string, f func(*r) *int64) column[r] {
		return column[r]{Field: Field{Name: name, Doc: doc, Kind: Time, enc: delta}, int: f}
	}
	return []column[r]{
		word("result", "identity of the result: a hash of its manifest, or of its files; a result that was added twice has one",
			func(r *r) *string { return &r.Result }),
		word("name", "the directory, as it was named when it was added", func(r *r) *string { return &r.Name }),
		moment("time", "when it was measured, or what --date said", func(r *r) *int64 { return &r.Time }),
		moment("added", "when it was added", func(r *r) *int64 { return &r.Added }),
		word("commit", "what --commit said", func(r *r) *string { return &r.Commit }),
		word("version", "what --release said, or the version that the server tells", func(r *r) *string { return &r.Version }),
		word("label", "what --label said", func(r *r) *string { return &r.Label }),
		word("program", "the client that measured, with its version", func(r *r) *string { return &r.Program }),
		word("cell", "values of the swept settings: concurrency 4", func(r *r) *string { return &r.Cell }),
		word("metric", "tag of the metric", func(r *r) *string { return &r.Metric }),
		word("stat", "avg, p50, p99, …", func(r *r) *string { return &r.Stat }),
		word("unit", "of value", func(r *r) *string { return &r.Unit }),
		word("better", "higher or lower; null where neither is better", func(r *r) *string { return &r.Better }),
		word("span", "full or steady", func(r *r) *string { return &r.Span }),
		fact("decides", "a comparison rests on it; other figures are shown beside", func(r *r) *bool { return &r.Decides }),
		real("value", "estimate over the trials", "", func(r *r) *float64 { return &r.Value }),
		real("ci_low", "lower end of its 95 % interval; null for a single trial", "", func(r *r) *float64 { return &r.Low }),
		real("ci_high", "upper end", "", func(r *r) *float64 { return &r.High }),
		count("trials", "trials behind it", "", Int32, func(r *r) *int64 { return &r.Trials }),
		word("doubt", "the check that puts it in doubt: such a value is drawn, and no change is found by it",
			func(r *r) *string { return &r.Doubt }),
		word("receipt", "the workload receipt of the cell as JSON, in its first row; results whose receipts differ fatally are other series",
			func(r *r) *string { return &r.Receipt }),
	}
}

// HistoryColumns are those of the history.
func HistoryColumns() []Field { return fields(historyColumns()) }

// WriteHistory puts rows into a file of their own: it is there as a whole, or not at all.
func WriteHistory(path, version string, rows []HistoryRow) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	cols := historyColumns()
	fs := fields(cols)
	o := newParquetOutput(f, historyName, fs, map[string]string{
		"aiperf.schema": fmt.Sprintf("%s/%d", historyName, historyVersion), "aiperf.version": version,
	}, newCodec())
	for len(rows) > 0 {
		n := min(len(rows), batchRows)
		b := newBatch(fs, n)
		b.n = n
		load(cols, rows[:n], 0, b.cols)
		if err := o.write(b); err != nil {
			return err
		}
		rows = rows[n:]
	}
	if err := o.close(); err != nil {
		return err
	}
	return f.Commit()
}

// Errors of ReadHistory.
var (
	ErrForeign = errors.New("not a file of the history")
	ErrNewer   = errors.New("written by a newer version of aiperf")
)

// ReadHistory reads such a file. What is none is ErrForeign or ErrDamaged; what a newer
// program wrote is ErrNewer.
func ReadHistory(path string) ([]HistoryRow, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in, err := inputOf(f)
	if err != nil {
		return nil, err
	}
	name, version, _ := strings.Cut(in.meta()["aiperf.schema"], "/")
	if name != historyName {
		return nil, ErrForeign
	}
	if v, err := strconv.Atoi(version); err != nil || v > historyVersion {
		return nil, fmt.Errorf("%w: %s/%s, this one reads %s/%d", ErrNewer, name, version, historyName, historyVersion)
	}
	rows := make([]HistoryRow, 0, in.rows())
	err = in.each(func(b *batch) error {
		at := len(rows)
		rows = append(rows, make([]HistoryRow, b.n)...)
		return unload(historyColumns(), in.fs, b, rows[at:])
	})
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return rows, err
}

// unload is the inverse of load, by the names of columns: those that the file does not have
// are null.
func unload[R any](cols []column[R], fs []Field, b *batch, rows []R) error {
	for i := range cols {
		c := &cols[i]
		at := -1
		for j, f := range fs {
			if f.Name == c.Name {
				at = j
			}
		}
		if at < 0 {
			continue // of an older version, which did not know it
		}
		if fs[at].Kind != c.Kind {
			return fmt.Errorf("%w: column %s is %s", ErrDamaged, c.Name, fs[at].Kind)
		}
		v := &b.cols[at]
		for j := range rows {
			switch {
			case c.int != nil:
				*c.int(&rows[j]) = v.ints[j]
			case c.flag != nil:
				*c.flag(&rows[j]) = v.ints[j] == 1
			case c.float != nil:
				*c.float(&rows[j]) = v.floats[j]
			case c.text != nil:
				*c.text(&rows[j]) = v.texts[j]
			}
		}
	}
	return nil
}
