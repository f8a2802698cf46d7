package schema

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestForms(t *testing.T) {
	t.Parallel()
	num := func(f float64) *float64 { return &f }
	for _, c := range []struct {
		in         string
		into, want any
	}{
		{`["json","csv"]`, new(Exports), &Exports{"json", "csv"}},
		{`"json"`, new(Exports), &Exports{"json"}},
		{`false`, &Exports{"json"}, new(Exports)},
		{`{"points":[{"time_s":0,"qps":1},{"time_s":30,"qps":8}]}`, new(RateSeries), &RateSeries{{0, 1}, {30, 8}}},
		{`[{"time_s":0,"qps":1}]`, new(RateSeries), &RateSeries{{0, 1}}},
		{`{"mean":4,"stddev":0}`, new(Shape), &Shape{Mean: num(4), StdDev: num(0)}},
		{`{"peaks":[{"distribution":{"mean":20},"weight":70},{"value":3,"weight":30}]}`, new(Shape), &Shape{Peaks: []Shape{{Mean: num(20), Weight: num(70)}, {Value: num(3), Weight: num(30)}}}},
		{`"inf"`, new(Duration), Seconds(math.Inf(1))},
		{`2.5`, new(Duration), Seconds(2.5)},
	} {
		if err := json.Unmarshal([]byte(c.in), c.into); err != nil {
			t.Errorf("%s: %v", c.in, err)
		} else if diff := cmp.Diff(c.want, c.into); diff != "" {
			t.Errorf("%s: %s", c.in, diff)
		}
	}
	out, err := json.Marshal(RateSeries{{0, 1}})
	if err != nil || string(out) != `{"points":[{"time_s":0,"qps":1}]}` {
		t.Errorf("%s %v", out, err)
	}
}
