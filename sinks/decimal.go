package sinks

import (
	"bytes"
	"math"
	"strconv"
)

// appendShortest appends f with the fewest digits that read back equal, without
// an exponent. Most floats here are whole nanoseconds told in ms: k/10⁶ with
// |k| < 10¹⁵ has at most 15 digits, and two decimals of at most 15 digits are
// never the same float, so its digits without closing zeros are the fewest.
func appendShortest(b []byte, f float64) []byte {
	k := math.RoundToEven(f * 1e6)
	if a := math.Abs(k); a >= 1 && a < 1e15 && k/1e6 == f {
		return appendMillionths(b, int64(k))
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64)
}

// appendMillionths appends k/10⁶.
func appendMillionths(b []byte, k int64) []byte {
	if k < 0 {
		b, k = append(b, '-'), -k
	}
	b = strconv.AppendInt(b, k/1e6, 10)
	rest := k % 1e6
	if rest == 0 {
		return b
	}
	b = append(b, '.')
	for place := int64(1e5); rest > 0; place /= 10 {
		b = append(b, byte('0'+rest/place))
		rest %= place
	}
	return b
}

// appendNumber appends f as Python's repr spells it; null when it is no number.
func appendNumber(b []byte, f float64) []byte {
	if !isFinite(f) {
		return append(b, "null"...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	from := len(b)
	b = appendShortest(b, f)
	if bytes.IndexByte(b[from:], '.') < 0 {
		b = append(b, ".0"...)
	}
	return b
}
