package schema

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
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

// Truth is written in many ways; none of them is a count.
func TestTruth(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]any{
		"true": true, "Yes": true, "on": true, "y": true, "1": true, "T": true, "FALSE": false, "no": false, "off": false, "n": false, "0": false, "f": false, "maybe": "maybe", "2": int64(2),
	} {
		l := &fields.Leaf{Is: fields.IsBool}
		if got := l.SettleText(source.TextNode(word, source.Origin{})).Value; got != want {
			t.Errorf("%q: got %v, want %v", word, got, want)
		}
	}
	for number, want := range map[int64]any{0: false, 1: true, 2: int64(2), -1: int64(-1)} {
		l := &fields.Leaf{Is: fields.IsBool}
		if got := l.SettleText(source.LeafNode(number, source.Origin{})).Value; got != want {
			t.Errorf("%d: got %v, want %v", number, got, want)
		}
		n := &fields.Leaf{Is: fields.IsNumber}
		if got := n.SettleText(source.LeafNode(number, source.Origin{})).Value; got != any(number) {
			t.Errorf("%d in a field of numbers: got %v", number, got)
		}
	}
}

// What requests carry keeps its order, its digits and its fractions.
func TestMembersKeepDigits(t *testing.T) {
	t.Parallel()
	var e Endpoint
	in := `{"extra":{"big":9007199254740993,"small":7,"point": 0.50,"one":1.0,"none":null,"big":9007199254740995,"list":[-9223372036854775808, {"z":18446744073709551615,"a":1e3}]}}`
	if err := json.Unmarshal([]byte(in), &e); err != nil {
		t.Fatal(err)
	}
	if got := e.Extra.Get("big"); got != json.Number("9007199254740995") {
		t.Errorf("big is %v", got)
	}
	out, err := json.Marshal(e.Extra)
	if want := `{"big":9007199254740995,"small":7,"point":0.50,"one":1.0,"none":null,"list":[-9223372036854775808,{"z":18446744073709551615,"a":1e3}]}`; err != nil || string(out) != want {
		t.Errorf("written %s, %v; want %s", out, err, want)
	}
}
