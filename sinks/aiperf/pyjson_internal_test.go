package aiperf

import (
	"math"
	"testing"
)

func TestAppendNumber(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0.0", 12: "12.0", -3: "-3.0", 0.25: "0.25", 1e-4: "0.0001", 9e-5: "9e-05", 1e15: "1000000000000000.0",
		1e16: "1e+16", 0.000123: "0.000123",
		math.Inf(1): "null",
	} {
		if got := string(appendNumber([]byte("x"), v)); got != "x"+want {
			t.Errorf("appendNumber(%v) = %s, want x%s", v, got, want)
		}
	}
}
