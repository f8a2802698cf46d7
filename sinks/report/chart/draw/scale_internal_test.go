package draw

import "testing"

func TestNumber(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 0.25: "0.25", 1: "1", 20: "20", 1234.5: "1235", 9999: "9999", 12000: "12k", 1.5e6: "1.5M", -3: "-3",
		0.1 + 0.2: "0.3", 2e-5: "2.0e-05",
	} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
}
