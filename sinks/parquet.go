package sinks

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"sort"
	"unsafe"

	"github.com/parquet-go/parquet-go"

	"aiperf.dev/aiperf/internal/record"
)

// rowGroupRows is the size of a row group. It may span runs: one group per run
// would double the file and cost six times as much to read. A writer holds one:
// twice the rows save 6 % of the file and cost 10 MB.
const rowGroupRows = 64 * 1024

// ordered keeps columns in catalogue order; a parquet.Group sorts them by name.
type ordered struct {
	parquet.Group
	fields []parquet.Field
}

func (o ordered) Fields() []parquet.Field { return o.fields }

type parquetField struct {
	parquet.Node
	name string
}

func (f parquetField) Name() string { return f.name }

// Value is asked for only when Go structs are written, which never happens here.
func (f parquetField) Value(v reflect.Value) reflect.Value { return v.FieldByName(f.name) }

func parquetNode(f Field) parquet.Node {
	n := map[Kind]parquet.Node{
		Int64: parquet.Leaf(parquet.Int64Type), Int32: parquet.Leaf(parquet.Int32Type), Int16: parquet.Int(16),
		Float64: parquet.Leaf(parquet.DoubleType), Float32: parquet.Leaf(parquet.FloatType),
		Bool: parquet.Leaf(parquet.BooleanType), Text: parquet.String(),
		Time: parquet.TimestampAdjusted(parquet.Nanosecond, true),
	}[f.Kind]
	switch {
	case f.Kind == Bool: // one bit each; a dictionary would be larger
	case f.enc == dictionary:
		n = parquet.Encoded(n, &parquet.RLEDictionary)
	case f.enc == delta:
		n = parquet.Encoded(n, &parquet.DeltaBinaryPacked)
	case f.enc == byteStreamSplit:
		n = parquet.Encoded(n, &parquet.ByteStreamSplit)
	}
	if f.Null {
		n = parquet.Optional(n)
	}
	return n
}

func parquetSchema(name string, fs []Field) *parquet.Schema {
	o := ordered{Group: parquet.Group{}}
	for _, f := range fs {
		n := parquetNode(f)
		o.Group[f.Name] = n
		o.fields = append(o.fields, parquetField{n, f.Name})
	}
	return parquet.NewSchema(name, o)
}

// unitsJSON is the value of the file key aiperf.units.
func unitsJSON(fs []Field) string {
	units := map[string]string{}
	for _, f := range fs {
		if f.Unit != "" {
			units[f.Name] = f.Unit
		}
	}
	b, err := json.Marshal(units)
	if err != nil {
		panic(err) // strings only
	}
	return string(b)
}

// parquetOutput writes column by column: three times as fast as row by row.
type parquetOutput struct {
	w     *parquet.GenericWriter[any]
	cols  []*parquet.ColumnWriter
	fs    []Field
	buf   []parquet.Value
	same  []repeated // per column
	group int        // rows in the open row group
}

// repeated is a column of equal values, kept between batches.
type repeated struct {
	values []parquet.Value
	of     scalar // what they are
	n      int    // how many of them there are
}

// scalar is a value of any column.
type scalar struct {
	int  int64 // or the bits of a float
	text string
}

// scalar is value j.
func (v *vector) scalar(j int) scalar {
	switch {
	case v.ints != nil:
		return scalar{int: v.ints[j]}
	case v.floats != nil:
		return scalar{int: int64(math.Float64bits(v.floats[j]))}
	}
	return scalar{text: v.texts[j]}
}

func newParquetOutput(out io.Writer, name string, fs []Field, meta map[string]string, codec *codec) *parquetOutput {
	opts := []parquet.WriterOption{
		parquetSchema(name, fs),
		parquet.Compression(codec),
		parquet.CreatedBy("aiperf", meta["aiperf.version"], ""),
		parquet.DataPageVersion(1),        // of version 2 it is not compressed which values are null
		parquet.DataPageStatistics(false), // the column index has them
		parquet.DictionaryMaxBytes(1 << 20),
		parquet.PageBufferSize(128 << 10),
		parquet.KeyValueMetadata("aiperf.units", unitsJSON(fs)),
		parquet.KeyValueMetadata("ARROW:schema", arrowSchemaKey(fs, meta)),
	}
	keys := make([]string, 0, len(meta))
	for k := range meta {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		opts = append(opts, parquet.KeyValueMetadata(k, meta[k]))
	}
	if name == "requests" || name == "chunks" { // request_id too, unless one request overtook tens of thousands
		opts = append(opts, parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending("cell_index"),
			parquet.Ascending("trial"))))
	}
	w := parquet.NewGenericWriter[any](out, opts...)
	return &parquetOutput{w: w, cols: w.ColumnWriters(), fs: fs, same: make([]repeated, len(fs))}
}

func (o *parquetOutput) write(b *batch) error {
	for from := 0; from < b.n; {
		n := min(b.n-from, rowGroupRows-o.group)
		for i := range o.fs {
			if _, err := o.cols[i].WriteRowValues(o.values(i, &b.cols[i], from, n)); err != nil {
				return fmt.Errorf("column %s: %w", o.fs[i].Name, err)
			}
		}
		from, o.group = from+n, o.group+n
		if o.group == rowGroupRows {
			o.group = 0
			if err := o.w.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *parquetOutput) close() error { return o.w.Close() }

// values are n values of column i from row from on.
func (o *parquetOutput) values(i int, v *vector, from, n int) []parquet.Value {
	f := &o.fs[i]
	if !v.uniform(from, n) {
		if len(o.buf) < n {
			o.buf = make([]parquet.Value, n)
		}
		toParquet(f, v, i, from, o.buf[:n])
		return o.buf[:n]
	}
	s := &o.same[i]
	if one := v.scalar(from); s.n == 0 || s.of != one {
		s.of, s.n = one, 0
	}
	if len(s.values) < n {
		s.values = append(s.values, make([]parquet.Value, n-len(s.values))...)
	}
	if s.n < n {
		toParquet(f, v, i, from, s.values[s.n:n]) // all rows are equal
		s.n = n
	}
	return s.values[:n]
}

// toParquet fills out with the values of v from row from on. The definition
// level is 1 for a value that might have been null, 0 for null and for columns
// without nulls.
func toParquet(f *Field, v *vector, column, from int, out []parquet.Value) {
	null, def := parquet.NullValue().Level(0, 0, column), 0
	if f.Null {
		def = 1
	}
	switch f.Kind {
	case Float64, Float32:
		for j, x := range v.floats[from : from+len(out)] {
			switch {
			case f.Null && x != x:
				out[j] = null
			case f.Kind == Float64:
				out[j] = parquet.DoubleValue(x).Level(0, def, column)
			default:
				out[j] = parquet.FloatValue(float32(x)).Level(0, def, column)
			}
		}
	case Text:
		for j, x := range v.texts[from : from+len(out)] {
			if f.Null && x == "" {
				out[j] = null
			} else {
				out[j] = textValue(x).Level(0, def, column)
			}
		}
	default:
		for j, x := range v.ints[from : from+len(out)] {
			switch {
			case f.Null && x == record.None:
				out[j] = null
			case f.Kind == Bool:
				out[j] = parquet.BooleanValue(x != 0).Level(0, def, column)
			case f.Kind == Int32 || f.Kind == Int16:
				out[j] = parquet.Int32Value(int32(x)).Level(0, def, column)
			default:
				out[j] = parquet.Int64Value(x).Level(0, def, column)
			}
		}
	}
}

// textValue is s without a copy; the writer copies the bytes it keeps.
func textValue(s string) parquet.Value {
	return parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(s), len(s)))
}
