// Package decimal writes floats with the fewest digits that read back equal:
// a float goes in, decimal digits without an exponent come out.
package decimal

import (
	"math"
	"strconv"
)

// Append appends f with the fewest digits that read back equal, without
// an exponent. Most floats here are whole nanoseconds told in ms: k/10⁶ with
// |k| < 10¹⁵ has at most 15 digits, and two decimals of at most 15 digits are
// never the same float, so its digits without closing zeros are the fewest.
func Append(b []byte, f float64) []byte {
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
