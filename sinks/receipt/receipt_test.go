package receipt_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sinks/receipt"
)

// full is a receipt in which every field is known.
func full() *receipt.Receipt {
	r := receipt.New()
	for _, f := range receipt.Fields() {
		if f.Kind == receipt.Numeric {
			r.Number(f.Name, 0.5)
		} else {
			r.Text(f.Name, "some")
		}
	}
	r.Number("requests.attempted", 100)
	r.Number("requests.ok", 100)
	r.Asked = []receipt.Fact{{Name: "datasets.0.prompts.isl.mean", Value: "64"}, {Name: "phases.0.concurrency", Value: "8"}}
	return r
}

func find(t *testing.T, list []receipt.Difference, name string) *receipt.Difference {
	t.Helper()
	i := slices.IndexFunc(list, func(d receipt.Difference) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}

func TestCanonicalFormComesBack(t *testing.T) {
	t.Parallel()
	for _, r := range []*receipt.Receipt{full(), receipt.New()} {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back receipt.Receipt
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if again, _ := json.Marshal(&back); string(again) != string(b) || back.Hash() != r.Hash() {
			t.Errorf("written as\n%s\nand read as\n%s", b, again)
		}
	}
	one := full()
	one.Number("requests.ok", 99)
	if one.Hash() == full().Hash() {
		t.Error("another count has the same hash")
	}
}

func TestUnknownEqualsNothing(t *testing.T) {
	t.Parallel()
	a, b := full(), full()
	if d := receipt.Differences(a, b); len(d) > 0 {
		t.Fatalf("equal receipts differ in %v", d)
	}
	a.Text("endpoint.type", "unknown")
	b.Text("server.version", "")
	a.Number("prefix.hit_rate_server", math.NaN())
	b.Number("prefix.hit_rate_server", math.NaN())
	list := receipt.Differences(a, b)
	for _, name := range []string{"server.version", "prefix.hit_rate_server"} {
		if d := find(t, list, name); d == nil || !d.Unknown || d.Class != receipt.Noted {
			t.Errorf("%s: %+v, want an unknown that is noted", name, d)
		}
	}
	a.Asked = nil // endpoint.type is among the settings where these are known
	if d := find(t, receipt.Differences(a, b), "endpoint.type"); d == nil || !d.Unknown {
		t.Errorf("endpoint.type: %+v, want unknown", d)
	}
}

func TestClasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		do    func(a, b *receipt.Receipt)
		name  string
		class receipt.Class
		says  string
	}{
		{"a revision of the data that hits the cache less", func(a, b *receipt.Receipt) {
			a.Number("prefix.hit_rate_theoretical", 0.96)
			b.Number("prefix.hit_rate_theoretical", 0.66)
		}, "prefix.hit_rate_theoretical", receipt.Fatal, "raises time_to_first_token"},
		{"a little less", func(a, b *receipt.Receipt) {
			a.Number("prefix.hit_rate_theoretical", 0.66)
			b.Number("prefix.hit_rate_theoretical", 0.69)
		}, "prefix.hit_rate_theoretical", receipt.Material, "lowers time_to_first_token"},
		{"longer answers", func(a, b *receipt.Receipt) {
			a.Number("tokens.output.generated.mean", 128)
			b.Number("tokens.output.generated.mean", 96)
		}, "tokens.output.generated.mean", receipt.Material, "lowers request_latency"},
		{"another definition", func(a, b *receipt.Receipt) {
			a.Text("definition.itl", "per_request")
			b.Text("definition.itl", "per_request_to_end")
		}, "definition.itl", receipt.Material, "moves inter_token_latency"},
		{"another seed", func(a, b *receipt.Receipt) { a.Text("seed", "1") }, "seed", receipt.Noted, ""},
		{"another setting", func(a, b *receipt.Receipt) { b.Asked[1].Value = "9" }, "--concurrency", receipt.Fatal, ""},
		{"another API, of which only fields tell", func(a, b *receipt.Receipt) {
			a.Asked = nil
			a.Text("endpoint.type", "chat")
		}, "endpoint.type", receipt.Fatal, ""},
	} {
		a, b := full(), full()
		c.do(a, b)
		list := receipt.Differences(a, b)
		d := find(t, list, c.name)
		if d == nil || d.Class != c.class || !strings.Contains(d.CanMove(), c.says) {
			t.Errorf("%s: %+v, want %s of %s that %s", c.what, d, c.class, c.name, c.says)
		}
		if !slices.IsSortedFunc(list, func(x, y receipt.Difference) int { return int(y.Class - x.Class) }) {
			t.Errorf("%s: the worst does not stand first: %v", c.what, list)
		}
	}
}

// All settings that differ are named, what was asked for first, by their flags; what no flag
// is about, and one of several phases, by its key.
func TestSettingsAreNamedAsTyped(t *testing.T) {
	t.Parallel()
	of := func(pairs ...string) *receipt.Receipt {
		r := receipt.New()
		for i := 0; i < len(pairs); i += 2 {
			r.Asked = append(r.Asked, receipt.Fact{Name: pairs[i], Value: pairs[i+1]})
		}
		return r
	}
	for _, c := range []struct {
		a, b *receipt.Receipt
		want string
	}{
		{
			of("datasets.0.entries", "200", "phases.0.concurrency", "8", "phases.0.requests", "200"),
			of("datasets.0.entries", "230", "phases.0.concurrency", "9", "phases.0.requests", "230"),
			"--concurrency is 8 in the first, 9 in the second; --request-count is 200 in the first, 230 in the second; " +
				"--num-dataset-entries is 200 in the first, 230 in the second",
		},
		{
			of("datasets.0.prompts.isl.mean", "64", "datasets.0.unheard", "2", "phases.0.kind", "warmup",
				"phases.0.concurrency", "1", "phases.1.concurrency", "2"),
			of("datasets.0.prompts.isl.mean", "128", "phases.0.kind", "warmup",
				"phases.0.concurrency", "1", "phases.1.concurrency", "4"),
			"--isl is 64 in the first, 128 in the second; datasets.0.unheard is 2 in the first, not set in the second; " +
				"phases.1.concurrency is 2 in the first, 4 in the second",
		},
	} {
		var said []string
		for _, d := range receipt.Differences(c.a, c.b) {
			if d.Class == receipt.Fatal {
				said = append(said, d.String())
			}
		}
		if got := strings.Join(said, "; "); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}

// Two draws of one distribution are the same workload, however few they are.
func TestChanceIsNoDifference(t *testing.T) {
	t.Parallel()
	a, b := full(), full()
	for i, r := range []*receipt.Receipt{a, b} {
		r.Number("tokens.input.sent.mean", 500+float64(60*i)) // 11 %
		r.Number("tokens.input.sent.sd", 250)
	}
	const name = "tokens.input.sent.mean"
	if d := find(t, receipt.Differences(a, b), name); d != nil {
		t.Errorf("100 lengths each of 500 ± 250: %v", d)
	}
	for _, r := range []*receipt.Receipt{a, b} {
		r.Number("requests.attempted", 1e6)
	}
	if d := find(t, receipt.Differences(a, b), name); d == nil || d.Class != receipt.Fatal {
		t.Errorf("a million each: %+v, want a fatal difference", d)
	}
}

// A document holds against its hash, with fields that a newer program writes; and against
// what is made again.
func TestDocument(t *testing.T) {
	t.Parallel()
	of := func(ok float64) *receipt.Document {
		r := full()
		r.Text("server.name", "a <b> & c")
		r.Number("requests.ok", ok)
		return receipt.NewDocument([]receipt.Run{{Run: "a-t0", Cell: "base", Receipt: r}})
	}
	b, err := of(100).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	d, err := receipt.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if why := d.Follows(of(100)); why != "" {
		t.Error(why)
	}
	if why := d.Follows(of(99)); why != "run a-t0: requests.ok is 100, and by the tables 99" {
		t.Error(why)
	}
	for _, bad := range []string{
		strings.Replace(string(b), `"requests.ok": 100`, `"requests.ok": 101`, 1),
		strings.Replace(string(b), "receipt/1", "receipt/2", 1), string(b[:len(b)/2]), "{}",
	} {
		if _, err := receipt.Parse([]byte(bad)); err == nil {
			t.Errorf("read: %.60s", bad)
		}
	}
}

func TestPool(t *testing.T) {
	t.Parallel()
	a, b := full(), full()
	a.Text("seed", "2")
	b.Text("seed", "1")
	a.Number("requests.ok", 10)
	b.Number("requests.ok", 20)
	b.Number("requests.cut", math.NaN())
	all := receipt.Pool([]*receipt.Receipt{a, b})
	if seeds, _ := all.Get("seed"); seeds != "1, 2" || all.Float("requests.ok") != 15 {
		t.Errorf("seeds %s, ok %v", seeds, all.Float("requests.ok"))
	}
	if _, known := all.Get("requests.cut"); known {
		t.Error("what is unknown of one run is known of all")
	}
}

// Each field names metrics that there are, and fields that there are.
func TestFields(t *testing.T) {
	t.Parallel()
	r := full()
	for _, f := range receipt.Fields() {
		if _, known := r.Get(f.Name); !known || f.Doc == "" {
			t.Errorf("%s: set %v, doc %q", f.Name, known, f.Doc)
		}
		for _, m := range f.Moves {
			if _, ok := metrics.Lookup(m.Metric); !ok {
				t.Errorf("%s moves %s, which is no metric", f.Name, m.Metric)
			}
		}
		if f.Class == receipt.Material && len(f.Moves) == 0 {
			t.Errorf("%s is material and moves nothing", f.Name)
		}
	}
}

func FuzzReceipt(f *testing.F) {
	b, _ := json.Marshal(full())
	f.Add(b)
	f.Add([]byte(`{"requests.ok": "many", "asked": {"a": 1}}`))
	f.Add([]byte(`{"requests.ok": "unknown", "asked": "unknown", "seed": null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r receipt.Receipt
		if json.Unmarshal(b, &r) != nil {
			return
		}
		var back receipt.Receipt
		again, err := json.Marshal(&r)
		if err == nil {
			err = json.Unmarshal(again, &back)
		}
		if err != nil || back.Hash() != r.Hash() {
			t.Errorf("%s comes back otherwise: %v", again, err)
		}
	})
}

// Failures of two sides are told apart by Fisher's exact test, and said as counts: by hand, of
// 200 each 8 against none have a chance of 0.7 %, 7 of 1.5 %.
func TestFailedSharesByFishersTest(t *testing.T) {
	t.Parallel()
	failed := func(k, n float64) *receipt.Receipt {
		r := full()
		r.Number("requests.attempted", n)
		r.Number("requests.failed", k)
		r.Number("requests.failed_share", k/n)
		return r
	}
	for _, c := range []struct {
		a, b     *receipt.Receipt
		material bool
		said     [2]string
	}{
		{failed(0, 200), failed(8, 200), true, [2]string{"0 of 200", "8 of 200"}},
		{failed(0, 200), failed(7, 200), false, [2]string{}},
		{failed(100, 5000), failed(150, 5000), true, [2]string{"100 of 5,000", "150 of 5,000"}}, // one point apart
		{failed(2, 10000), failed(40, 20000), true, [2]string{"2 of 10,000", "40 of 20,000"}},   // less than one
		{failed(0, 10), failed(4, 10), false, [2]string{}},                                      // 40 points, of few
		{failed(5, 100), failed(10, 200), false, [2]string{}},
	} {
		d := find(t, receipt.Differences(c.a, c.b), "requests.failed_share")
		if (d != nil) != c.material {
			t.Errorf("%v against %v: %+v, want material %t", c.a.Float("requests.failed"), c.b.Float("requests.failed"), d,
				c.material)
			continue
		}
		if d != nil && (d.Class != receipt.Material || d.A != c.said[0] || d.B != c.said[1]) {
			t.Errorf("said as %+v, want %v", d, c.said)
		}
		if d != nil && len(d.Moves) == 0 {
			t.Errorf("what it moves is not said: %+v", d)
		}
	}
	a, b := failed(0, 200), failed(50, 200)
	a.Number("requests.failed", math.NaN())
	if d := find(t, receipt.Differences(a, b), "requests.failed_share"); d != nil {
		t.Errorf("a count that is not known is compared: %+v", d)
	}
}
