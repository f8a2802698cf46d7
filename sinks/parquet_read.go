package sinks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"aiperf.dev/aiperf/internal/record"
)

// parquetInput reads a table this program wrote, batch by batch, with nothing
// known but the file itself.
type parquetInput struct {
	file parquetFile
	fs   []Field
	skip []bool // columns that are not read; nil reads all
}

// parquetFile is an open file. It is an interface so that a package which knows of our tables
// does not compile the library's generic types once more: that took it 0.4 s of a core.
type parquetFile interface {
	rows() int
	keys(fn func(key, value string))
	each(in *parquetInput, fn func(*batch) error) error
}

// opened is one of parquet-go's.
type opened struct{ *parquet.File }

func newParquetInput(r io.ReaderAt, size int64) (*parquetInput, error) {
	file, err := parquet.OpenFile(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	in := &parquetInput{file: opened{file}}
	var units map[string]string
	if text, ok := file.Lookup("aiperf.units"); ok {
		if err := json.Unmarshal([]byte(text), &units); err != nil {
			return nil, fmt.Errorf("aiperf.units: %w", err)
		}
	}
	for _, c := range file.Root().Columns() {
		kind, ok := kindOfParquet(c)
		if !ok {
			return nil, fmt.Errorf("column %s: %s is no type of our tables", c.Name(), c.Type())
		}
		in.fs = append(in.fs, Field{
			Name: c.Name(), Unit: units[c.Name()], Kind: kind,
			Null: c.Optional(), enc: naturalEncoding(kind),
		})
	}
	return in, nil
}

func kindOfParquet(c *parquet.Column) (Kind, bool) {
	if !c.Leaf() || c.Repeated() {
		return 0, false
	}
	var logical any
	if l := c.Type().LogicalType(); l != nil {
		logical = l.Value
	}
	switch c.Type().Kind() {
	case parquet.Boolean:
		return Bool, true
	case parquet.Int32:
		if t, ok := logical.(*format.IntType); ok && t.BitWidth == 16 {
			return Int16, true
		}
		return Int32, true
	case parquet.Int64:
		if _, ok := logical.(*format.TimestampType); ok {
			return Time, true
		}
		return Int64, true
	case parquet.Float:
		return Float32, true
	case parquet.Double:
		return Float64, true
	case parquet.ByteArray:
		return Text, true
	}
	return 0, false
}

func naturalEncoding(k Kind) encoding {
	switch k {
	case Text:
		return dictionary
	case Float64, Float32:
		return byteStreamSplit
	case Bool:
		return plain
	}
	return delta
}

// rows is how many the table has.
func (in *parquetInput) rows() int { return in.file.rows() }

// meta are the file's own keys; the writers make the others anew.
func (in *parquetInput) meta() map[string]string {
	out := map[string]string{}
	in.file.keys(func(key, value string) {
		if key != "ARROW:schema" && key != "aiperf.units" {
			out[key] = value
		}
	})
	return out
}

// each hands the table to fn batch by batch.
func (in *parquetInput) each(fn func(*batch) error) error { return in.file.each(in, fn) }

func (o opened) rows() int { return int(o.NumRows()) }

func (o opened) keys(fn func(key, value string)) {
	for _, kv := range o.Metadata().KeyValueMetadata {
		fn(kv.Key, kv.Value)
	}
}

func (o opened) each(in *parquetInput, fn func(*batch) error) error {
	most := int(min(o.NumRows(), batchRows))
	b := newBatch(in.fs, most)
	values := make([]parquet.Value, most)
	for _, group := range o.RowGroups() {
		readers := make([]parquet.ColumnChunkValueReader, len(in.fs))
		for i, chunk := range group.ColumnChunks() {
			readers[i] = parquet.NewColumnChunkValueReader(chunk)
		}
		err := eachBatch(in, group.NumRows(), readers, b, values, fn)
		for _, r := range readers {
			err = errors.Join(err, r.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eachBatch hands one group of rows to fn.
func eachBatch(
	in *parquetInput, rows int64, readers []parquet.ColumnChunkValueReader, b *batch, values []parquet.Value,
	fn func(*batch) error,
) error {
	for rows > 0 {
		b.n = int(min(rows, batchRows))
		for i := range readers {
			if in.skip != nil && in.skip[i] {
				continue
			}
			if err := readColumn(&in.fs[i], readers[i], values[:b.n], &b.cols[i]); err != nil {
				return fmt.Errorf("column %s: %w", in.fs[i].Name, err)
			}
		}
		if err := fn(b); err != nil {
			return err
		}
		rows -= int64(b.n)
	}
	return nil
}

// readColumn reads len(values) values into v.
func readColumn(f *Field, r parquet.ValueReader, values []parquet.Value, v *vector) error {
	for at := 0; at < len(values); {
		n, err := r.ReadValues(values[at:])
		fromParquet(f, values[at:at+n], v, at) // now: texts live in a page that goes away
		at += n
		if at < len(values) && (err != nil || n == 0) {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// fromParquet is the inverse of toParquet, for rows from at on.
func fromParquet(f *Field, values []parquet.Value, v *vector, at int) {
	last := ""
	for k := range values {
		j := at + k
		x, null := &values[k], values[k].IsNull()
		switch f.Kind {
		case Float64, Float32:
			v.floats[j] = math.NaN()
			if !null && f.Kind == Float64 {
				v.floats[j] = x.Double()
			} else if !null {
				v.floats[j] = float64(x.Float())
			}
		case Text:
			v.texts[j] = ""
			if !null {
				if b := x.ByteArray(); string(b) != last { // most texts repeat
					last = string(b)
				}
				v.texts[j] = last
			}
		default:
			v.ints[j] = record.None
			switch {
			case null:
			case f.Kind == Bool:
				v.ints[j] = truth(x.Boolean())
			case f.Kind == Int32 || f.Kind == Int16:
				v.ints[j] = int64(x.Int32())
			default:
				v.ints[j] = x.Int64()
			}
		}
	}
}
