package verdict

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/schema"
)

// The percentage that the load goes by is the limit, up to its last digit, unless the
// experiment sets another one; and a load that is to end otherwise is not asked.
func TestStableGoesByItsPercentage(t *testing.T) {
	t.Parallel()
	moves := func(percentage, to float64) *world {
		w := clean()
		windowed(percentage, [2]float64{100, 10}, [2]float64{to, 10}, [2]float64{100, 10})(w)
		return w
	}
	lax := map[string]schema.Threshold{"stable": {Warn: limit(0.5)}}
	for _, c := range []struct {
		percentage, to float64
		limits         map[string]schema.Threshold
		want           Verdict
	}{
		{10, 110, nil, Valid},
		{10, 111, nil, Degraded},
		{11, 111, nil, Valid},
		{999, 1099, nil, Valid},
		{10, 130, lax, Valid},
	} {
		f := moves(c.percentage, c.to).judge(c.limits)["stable"]
		if f.Verdict != c.want || f.Warn == nil || c.limits == nil && *f.Warn != c.percentage/100 {
			t.Errorf("%g %% and 100 to %g: %+v, want %s", c.percentage, c.to, f, c.want)
		}
		if doubted := f.Taints["time_to_first_token"] == validity.Doubtful; doubted != (c.want == Degraded) {
			t.Errorf("%g %% and 100 to %g: TTFT in doubt %t: %v", c.percentage, c.to, doubted, f.Taints)
		}
	}
	if f := moves(10, 130).judge(nil)["stable"]; !strings.Contains(f.Detail, "differs by 30.0 %, latency by 0 %, and both may differ by 10 %") {
		t.Error(f.Detail)
	}
	if f, ok := clean().judge(nil)["stable"]; ok {
		t.Errorf("a load of 200 requests is asked whether it is stable: %s", f.Detail)
	}
}
