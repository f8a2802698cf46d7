package draw

import (
	"strings"
	"testing"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 0.25: "0.25", 1: "1", 20: "20", 1234.5: "1,235", 9999: "9,999", 12000: "12k", 1.5e6: "1.5M", -3: "−3",
		0.1 + 0.2: "0.3", 2e-5: "2.0e-05",
	} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
}

// One thing of which several values stand side by side has its name in the
// middle.
func TestNamesHaveRoom(t *testing.T) {
	t.Parallel()
	s := newScale(Axis{Names: true, Ticks: []Tick{{At: 0, Label: "one"}}}, extent{-0.1, 0.1}, 5)
	if s.at(0) != 0.5 || s.at(-0.1) < 0.3 || s.at(0.1) > 0.7 {
		t.Errorf("the range is %v to %v", s.lo, s.hi)
	}
}

// An interval from next to nothing to a million leaves the values apart.
func TestWideIntervals(t *testing.T) {
	t.Parallel()
	p := &Panel{Series: []Series{{Points: []Point{
		{X: 1, Y: 20, Low: 19, High: 21},
		{X: 2, Y: 40, Low: 0.003, High: 1e6},
	}}}}
	if _, y := extents(p); y.lo != 0.003 || y.hi != 120 {
		t.Errorf("y reaches from %v to %v", y.lo, y.hi)
	}
	p.Y.Log = true
	if _, y := extents(p); y.lo != 2 || y.hi != 400 {
		t.Errorf("on a logarithmic axis y reaches from %v to %v", y.lo, y.hi)
	}
}

// Counts have ticks at whole numbers, and an axis of nothing but zeros reaches
// to one.
func TestTicksOfCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		axis Axis
		e    extent
		want string
	}{
		{Axis{Zero: true, Whole: true}, extent{0, 1}, "0 1"},
		{Axis{Zero: true, Whole: true}, extent{0, 3}, "0 1 2 3"},
		{Axis{Zero: true, Whole: true}, extent{0, 400}, "0 100 200 300 400"},
		{Axis{Zero: true}, extent{0, 0}, "0 0.2 0.4 0.6 0.8 1"},
		{Axis{Least: 0.1}, extent{0, 0}, "0 0.2 0.4 0.6 0.8 1"},
	} {
		var got []string
		for _, tick := range newScale(c.axis, c.e, 6).ticks {
			got = append(got, tick.Label)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%+v from %v to %v: ticks %s, want %s", c.axis, c.e.lo, c.e.hi, s, c.want)
		}
	}
}
