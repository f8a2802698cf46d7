package verdict

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/schema"
)

// A run is INVALID when everything is, or nothing that was asked for is left; a
// narrow finding leaves the rest.
func TestTheWordOfARun(t *testing.T) {
	t.Parallel()
	wrong := func(what ...string) Finding {
		f := Finding{Check: "turnaround", Verdict: Invalid, Taints: Touched{}}
		for _, w := range what {
			f.Taints[w] = validity.Wrong
		}
		return f
	}
	doubt := Finding{Check: "tokens", Verdict: Degraded, Taints: Touched{everything: validity.Doubtful}}
	for _, c := range []struct {
		name  string
		found []Finding
		asked []string
		want  Verdict
	}{
		{"clean", []Finding{{Check: "sink", Verdict: Valid}}, nil, Valid},
		{"narrow", []Finding{wrong("request_throughput")}, nil, Degraded},
		{"lost records", []Finding{wrong(everything)}, nil, Invalid},
		{"a limit of the experiment's own on what touches no number", []Finding{wrong()}, nil, Invalid},
		{"everything in doubt", []Finding{doubt, wrong("request_throughput")}, nil, Degraded},
		{"all that was asked for", []Finding{wrong("request_throughput")}, []string{"request_throughput.avg"}, Invalid},
		{"half of what was asked for", []Finding{wrong("request_throughput")}, []string{"request_throughput.avg", "error_rate.avg"}, Degraded},
		{"another percentile", []Finding{wrong("inter_token_latency.p90")}, []string{"inter_token_latency.p50"}, Degraded},
		{"every answer, by a limit of the experiment's own", []Finding{wrong(answers)}, nil, Invalid},
		{"every answer, and failures are asked for", []Finding{wrong(answers)}, []string{"error_rate.avg"}, Degraded},
		{"the percentile", []Finding{wrong("inter_token_latency.p90")}, []string{"inter_token_latency.p90"}, Invalid},
	} {
		if got := Word(c.found, c.asked); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A finding has no limit that cannot be crossed: 7 % of failed requests past "fail 0.05"
// would be INVALID, and what the server does never is, unless the experiment says so.
func TestLimitsThatCount(t *testing.T) {
	t.Parallel()
	reading := Reading{Value: 0.07, Warn: 0.001, Fail: 0.05}
	for _, c := range []struct {
		kind Kind
		own  schema.Threshold
		fail bool
		want Verdict
	}{
		{Workload, schema.Threshold{}, false, Degraded},
		{Cause, schema.Threshold{}, false, Valid},
		{Harm, schema.Threshold{}, true, Invalid},
		{Workload, schema.Threshold{Fail: limit(0.05)}, true, Invalid},
	} {
		r := reading
		override(&r, c.own)
		f := finding(Check{ID: "errors", Kind: c.kind}, []Reading{r})
		if f.Verdict != c.want || (f.Fail != nil) != c.fail {
			t.Errorf("%s, own %+v: %s, fail %v; want %s, %v", c.kind, c.own, f.Verdict, f.Fail, c.want, c.fail)
		}
	}
}

// Each reading of a check touches its own numbers, as badly as it is itself.
func TestReadingsTouchTheirOwn(t *testing.T) {
	t.Parallel()
	reading := func(v float64, tag string) Reading {
		return Reading{Value: v, Warn: 0.02, Fail: 0.1, Detail: tag, Touches: []string{tag}}
	}
	f := finding(Check{ID: "x", Kind: Harm}, []Reading{reading(0.01, "a"), reading(0.05, "b"), reading(0.5, "c.p90")})
	if f.Verdict != Invalid || f.Detail != "c.p90" || len(f.Taints) != 2 || f.Taints["b"] != validity.Doubtful ||
		f.Taints["c.p90"] != validity.Wrong {
		t.Errorf("%+v", f)
	}
	w := finding(Check{ID: "x", Kind: Workload}, []Reading{reading(0.5, "c")})
	if w.Verdict != Degraded || w.Taints["c"] != validity.Doubtful {
		t.Errorf("what the server did makes doubtful at worst: %+v", w)
	}
}

// A percentile of too few values that late sending moves is marked, too, and the share of
// good requests with it: they are printed. It moves no verdict.
func TestLateSendingOfFewRequests(t *testing.T) {
	t.Parallel()
	w := clean()
	open(w)
	w.records = w.records[:8]
	for i := range w.records {
		r := &w.records[i]
		shift(r, 60e6)
		r.Intended -= 60e6
		r.Admitted = r.Intended
	}
	f := w.judge(nil)["dispatch_lateness"]
	taints := Taints([]Finding{f})
	for _, name := range [][2]string{
		{"request_latency_from_intended", "p50"},
		{"request_latency_from_intended", "p99"},
		{"good_request_fraction", "avg"},
	} {
		if got := taints.Of(name[0], name[1]).Level; got != validity.Doubtful {
			t.Errorf("%v is %q, want doubtful", name, got)
		}
	}
	if f.Verdict != Valid {
		t.Errorf("8 late requests: %s, %s", f.Verdict, f.Detail)
	}
}

// A percentile that is wrong touches itself and those next to it, and leaves the
// others: late sending of one request in twenty is no harm to a median, and whole
// answers in one read none to the time to first token.
func TestSinglePercentilesAreTouched(t *testing.T) {
	t.Parallel()
	late := clean()
	open(late)
	for i := range late.records {
		if i%8 == 0 {
			shift(&late.records[i], 60e6)
			late.records[i].Intended -= 60e6
			late.records[i].Admitted = late.records[i].Intended
		}
	}
	together := clean()
	for i := range together.records {
		if r := &together.records[i]; i%8 == 0 {
			r.FirstByte = r.Sent + 1e6
			for k := range r.Chunks {
				r.Chunks[k].At, r.Chunks[k].Low, r.Chunks[k].SameRead = r.LastToken, r.LastToken-98e6, true
			}
		}
	}
	for number, r := range Ranges([]Finding{together.judge(nil)["coalesced"]}) {
		if tag, stat, _ := strings.Cut(number, "."); tag != "inter_token_latency" || stat == "p50" ||
			r.Less < 0 || r.More < 0 || r.Less+r.More == 0 {
			t.Errorf("%s may be off by %+v", number, r)
		}
	}
	if _, ok := Ranges([]Finding{together.judge(nil)["coalesced"]})["inter_token_latency.p90"]; !ok {
		t.Error("it is not known how far the p90 of the ITL may be off")
	}
	for _, c := range []struct {
		name, check string
		w           *world
		of          map[string]validity.Level
	}{
		{"late sending", "dispatch_lateness", late, map[string]validity.Level{
			"request_latency_from_intended.p50": validity.Sound, "request_latency_from_intended.p90": validity.Wrong, "request_latency_from_intended.p95": validity.Wrong,
			"request_latency_from_intended.avg": validity.Doubtful, "request_latency.p90": validity.Sound, "good_request_fraction.avg": validity.Doubtful, "request_throughput.avg": validity.Sound,
		}},
		{"answers in one read", "coalesced", together, map[string]validity.Level{
			"inter_token_latency.p50": validity.Sound, "inter_token_latency.p90": validity.Wrong, "output_token_throughput_per_user.p10": validity.Wrong,
			"output_token_throughput_per_user.p99": validity.Sound, "time_to_first_token.p90": validity.Sound, "request_latency.p90": validity.Sound,
		}},
	} {
		f := c.w.judge(nil)[c.check]
		taints := Taints([]Finding{f})
		for name, want := range c.of {
			tag, stat, _ := strings.Cut(name, ".")
			if got := taints.Of(tag, stat).Level; got != want {
				t.Errorf("%s: %s is %q, want %q (%s)", c.name, name, got, want, f.Detail)
			}
		}
		if f.Verdict != Invalid || Word([]Finding{f}, nil) != Degraded {
			t.Errorf("%s: %s, and the run is %s", c.name, f.Verdict, Word([]Finding{f}, nil))
		}
	}
}
