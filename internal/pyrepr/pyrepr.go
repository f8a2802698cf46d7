// Package pyrepr writes values as Python's repr does: AIPerf's files, and the names of
// its folders, hold such text. In goes a float or a string, out comes its text.
package pyrepr

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/decimal"
)

// AppendFloat appends the shortest text that reads back as f: with a point, or with an
// exponent from 1e16 on and below 1e-4.
func AppendFloat(b []byte, f float64) []byte {
	switch a := math.Abs(f); {
	case math.IsNaN(f):
		return append(b, "nan"...)
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	case a != 0 && (a < 1e-4 || a >= 1e16):
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	from := len(b)
	b = decimal.Append(b, f)
	if bytes.IndexByte(b[from:], '.') < 0 {
		b = append(b, ".0"...)
	}
	return b
}

// Float is the same as a string.
func Float(f float64) string { return string(AppendFloat(nil, f)) }

// Quote is a string in quotes: single ones, unless it holds those and no double ones.
func Quote(s string) string {
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	s = strings.NewReplacer(`\`, `\\`, quote, `\`+quote, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(s)
	return quote + s + quote
}
