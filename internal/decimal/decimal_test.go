package decimal_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"aiperf.dev/aiperf/internal/decimal"
)

// The short way must give what strconv gives, near its limits too.
func TestShortestIsStrconvs(t *testing.T) {
	t.Parallel()
	values := []float64{
		0, math.Copysign(0, -1), 1, -1, 0.1, 1e-6, -1e-6, 1.5e-6, 4.9e-7, 5e-7, 1e-7, 123.456789, 1e9, 1e14, 1e15,
		123456789.0123456,
		999999999.999999, 999999999.9999999, 1e21, math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1 + 0.2, 12.000001,
		-0.25,
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		k := rng.Int64N(1 << (1 + rng.IntN(62)))
		values = append(values, float64(k)/1e6, -float64(k)/1e6, math.Nextafter(float64(k)/1e6, 0),
			rng.NormFloat64()*1e3, 1000/(float64(k)/1e6+1))
	}
	for _, v := range values {
		if got, want := string(decimal.Append(nil, v)), strconv.FormatFloat(v, 'f', -1, 64); got != want {
			t.Fatalf("decimal.Append(%v) = %s, want %s", v, got, want)
		}
	}
}
