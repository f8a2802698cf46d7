package decide_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// arm has one cell whose trials have the given TTFT medians and throughputs.
func arm(name string, ttft, throughput []float64) decide.Arm {
	cell := decide.ArmCell{
		Label: "concurrency 4", Closed: true,
		Alike: []decide.Fact{{Name: "endpoint.type", Value: "chat"}},
	}
	for i := range ttft {
		cell.Runs = append(cell.Runs, decide.Outcome{
			Run: sweep.Run{Trial: i}, Summaries: run(throughput[i], ttft[i]),
			Verdict: validity.Valid, OK: 100,
		})
	}
	return decide.Arm{Name: name, Cells: []decide.ArmCell{cell}}
}

func times(v []float64, f float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = f * x
	}
	return out
}

var (
	ttft50   = decide.Key{Tag: "time_to_first_token", Stat: "p50"}
	tokenKey = decide.Key{Tag: "output_token_throughput", Stat: "avg"}
	base     = []float64{40, 41, 39.5, 40.2, 40.6}
	flow     = []float64{400, 404, 399, 401, 402}
	wobble   = []float64{1, 1.004, .997, 1.002, .999}
)

func wobbled(v []float64, f float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = f * x * wobble[i]
	}
	return out
}

func find(t *testing.T, c *decide.Comparison, k decide.Key) decide.Row {
	t.Helper()
	for _, r := range c.Rows {
		if r.Key == k {
			return r
		}
	}
	t.Fatalf("no row for %v", k)
	return decide.Row{}
}

// A p90 of few requests is lower than that of many from the same server: it decides
// nothing. A median is not moved, and neither are large samples.
func TestPercentilesAreOfEqualSamples(t *testing.T) {
	t.Parallel()
	sized := func(name string, n int64) decide.Arm {
		a := arm(name, wobbled(base, 1), wobbled(flow, 1))
		for i := range a.Cells[0].Runs {
			for j := range a.Cells[0].Runs[i].Summaries {
				for k := range a.Cells[0].Runs[i].Summaries[j].Stats {
					s := &a.Cells[0].Runs[i].Summaries[j].Stats[k]
					s.Count, s.NEff, s.P90 = n, float64(n), 2*s.P50
				}
			}
		}
		return a
	}
	ttft90 := decide.Key{Tag: "time_to_first_token", Stat: "p90"}
	for _, c := range []struct {
		a, b   int64
		p90    decide.Verdict
		unlike bool
	}{
		{100, 100, decide.Equivalent, false}, {100, 140, decide.Equivalent, false}, {100, 1000, decide.Unclear, true}, {1000, 100, decide.Unclear, true}, {1000, 10_000, decide.Equivalent, false},
	} {
		got, err := decide.Compare(sized("a", c.a), sized("b", c.b),
			decide.Terms{Paired: true, Primary: []decide.Key{ttft50, ttft90}})
		if err != nil {
			t.Fatal(err)
		}
		r := find(t, got, ttft90)
		if r.Outcome != c.p90 || strings.Contains(r.Note, "requests against") != c.unlike {
			t.Errorf("p90 of %d requests against %d: %s, %q", c.a, c.b, r.Outcome, r.Note)
		}
		if r := find(t, got, ttft50); r.Outcome != decide.Equivalent {
			t.Errorf("p50 of %d requests against %d: %s, %q", c.a, c.b, r.Outcome, r.Note)
		}
	}
}

// The four outcomes, both ways of a metric, and what follows for the exit code.
func TestCompareOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what             string
		candidate        decide.Arm
		terms            decide.Terms
		ttft, throughput decide.Verdict
		all              decide.Verdict
		exit             diag.Code
	}{
		{"the same", arm("b", wobbled(base, 1), wobbled(flow, 1)), decide.Terms{Paired: true}, decide.Equivalent, decide.Equivalent, decide.Equivalent, diag.OK},
		{"slower", arm("b", wobbled(base, 1.1), wobbled(flow, 1/1.1)), decide.Terms{Paired: true}, decide.Worse, decide.Worse, decide.Worse, diag.Missed},
		{"faster", arm("b", wobbled(base, .9), wobbled(flow, 1.1)), decide.Terms{Paired: true}, decide.Better, decide.Better, decide.Better, diag.OK},
		{"a little slower", arm("b", wobbled(base, 1.03), wobbled(flow, 1)), decide.Terms{Paired: true}, decide.Equivalent, decide.Equivalent, decide.Equivalent, diag.OK},
		{"a little slower, narrow margin", arm("b", wobbled(base, 1.03), wobbled(flow, 1)), decide.Terms{Paired: true, Margin: .01}, decide.Worse, decide.Equivalent, decide.Worse, diag.Missed},
		{"noisy", arm("b", []float64{30, 60, 35, 44, 42}, []float64{300, 500, 410, 350, 420}), decide.Terms{Paired: true}, decide.Unclear, decide.Unclear, decide.Unclear, diag.Invalid},
		{"noisy, passed", arm("b", []float64{30, 60, 35, 44, 42}, wobbled(flow, 1)), decide.Terms{Paired: true, Undecided: decide.AsPassed}, decide.Unclear, decide.Equivalent, decide.Unclear, diag.OK},
		{"noisy, failed", arm("b", []float64{30, 60, 35, 44, 42}, wobbled(flow, 1)), decide.Terms{Paired: true, Undecided: decide.AsMissed}, decide.Unclear, decide.Equivalent, decide.Unclear, diag.Missed},
		{"one trial", arm("b", base[:1], flow[:1]), decide.Terms{Paired: true}, decide.Unclear, decide.Unclear, decide.Unclear, diag.Invalid},
		{"nothing delivered", arm("b", wobbled(base, 1), []float64{0, 0, 0, 0, 0}), decide.Terms{Paired: true}, decide.Equivalent, decide.Worse, decide.Worse, diag.Missed},
		{"endless", arm("b", times(base, math.Inf(1)), wobbled(flow, 1)), decide.Terms{Paired: true}, decide.Worse, decide.Equivalent, decide.Worse, diag.Missed},
		{"unpaired, slower", arm("b", wobbled(base, 1.2), wobbled(flow, 1/1.2)), decide.Terms{}, decide.Worse, decide.Worse, decide.Worse, diag.Missed},
	} {
		got, err := decide.Compare(arm("a", base, flow), c.candidate, c.terms)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		a, b := find(t, got, ttft50), find(t, got, tokenKey)
		if a.Outcome != c.ttft || b.Outcome != c.throughput || got.Outcome() != c.all || got.Exit() != c.exit {
			t.Errorf("%s: TTFT %s %+v\nthroughput %s, all %s, exit %d; want %s, %s, %s, %d", c.what, a.Outcome, a,
				b.Outcome, got.Outcome(), got.Exit(), c.ttft, c.throughput, c.all, c.exit)
		}
	}
}

// By hand: ln ratios of the paired trials, t(1−0.05/(2·4), 4) = 4.3146 for four
// primary metrics.
func TestCompareByHand(t *testing.T) {
	t.Parallel()
	c, err := decide.Compare(arm("a", base, flow), arm("b", wobbled(base, 1.1), wobbled(flow, 1)),
		decide.Terms{Paired: true})
	if err != nil {
		t.Fatal(err)
	}
	if c.Compared != 4 || c.Trials != 5 {
		t.Fatalf("%d primary metrics over %d trials: throughput, TTFT p50, TTFT p99 and error rate were expected",
			c.Compared, c.Trials)
	}
	r := find(t, c, ttft50)
	for _, x := range []struct {
		what      string
		got, want float64
	}{
		{"change", r.Change, 0.10043679},
		{"low", r.Low, 0.09471778},
		{"high", r.High, 0.10618567},
		{"base", r.Base, 40.25674031},
	} {
		if math.Abs(x.got-x.want) > 1e-7*math.Max(1, x.want) {
			t.Errorf("%s is %.8f, want %.8f", x.what, x.got, x.want)
		}
	}
	if r.Margin != decide.DefaultMargin || !r.Primary || !r.BeyondMargin ||
		find(t, c, decide.Key{Tag: "time_to_first_token", Stat: "p99"}).Margin != decide.TailMargin {
		t.Errorf("row = %+v", r)
	}
}

// What a user sees per second is compared by its median: tokens that arrive together give a few requests
// thousands of tokens per second, which make the mean of the slower side the higher one.
func TestCompareSpeedsOfUsersByTheMedian(t *testing.T) {
	t.Parallel()
	with := func(a decide.Arm, median, mean float64) decide.Arm {
		for i := range a.Cells[0].Runs {
			full := &a.Cells[0].Runs[i].Summaries[0]
			s := full.Stats[0]
			s.Tag, s.Header, s.Unit = "output_token_throughput_per_user", "Output Token Throughput Per User", "tokens/sec/user"
			s.P50, s.Avg = median*wobble[i], mean*wobble[i]
			full.Stats = append(full.Stats, s)
		}
		return a
	}
	c, err := decide.Compare(with(arm("a", base, flow), 100, 106), with(arm("b", base, flow), 90.8, 163), decide.Terms{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Rows {
		if r.Key.Tag == "output_token_throughput_per_user" && (r.Key.Stat != "p50" || r.Change > -0.08) {
			t.Errorf("the slower side has %s %+.3f", r.Key.Stat, r.Change)
		}
	}
	find(t, c, decide.Key{Tag: "output_token_throughput_per_user", Stat: "p50"})
}

func TestCompareRefusesTheUnlike(t *testing.T) {
	t.Parallel()
	a, b := arm("a", base, flow), arm("b", base, flow)
	b.Cells[0].Label = "concurrency 8"
	_, err := decide.Compare(a, b, decide.Terms{})
	var d *diag.Error
	if !errors.As(err, &d) || !strings.Contains(d.Message, "no cell in common: concurrency 4 against concurrency 8") {
		t.Errorf("no cell in common: %v", err)
	}
	for _, m := range []float64{-1, 1, 2, math.NaN()} {
		if _, err := decide.Compare(a, arm("b", base, flow), decide.Terms{Margin: m}); err == nil {
			t.Errorf("a margin of %g is taken", m)
		}
	}
}

// A cell whose candidate failed is WORSE, one whose candidate is INVALID or was not
// run is open, and so is one whose baseline gave nothing;
// a metric that only one side has is open.
func TestCompareWithoutNumbers(t *testing.T) {
	t.Parallel()
	dead := arm("b", base, flow)
	for i := range dead.Cells[0].Runs {
		dead.Cells[0].Runs[i].Err, dead.Cells[0].Runs[i].Summaries = "every request failed", nil
	}
	wrong := arm("b", base, flow) // through this program, not through the server
	copy(wrong.Cells[0].Runs, dead.Cells[0].Runs[:3])
	for i := range wrong.Cells[0].Runs[3:] {
		wrong.Cells[0].Runs[3+i].Verdict = validity.Invalid
	}
	absent := arm("b", base, flow)
	absent.Cells[0].Runs = nil
	stopped := arm("b", base[:1], flow[:1]) // by Ctrl-C in its first run
	stopped.Cells[0].Runs[0].Interrupted, stopped.Cells[0].Runs[0].Err = true, "interrupted after 8 requests"
	broken := arm("b", base[:1], flow[:1])
	broken.Cells[0].Runs[0].Err = "every request failed"
	for _, c := range []struct {
		a, b decide.Arm
		want decide.Verdict
		note string
	}{
		{arm("a", base, flow), dead, decide.Worse, "none of 5 candidate runs gave a result"},
		{dead, arm("a", base, flow), decide.Unclear, "none of 5 baseline runs gave a result"},
		{arm("a", base, flow), wrong, decide.Unclear, "none of 5 candidate runs gave a usable result; INVALID: 2"},
		{arm("a", base, flow), absent, decide.Unclear, "the candidate was not measured"},
		{arm("a", base, flow), stopped, decide.Unclear, "the candidate was not measured"},
		{arm("a", base, flow), broken, decide.Worse, "the only candidate run gave no result"},
		{dead, dead, decide.Unclear, "neither side has a usable run"},
	} {
		got, err := decide.Compare(c.a, c.b, decide.Terms{Paired: true})
		if err != nil || got.Outcome() != c.want || got.Rows[0].Note != c.note {
			t.Errorf("%v %v %+v, want %s, %s", err, got.Outcome(), got.Rows, c.want, c.note)
		}
	}
	lame := arm("b", base, flow)
	for i := range lame.Cells[0].Runs {
		s := &lame.Cells[0].Runs[i].Summaries[0]
		s.Stats = append([]metrics.Stat(nil), s.Stats[1:]...) // no TTFT
	}
	got, err := decide.Compare(arm("a", base, flow), lame, decide.Terms{Paired: true})
	if r := find(t, got, ttft50); err != nil || r.Outcome != decide.Unclear || r.Note != "missing on one side" {
		t.Errorf("a metric of one side: %v %+v", err, r)
	}
	invalid := arm("b", base, flow)
	for i := range invalid.Cells[0].Runs[:3] {
		invalid.Cells[0].Runs[i].Verdict = validity.Invalid
	}
	got, err = decide.Compare(arm("a", base, flow), invalid, decide.Terms{Paired: true})
	if r := find(t, got, ttft50); err != nil || r.N != 2 {
		t.Errorf("INVALID runs are compared: %v %+v", err, r)
	}
}

// Shares that are 100 % in every trial are not certain: 40 requests a side are too few to
// call them equal, 5 × 1,000 are enough.
func TestCompareSharesKnowTheirCounts(t *testing.T) {
	t.Parallel()
	for n, want := range map[float64]decide.Verdict{8: decide.Unclear, 1000: decide.Equivalent} {
		a, b := arm("a", base, flow), arm("b", base, flow)
		for _, x := range []decide.Arm{a, b} {
			for i := range x.Cells[0].Runs {
				for j := range x.Cells[0].Runs[i].Summaries[0].Stats {
					if s := &x.Cells[0].Runs[i].Summaries[0].Stats[j]; s.Tag == "completed_request_count" {
						s.Avg = n
					}
				}
			}
		}
		c, err := decide.Compare(a, b, decide.Terms{Paired: true})
		if r := find(t, c, decide.Key{Tag: "error_rate", Stat: "avg"}); err != nil || r.Outcome != want {
			t.Errorf("%g requests a trial without errors: %s, want %s (%+v)", n, r.Outcome, want, r)
		}
	}
}

func TestCompareOverAllCells(t *testing.T) {
	t.Parallel()
	two := func(name string, f float64) decide.Arm {
		a := arm(name, wobbled(base, f), wobbled(flow, 1/f))
		b := arm(name, wobbled(base, 2*f), wobbled(flow, 2/f))
		b.Cells[0].Label = "concurrency 8"
		a.Cells = append(a.Cells, b.Cells...)
		return a
	}
	c, err := decide.Compare(two("a", 1), two("b", 1.1), decide.Terms{Paired: true})
	if err != nil || len(c.Together) == 0 || c.Compared != 8 {
		t.Fatalf("%v: %d rows over all cells, %d compared", err, len(c.Together), c.Compared)
	}
	for _, r := range c.Together {
		if r.Key == ttft50 && (math.Abs(r.Change-.1) > 1e-9 || r.Cell != "all cells") {
			t.Errorf("over all cells: %+v", r)
		}
	}
}

// The points of both arms are those of the trials that both have, and so is the
// change. Arms without a common trial have no pair.
func TestComparePointsAreOfThePairs(t *testing.T) {
	t.Parallel()
	a, b := arm("a", []float64{40, 42, 80}, []float64{100, 100, 100}),
		arm("b", []float64{44, 46.2}, []float64{100, 100})
	got, err := decide.Compare(a, b, decide.Terms{Paired: true})
	if err != nil {
		t.Fatal(err)
	}
	if r := find(t, got, ttft50); math.Abs(r.Candidate/r.Base-1.1) > 1e-9 || math.Abs(r.Change-.1) > 1e-9 || r.N != 2 {
		t.Errorf("%v against %v, %+.3f of %d pairs; want a tenth more of 2", r.Candidate, r.Base, r.Change, r.N)
	}
	for i := range b.Cells[0].Runs {
		b.Cells[0].Runs[i].Run.Trial += 7
	}
	if got, err = decide.Compare(a, b, decide.Terms{Paired: true}); err != nil {
		t.Fatal(err)
	}
	if r := find(t, got, ttft50); r.Outcome != decide.Unclear || r.N != 0 || r.Note != "no trial in common" {
		t.Errorf("no pair: %+v", r)
	}
}

// Where both sides are 0 in every trial, or have no value, no number of trials decides:
// the row says so, and promises none. Equal constants are equal, and too few trials are
// not the same as nothing to compare.
func TestUndecidableIsNotUndecidedYet(t *testing.T) {
	t.Parallel()
	good := decide.Key{Tag: "good_request_fraction", Stat: "avg"}
	with := func(name string, ttft []float64, share float64) decide.Arm {
		a := arm(name, ttft, times(ttft, 10))
		for i := range a.Cells[0].Runs {
			o := &a.Cells[0].Runs[i]
			o.Summaries[0].Stats = append(o.Summaries[0].Stats,
				metrics.Stat{Tag: good.Tag, Scalar: true, Avg: share, Count: 100})
		}
		return a
	}
	for _, paired := range []bool{true, false} {
		for _, c := range []struct {
			a, b  decide.Arm
			key   decide.Key
			want  decide.Verdict
			never bool
			note  string
		}{
			{with("a", base, 0), with("b", base, 0), good, decide.Unclear, true, "0 % on both sides in every trial"},
			{with("a", base, 0), with("b", base, 1), good, decide.Better, false, "a side is 0 or has no end, so that only the direction counts"},
			{arm("a", base, flow), arm("b", base, flow), good, decide.Unclear, true, "missing on both sides"},
			{arm("a", []float64{40, 40, 40}, []float64{400, 400, 400}), arm("b", []float64{40, 40, 40}, []float64{400, 400, 400}), ttft50, decide.Equivalent, false, ""},
			{arm("a", base[:2], flow), arm("b", base[:2], flow), ttft50, decide.Unclear, false, "2 trials: no interval, which takes 3"},
		} {
			got, err := decide.Compare(c.a, c.b, decide.Terms{Primary: []decide.Key{c.key}, Paired: paired})
			if err != nil {
				t.Fatal(err)
			}
			if r := find(t, got, c.key); r.Outcome != c.want || r.Undecidable != c.never ||
				r.Note != c.note || r.Undecidable && r.Trials.Known() {
				t.Errorf("paired %t: %s, undecidable %t, %q, %s; want %s, %t, %q", paired, r.Outcome,
					r.Undecidable, r.Note, r.Trials, c.want, c.never, c.note)
			}
		}
	}
}
