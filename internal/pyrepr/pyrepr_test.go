package pyrepr_test

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/pyrepr"
)

// What CPython 3.12 prints for the same values.
func TestAsPythonPrints(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{
		0: "0.0", math.Copysign(0, -1): "-0.0", 1: "1.0", 0.1: "0.1", -2.5: "-2.5", 100: "100.0",
		1e-4: "0.0001", 9.9e-5: "9.9e-05", 1e15: "1000000000000000.0", 1e16: "1e+16", 1.5e300: "1.5e+300",
		math.Inf(1): "inf", math.Inf(-1): "-inf",
	} {
		if got := pyrepr.Float(f); got != want {
			t.Errorf("%v is %s, want %s", f, got, want)
		}
	}
	if got := pyrepr.Float(math.NaN()); got != "nan" {
		t.Errorf("NaN is %s", got)
	}
	for s, want := range map[string]string{
		"": "''", "a": "'a'", "it's": `"it's"`, `"`: `'"'`, `it's "so"`: `'it\'s "so"'`, "a\nb\t\\": `'a\nb\t\\'`,
	} {
		if got := pyrepr.Quote(s); got != want {
			t.Errorf("%q is %s, want %s", s, got, want)
		}
	}
}
