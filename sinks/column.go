package sinks

import (
	"math"
)

// Kind is the type of a column in every format.
type Kind uint8

// The kinds. Time is nanoseconds since the epoch, UTC.
const (
	Int64 Kind = iota
	Int32
	Int16
	Float64
	Float32
	Bool
	Text
	Time
)

// String is the kind's name in the documentation.
func (k Kind) String() string {
	return [...]string{"int64", "int32", "int16", "double", "float", "bool", "string", "timestamp[ns, UTC]"}[k]
}

// bytes is what a value takes in Arrow, about: a text's own bytes and single bits
// do not count.
func (k Kind) bytes() int { return [...]int{8, 4, 2, 8, 4, 0, 4, 8}[k] }

// encoding says how a column is stored in Parquet.
type encoding uint8

const (
	plain encoding = iota
	dictionary
	delta
	byteStreamSplit
)

// Field is a column as every format sees it.
type Field struct {
	Name, Unit string
	Doc        string // what it is, for the documentation
	Kind       Kind
	Null       bool // may be null
	enc        encoding
}

// place says where a column of a row is kept.
type place uint8

const (
	everywhere  place = iota // measured: journal and table
	tableOnly                // derived from other columns
	journalOnly              // needed again, but not worth a table column
)

// column is one column of the rows R: the one source for writing and reading
// it in every format. Exactly one getter is set. That of a measured column points
// into the row, so the same line serves both directions; a column that follows from
// others is worked out when it is written. Null is record.None for integers and
// flags kept as integers, NaN for floats and "" for texts; NaN and Inf of a
// measured float become null.
type column[R any] struct {
	Field
	in    place
	names bool // says which request it is, and nothing about how it went
	// varies among requests that failed alike; see alike.
	varies bool
	int    func(*R) *int64
	float  func(*R) *float64
	text   func(*R) *string
	flag   func(*R) *bool

	derived func(*R) float64
	counted func(*R) int64
}

// fields drops the getters.
func fields[R any](cols []column[R]) []Field {
	out := make([]Field, len(cols))
	for i, c := range cols {
		out[i] = c.Field
	}
	return out
}

// inTable are the columns of the finished table, inJournal those of the journal.
func inTable[R any](cols []column[R]) []column[R]   { return without(cols, journalOnly) }
func inJournal[R any](cols []column[R]) []column[R] { return without(cols, tableOnly) }

func without[R any](cols []column[R], p place) []column[R] {
	var out []column[R]
	for _, c := range cols {
		if c.in != p {
			out = append(out, c)
		}
	}
	return out
}

// Literals of the common shapes.

func nanos[R any](name, doc string, f func(*R) *int64) column[R] {
	return column[R]{Field: Field{Name: name, Doc: doc, Unit: "ns", Kind: Int64, enc: delta, Null: true}, int: f}
}

// figure follows from other columns.
func figure[R any](name, doc, unit string, f func(*R) float64) column[R] {
	return column[R]{
		Field: Field{Name: name, Doc: doc, Unit: unit, Kind: Float64, enc: byteStreamSplit, Null: true},
		in:    tableOnly, derived: f,
	}
}

func real[R any](name, doc, unit string, f func(*R) *float64) column[R] {
	return column[R]{
		Field: Field{Name: name, Doc: doc, Unit: unit, Kind: Float64, enc: byteStreamSplit, Null: true},
		float: f,
	}
}

func count[R any](name, doc, unit string, k Kind, f func(*R) *int64) column[R] {
	return column[R]{Field: Field{Name: name, Doc: doc, Unit: unit, Kind: k, enc: delta, Null: true}, int: f}
}

func ordinal[R any](name, doc string, k Kind, f func(*R) *int64) column[R] {
	return column[R]{Field: Field{Name: name, Doc: doc, Kind: k, enc: delta}, int: f}
}

func word[R any](name, doc string, f func(*R) *string) column[R] {
	return column[R]{Field: Field{Name: name, Doc: doc, Kind: Text, enc: dictionary, Null: true}, text: f}
}

func fact[R any](name, doc string, f func(*R) *bool) column[R] {
	return column[R]{Field: Field{Name: name, Doc: doc, Kind: Bool}, flag: f}
}

// maybe is a flag that can be unknown: 0, 1 or record.None.
func maybe[R any](name, doc string, f func(*R) *int64) column[R] {
	return column[R]{Field: Field{Name: name, Doc: doc, Kind: Bool, Null: true}, int: f}
}

func (c column[R]) onlyIn(p place) column[R] { c.in = p; return c }

// naming is a text that hardly repeats: a dictionary of it would be searched and given up.
func (c column[R]) naming() column[R] { c.names, c.enc = true, plain; return c }

// again is a number that often comes again, in part or whole: compressed as it stands it is
// found again, and its bytes are not parted.
func (c column[R]) again() column[R] { c.enc = plain; return c }

// varying may differ among requests that failed alike.
func (c column[R]) varying() column[R] { c.varies = true; return c }

// equal reports whether two rows have the same in the column, which is a measured one.
func (c *column[R]) equal(a, b *R) bool {
	switch {
	case c.int != nil:
		return *c.int(a) == *c.int(b)
	case c.flag != nil:
		return *c.flag(a) == *c.flag(b)
	case c.float != nil:
		return math.Float64bits(*c.float(a)) == math.Float64bits(*c.float(b))
	}
	return *c.text(a) == *c.text(b)
}

// truth is a flag as a maybe-column holds it.
func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// vector is a stretch of one column. Integers, flags and times are in ints.
// When gen is not 0 all values are the same and stay so as long as gen does.
type vector struct {
	ints   []int64
	floats []float64
	texts  []string
	gen    int
}

// uniform reports whether n values from row from on are the same.
func (v *vector) uniform(from, n int) bool {
	if v.gen != 0 {
		return true
	}
	switch {
	case v.ints != nil:
		for _, x := range v.ints[from : from+n] {
			if x != v.ints[from] {
				return false
			}
		}
	case v.floats != nil:
		first := math.Float64bits(v.floats[from])
		for _, x := range v.floats[from : from+n] {
			if math.Float64bits(x) != first {
				return false
			}
		}
	default:
		for _, x := range v.texts[from : from+n] {
			if x != v.texts[from] {
				return false
			}
		}
	}
	return true
}

// batch is a stretch of a table, column by column: what writers take and
// readers give.
type batch struct {
	n    int
	cols []vector
}

// batchRows is how many rows move at once.
const batchRows = 2048

// newBatch has room for so many rows.
func newBatch(fs []Field, rows int) *batch {
	b := &batch{cols: make([]vector, len(fs))}
	b.grow(fs, rows)
	return b
}

// grow makes room for so many rows where there is less, and for twice as many as there
// was, so that a small table takes little and a large one is soon done with it.
func (b *batch) grow(fs []Field, rows int) {
	for i, f := range fs {
		if v := &b.cols[i]; v.room() < rows {
			v.grow(f.Kind, max(rows, min(2*v.room(), batchRows)))
		}
	}
}

// room is how many values v has room for.
func (v *vector) room() int { return len(v.ints) + len(v.floats) + len(v.texts) }

// grow makes room for n values of kind k, which is more than there is; what v
// holds stays.
func (v *vector) grow(k Kind, n int) {
	switch k {
	case Float64, Float32:
		v.floats = append(v.floats, make([]float64, n-len(v.floats))...)
	case Text:
		v.texts = append(v.texts, make([]string, n-len(v.texts))...)
	default:
		v.ints = append(v.ints, make([]int64, n-len(v.ints))...)
	}
}

// near is how many rows are gone through column by column before the next ones
// are: so many stay in a processor's cache meanwhile.
const near = 128

// load copies the values of rows into the columns' vectors, from place at on.
func load[R any](cols []column[R], rows []R, at int, into []vector) {
	for from := 0; from < len(rows); from += near {
		to := min(from+near, len(rows))
		for i := range cols {
			cols[i].load(rows[from:to], at+from, &into[i])
		}
	}
}

// load copies the column's values of rows into v, from place at on.
func (c *column[R]) load(rows []R, at int, v *vector) {
	switch {
	case c.int != nil:
		out := v.ints[at : at+len(rows)]
		for j := range rows {
			out[j] = *c.int(&rows[j])
		}
	case c.flag != nil:
		out := v.ints[at : at+len(rows)]
		for j := range rows {
			out[j] = truth(*c.flag(&rows[j]))
		}
	case c.float != nil:
		out := v.floats[at : at+len(rows)]
		for j := range rows {
			out[j] = finite(*c.float(&rows[j]))
		}
	case c.text != nil:
		out := v.texts[at : at+len(rows)]
		for j := range rows {
			out[j] = *c.text(&rows[j])
		}
	case c.derived != nil:
		out := v.floats[at : at+len(rows)]
		for j := range rows {
			out[j] = finite(c.derived(&rows[j]))
		}
	case c.counted != nil:
		out := v.ints[at : at+len(rows)]
		for j := range rows {
			out[j] = c.counted(&rows[j])
		}
	}
}

// finite is f, or NaN (null) when f is not a number one can write.
func finite(f float64) float64 {
	if math.IsInf(f, 0) {
		return math.NaN()
	}
	return f
}
