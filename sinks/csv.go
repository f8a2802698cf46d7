package sinks

import (
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/decimal"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
)

// csvOutput writes RFC 4180: one header, CRLF, quotes where needed. Null is an
// empty field; an empty text that is not null is "".
type csvOutput struct {
	out   io.Writer
	fs    []Field
	short []bool // by column: told to the thousandth
	buf   []byte
	parts []csvPart // of the batch in hand
}

// csvPart is a piece of every row of a batch: columns whose values are all the
// same, rendered once, and a column that differs from row to row.
type csvPart struct {
	same   []byte
	column int // −1: none, the row ends
}

func newCSVOutput(out io.Writer, table string, fs []Field) *csvOutput {
	o := &csvOutput{out: out, fs: fs, short: make([]bool, len(fs))}
	for i, f := range fs {
		o.short[i] = InThousandths(table, f)
		if i > 0 {
			o.buf = append(o.buf, ',')
		}
		o.buf = AppendCSV(o.buf, inert(f.Name))
	}
	o.buf = append(o.buf, "\r\n"...)
	return o
}

// InThousandths reports whether the CSV of a table gives a column to the thousandth: a
// request's times in ms, of which the columns in ns have every digit, and its speed. They
// were a tenth of the file.
func InThousandths(table string, f Field) bool {
	return table == "requests" && f.Kind == Float64 && (f.Unit == "ms" || f.Unit == "tokens/s")
}

func (o *csvOutput) write(b *batch) error {
	if b.n == 0 {
		return nil
	}
	o.split(b)
	for j := range b.n {
		for i := range o.parts {
			p := &o.parts[i]
			o.buf = append(o.buf, p.same...)
			if p.column >= 0 {
				o.buf = o.appendField(o.buf, p.column, &b.cols[p.column], j)
			}
		}
		if len(o.buf) >= 1<<16 {
			if err := o.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// split tells the columns of a batch whose values are all the same from those
// that differ.
func (o *csvOutput) split(b *batch) {
	o.parts = o.parts[:0]
	p := o.part()
	for i := range o.fs {
		if i > 0 {
			p.same = append(p.same, ',')
		}
		if b.cols[i].uniform(0, b.n) {
			p.same = o.appendField(p.same, i, &b.cols[i], 0)
			continue
		}
		p.column = i
		p = o.part()
	}
	p.same = append(p.same, "\r\n"...)
}

// part is one more part, empty, with the room that it had in an earlier batch.
func (o *csvOutput) part() *csvPart {
	n := len(o.parts)
	if n < cap(o.parts) {
		o.parts = o.parts[:n+1]
	} else {
		o.parts = append(o.parts, csvPart{})
	}
	p := &o.parts[n]
	p.same, p.column = p.same[:0], -1
	return p
}

func (o *csvOutput) flush() error {
	_, err := o.out.Write(o.buf)
	o.buf = o.buf[:0]
	return err
}

func (o *csvOutput) close() error { return o.flush() }

// appendField appends value j of column i, nothing for null: integers and times
// of the clock as integers, moments as RFC 3339, floats with the digits that
// read back equal, or to the thousandth.
func (o *csvOutput) appendField(b []byte, i int, v *vector, j int) []byte {
	f := &o.fs[i]
	switch f.Kind {
	case Float64, Float32:
		switch x := v.floats[j]; {
		case f.Null && x != x:
			return b
		case f.Kind == Float32:
			return appendFloat32(b, x)
		case o.short[i]:
			return appendFloat(b, math.Round(x*1e3)/1e3+0) // not −0
		default:
			return appendFloat(b, x)
		}
	case Text:
		if f.Null && v.texts[j] == "" {
			return b
		}
		return AppendCSV(b, inert(v.texts[j]))
	}
	x := v.ints[j]
	switch {
	case f.Null && x == record.None:
		return b
	case f.Kind == Bool:
		return strconv.AppendBool(b, x != 0)
	case f.Kind == Time:
		return appendTime(b, x)
	}
	return strconv.AppendInt(b, x, 10)
}

// appendTime appends a moment of the clock, in ns since the epoch, as RFC 3339
// with nine digits of the second.
func appendTime(b []byte, x int64) []byte {
	t := time.Unix(0, x).UTC()
	b = t.AppendFormat(b, time.RFC3339) // which is made without reading a layout
	b[len(b)-1] = '.'
	for ns, place := t.Nanosecond(), 100_000_000; place > 0; place /= 10 {
		b = append(b, byte('0'+ns/place%10))
	}
	return append(b, 'Z')
}

// appendFloat avoids exponents where a person would.
func appendFloat(b []byte, x float64) []byte {
	if !usual(x) {
		return strconv.AppendFloat(b, x, 'e', -1, 64)
	}
	return decimal.Append(b, x)
}

func appendFloat32(b []byte, x float64) []byte {
	if !usual(x) {
		return strconv.AppendFloat(b, x, 'e', -1, 32)
	}
	return strconv.AppendFloat(b, x, 'f', -1, 32)
}

func usual(x float64) bool {
	a := math.Abs(x)
	return a == 0 || a >= 1e-6 && a < 1e15
}

// AppendCSV appends s, in quotes where RFC 4180 wants them. A CSV file is read on
// terminals, so texts of servers and data sets stand in it without escape sequences.
func AppendCSV(b []byte, s string) []byte {
	s = words.Clean(s)
	if s != "" && !needsQuotes(s) {
		return append(b, s...)
	}
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' {
			b = append(b, '"')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

// inert is a text that a spreadsheet shows and does not compute: one that begins as a
// formula gets an apostrophe in front. A number stays a number.
func inert(s string) string {
	if s == "" || !strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}

func needsQuotes(s string) bool {
	for i := range len(s) {
		if c := s[i]; c == ',' || c == '"' || c == '\r' || c == '\n' {
			return true
		}
	}
	return false
}
