package sinks

import (
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/record"
)

// Pick is columns of the table requests, by name.
type Pick struct{ cols []column[requestRow] }

// PickColumns finds columns; the error names one that is not there.
func PickColumns(names []string) (Pick, error) {
	var p Pick
	all := inTable(requestColumns())
	for _, name := range names {
		i := slices.IndexFunc(all, func(c column[requestRow]) bool { return c.Name == name })
		if i < 0 {
			return p, fmt.Errorf("the table requests has no column %s", name)
		}
		p.cols = append(p.cols, all[i])
	}
	return p, nil
}

// Each hands over the columns of the requests of one run that count in a window, full or
// steady, in the order in which they ended, at most so many rows at a time. Values are as
// JSON has them, null is nil; times count from the run's T0.
func (p Pick) Each(run RunJournal, window string, most int, each func(n int, cols map[string][]any) error) error {
	unasked := func(c column[requestRow]) bool {
		return !slices.ContainsFunc(p.cols, func(asked column[requestRow]) bool { return asked.Name == c.Name })
	}
	read := slices.DeleteFunc(inJournal(requestColumns()),
		func(c column[requestRow]) bool { return c.names && unasked(c) })
	var began int64
	var rows []requestRow
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		err := each(len(rows), p.values(rows))
		clear(rows)
		rows = rows[:0]
		return err
	}
	_, err := readJournal(run.Path, &pool{}, read,
		func(m RunMeta) error {
			began = m.T0.UnixNano()
			return nil
		},
		func(b *rowBatch) error {
			for i := range b.rows {
				r := &b.rows[i]
				if r.steady = run.steady(&r.Record); !r.InWindow || window == "steady" && !r.steady {
					continue
				}
				r.keep(began)
				kept := *r
				kept.Chunks = nil
				if rows = append(rows, kept); len(rows) < most {
					continue
				}
				if err := flush(); err != nil {
					return err
				}
			}
			return nil
		})
	if err != nil {
		return err
	}
	return flush()
}

// values are the columns of rows.
func (p Pick) values(rows []requestRow) map[string][]any {
	fs := fields(p.cols)
	b := newBatch(fs, len(rows))
	load(p.cols, rows, 0, b.cols)
	out := make(map[string][]any, len(p.cols))
	for i, f := range fs {
		col := make([]any, len(rows))
		for j := range rows {
			col[j] = b.cols[i].value(f, j)
		}
		out[f.Name] = col
	}
	return out
}

// value is one value as JSON has it; nil for null.
func (v *vector) value(f Field, j int) any {
	switch f.Kind {
	case Float64, Float32:
		if math.IsNaN(v.floats[j]) {
			return nil
		}
		return v.floats[j]
	case Text:
		if v.texts[j] == "" && f.Null {
			return nil
		}
		return v.texts[j]
	case Bool:
		if v.ints[j] == record.None {
			return nil
		}
		return v.ints[j] != 0
	}
	if v.ints[j] == record.None {
		return nil
	}
	return v.ints[j]
}
