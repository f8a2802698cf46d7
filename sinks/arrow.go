package sinks

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"aiperf.dev/aiperf/internal/record"
)

// arrowBatchRows is the size of a record batch in a table. Readers like few and
// large ones; a writer holds one, half a kilobyte a row. A column of it must stay
// below zstd's block of 128 KiB, ids of 36 bytes included: a longer one is compressed
// as a stream, for which each encoder keeps a window of 9 MB.
const arrowBatchRows = batchRows

func arrowType(k Kind) arrow.DataType {
	switch k {
	case Int64:
		return arrow.PrimitiveTypes.Int64
	case Int32:
		return arrow.PrimitiveTypes.Int32
	case Int16:
		return arrow.PrimitiveTypes.Int16
	case Float64:
		return arrow.PrimitiveTypes.Float64
	case Float32:
		return arrow.PrimitiveTypes.Float32
	case Bool:
		return arrow.FixedWidthTypes.Boolean
	case Time:
		return &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}
	}
	return arrow.BinaryTypes.String
}

func arrowFields(fs []Field) []arrow.Field {
	out := make([]arrow.Field, len(fs))
	for i, f := range fs {
		out[i] = arrow.Field{Name: f.Name, Type: arrowType(f.Kind), Nullable: f.Null}
		if f.Unit != "" {
			out[i].Metadata = arrow.NewMetadata([]string{"unit"}, []string{f.Unit})
		}
	}
	return out
}

// arrowSchema is the schema of a table with the file's keys, units included.
func arrowSchema(fs []Field, meta map[string]string) *arrow.Schema {
	m := map[string]string{"aiperf.units": unitsJSON(fs)}
	for k, v := range meta {
		m[k] = v
	}
	md := arrow.MetadataFrom(m)
	return arrow.NewSchema(arrowFields(fs), &md)
}

// arrowSchemaKey is the value of the Parquet key ARROW:schema, from which
// Arrow's readers learn field and schema metadata: the schema message of an
// IPC stream without its end mark.
func arrowSchemaKey(fs []Field, meta map[string]string) string {
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(arrowSchema(fs, meta)))
	if err := w.Close(); err != nil {
		panic(err) // a buffer takes everything
	}
	end := []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}
	return base64.StdEncoding.EncodeToString(bytes.TrimSuffix(b.Bytes(), end))
}

// arrowOutput writes an Arrow IPC file (Feather 2), its bodies compressed with zstd
// where the table is worth it.
type arrowOutput struct {
	out    io.WriteSeeker
	w      *ipc.FileWriter // nil until the first record batch is written
	mem    *pool
	schema *arrow.Schema
	rb     *array.RecordBuilder
	fs     []Field
	rows   int
}

// worthCompressing is how many rows a table has at least whose bodies are compressed. An
// encoder takes more than a megabyte and a half, which is far more than a smaller table.
const worthCompressing = 256

func newArrowOutput(out io.WriteSeeker, fs []Field, meta map[string]string) *arrowOutput {
	schema := arrowSchema(fs, meta)
	mem := &pool{}
	return &arrowOutput{out: out, mem: mem, schema: schema, rb: array.NewRecordBuilder(mem, schema), fs: fs}
}

// begin begins the file, as soon as it is known whether there are rows.
func (o *arrowOutput) begin() (err error) {
	if o.w != nil {
		return nil
	}
	options := []ipc.Option{ipc.WithSchema(o.schema), ipc.WithAllocator(o.mem)}
	if o.rows >= worthCompressing {
		options = append(options, ipc.WithZstd())
	}
	o.w, err = ipc.NewFileWriter(o.out, options...)
	return err
}

func (o *arrowOutput) write(b *batch) error {
	for i := range o.fs {
		if err := toArrow(&o.fs[i], &b.cols[i], b.n, o.rb.Field(i)); err != nil {
			return err
		}
	}
	if o.rows += b.n; o.rows >= arrowBatchRows {
		return o.flush()
	}
	return nil
}

func (o *arrowOutput) flush() error {
	if err := o.begin(); err != nil {
		return err
	}
	o.rows = 0
	rec := o.rb.NewRecord()
	defer rec.Release()
	return o.w.Write(rec)
}

func (o *arrowOutput) close() error {
	defer o.rb.Release()
	err := o.begin()
	if err == nil && o.rows > 0 {
		err = o.flush()
	}
	if err != nil {
		return err
	}
	return o.w.Close()
}

// toArrow appends the first n values of v to builder b.
func toArrow(f *Field, v *vector, n int, b array.Builder) error {
	b.Reserve(n)
	switch b := b.(type) {
	case *array.Int64Builder:
		intsToArrow(f, v.ints[:n], b)
	case *array.Int32Builder:
		intsToArrow(f, v.ints[:n], b)
	case *array.Int16Builder:
		intsToArrow(f, v.ints[:n], b)
	case *array.TimestampBuilder:
		intsToArrow(f, v.ints[:n], b)
	case *array.Float64Builder:
		floatsToArrow(f, v.floats[:n], b)
	case *array.Float32Builder:
		floatsToArrow(f, v.floats[:n], b)
	case *array.BooleanBuilder:
		for _, x := range v.ints[:n] {
			if f.Null && x == record.None {
				b.UnsafeAppendBoolToBitmap(false)
			} else {
				b.UnsafeAppend(x != 0)
			}
		}
	case *array.StringBuilder:
		for _, x := range v.texts[:n] {
			if f.Null && x == "" {
				b.AppendNull()
			} else {
				b.Append(x)
			}
		}
	default:
		return fmt.Errorf("column %s: no Arrow builder for %v", f.Name, f.Kind)
	}
	return nil
}

// appender is a builder of numbers in which room has been reserved.
type appender[T any] interface {
	UnsafeAppend(T)
	UnsafeAppendBoolToBitmap(valid bool)
}

func intsToArrow[T ~int64 | ~int32 | ~int16](f *Field, values []int64, b appender[T]) {
	for _, x := range values {
		if f.Null && x == record.None {
			b.UnsafeAppendBoolToBitmap(false)
		} else {
			b.UnsafeAppend(T(x))
		}
	}
}

func floatsToArrow[T float64 | float32](f *Field, values []float64, b appender[T]) {
	for _, x := range values {
		if f.Null && x != x {
			b.UnsafeAppendBoolToBitmap(false)
		} else {
			b.UnsafeAppend(T(x))
		}
	}
}
