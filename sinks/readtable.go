package sinks

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/record"
)

// TableRows is a table that was read back: whole columns by name, as plain
// values. A column that was not asked for, or that the file does not have, is
// absent. Nulls are NaN in Floats and "" in Texts.
type TableRows struct {
	N      int
	Floats map[string][]float64 // numbers, times (ns) and truth values (0, 1)
	Texts  map[string][]string
	Meta   map[string]string // the file's own keys: aiperf.version, aiperf.axes, …
	Fields []Field           // all columns of the file, read or not
}

// ErrDamaged is the error of a table whose file was cut or overwritten after it
// was written: files are whole or absent.
var ErrDamaged = errors.New("damaged, not as it was written")

// ReadTable reads columns of one table of a result directory, as a whole. want
// says which columns to take; nil takes all. Errors name the file.
func ReadTable(dir, table string, want func(column string) bool) (*TableRows, error) {
	whole := &TableRows{}
	meta, err := EachTable(dir, table, want, func(t *TableRows) error { whole.append(t); return nil })
	if err != nil {
		return nil, err
	}
	whole.Meta, whole.Fields = meta.Meta, meta.Fields
	return whole, nil
}

// CountRows is the number of rows of one table of a result directory.
func CountRows(dir, table string) (int, error) {
	in, file, err := openTable(dir, table)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return in.rows(), nil
}

// openTable opens a table of a result directory. The file is the caller's to close.
func openTable(dir, table string) (*parquetInput, *os.File, error) {
	f, err := os.Open(filepath.Join(dir, table+".parquet"))
	if err != nil {
		return nil, nil, err
	}
	in, err := inputOf(f)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", f.Name(), err), f.Close())
	}
	return in, f, nil
}

// inputOf reads a file that is small at once: each of its columns would be read by itself,
// three times.
func inputOf(f *os.File) (*parquetInput, error) {
	const small = 1 << 20 // bytes
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() > small {
		return newParquetInput(f, st.Size())
	}
	whole, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	return newParquetInput(bytes.NewReader(whole), int64(len(whole)))
}

// EachTable hands a table to fn some thousand rows at a time, for tables that
// are too large to hold. The rows are fn's for the length of the call. What
// comes back has the file's keys and no rows.
func EachTable(dir, table string, want func(column string) bool, fn func(*TableRows) error) (*TableRows, error) {
	in, file, err := openTable(dir, table)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	in.skip = make([]bool, len(in.fs))
	for i, f := range in.fs {
		in.skip[i] = want != nil && !want(f.Name)
	}
	part := &TableRows{Floats: map[string][]float64{}, Texts: map[string][]string{}}
	err = in.each(func(b *batch) error {
		part.clear()
		part.add(in, b)
		return fn(part)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return &TableRows{Meta: in.meta(), Fields: in.fs}, nil
}

func (t *TableRows) clear() {
	t.N = 0
	for name := range t.Floats {
		t.Floats[name] = t.Floats[name][:0]
	}
	for name := range t.Texts {
		t.Texts[name] = t.Texts[name][:0]
	}
}

// append adds the rows of part.
func (t *TableRows) append(part *TableRows) {
	if t.Floats == nil {
		t.Floats, t.Texts = map[string][]float64{}, map[string][]string{}
	}
	t.N += part.N
	for name, col := range part.Floats {
		t.Floats[name] = append(t.Floats[name], col...)
	}
	for name, col := range part.Texts {
		t.Texts[name] = append(t.Texts[name], col...)
	}
}

// add appends the columns of a batch that were read.
func (t *TableRows) add(in *parquetInput, b *batch) {
	t.N += b.n
	for i := range in.fs {
		name, v := in.fs[i].Name, &b.cols[i]
		switch {
		case in.skip[i]:
		case in.fs[i].Kind == Text:
			t.Texts[name] = append(t.Texts[name], v.texts[:b.n]...)
		case in.fs[i].Kind == Float64 || in.fs[i].Kind == Float32:
			t.Floats[name] = append(t.Floats[name], v.floats[:b.n]...)
		default:
			t.Floats[name] = appendNumbers(t.Floats[name], v.ints[:b.n])
		}
	}
}

func appendNumbers(dst []float64, ints []int64) []float64 {
	for _, x := range ints {
		if x == record.None {
			dst = append(dst, math.NaN())
		} else {
			dst = append(dst, float64(x))
		}
	}
	return dst
}
