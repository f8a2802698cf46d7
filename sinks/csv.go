package sinks

import (
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// csvOutput writes RFC 4180: one header, CRLF, quotes where needed. Null is an
// empty field; an empty text that is not null is "".
type csvOutput struct {
	out io.Writer
	fs  []Field
	buf []byte
}

func newCSVOutput(out io.Writer, fs []Field) *csvOutput {
	o := &csvOutput{out: out, fs: fs}
	for i, f := range fs {
		o.separate(i)
		o.buf = appendCSV(o.buf, f.Name)
	}
	o.buf = append(o.buf, "\r\n"...)
	return o
}

func (o *csvOutput) separate(i int) {
	if i > 0 {
		o.buf = append(o.buf, ',')
	}
}

func (o *csvOutput) write(b *batch) error {
	for j := range b.n {
		for i := range o.fs {
			o.separate(i)
			if !b.cols[i].null(&o.fs[i], j) {
				o.buf = appendField(o.buf, &o.fs[i], &b.cols[i], j)
			}
		}
		o.buf = append(o.buf, "\r\n"...)
		if len(o.buf) >= 1<<16 {
			if err := o.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *csvOutput) flush() error {
	_, err := o.out.Write(o.buf)
	o.buf = o.buf[:0]
	return err
}

func (o *csvOutput) close() error { return o.flush() }

// appendField appends value j of a column: integers and times of the clock as
// integers, moments as RFC 3339, floats with the digits that read back equal.
func appendField(b []byte, f *Field, v *vector, j int) []byte {
	switch f.Kind {
	case Float64:
		return appendFloat(b, v.floats[j], 64)
	case Float32:
		return appendFloat(b, v.floats[j], 32)
	case Text:
		return appendCSV(b, v.texts[j])
	case Bool:
		return strconv.AppendBool(b, v.ints[j] != 0)
	case Time:
		return time.Unix(0, v.ints[j]).UTC().AppendFormat(b, "2006-01-02T15:04:05.000000000Z")
	}
	return strconv.AppendInt(b, v.ints[j], 10)
}

// appendFloat avoids exponents where a person would.
func appendFloat(b []byte, x float64, bits int) []byte {
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e15) {
		return strconv.AppendFloat(b, x, 'e', -1, bits)
	}
	return strconv.AppendFloat(b, x, 'f', -1, bits)
}

// appendCSV appends s, in quotes where RFC 4180 wants them.
func appendCSV(b []byte, s string) []byte {
	if s != "" && !strings.ContainsAny(s, ",\"\r\n") {
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
