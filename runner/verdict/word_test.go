package verdict

import (
	"testing"

	"aiperf.dev/aiperf/internal/validity"
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
		{"the percentile", []Finding{wrong("inter_token_latency.p90")}, []string{"inter_token_latency.p90"}, Invalid},
	} {
		if got := Word(c.found, c.asked); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
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
	if f.Verdict != Invalid || f.Detail != "c.p90" || len(f.Taints) != 2 || f.Taints["b"] != validity.Doubtful || f.Taints["c.p90"] != validity.Wrong {
		t.Errorf("%+v", f)
	}
	w := finding(Check{ID: "x", Kind: Workload}, []Reading{reading(0.5, "c")})
	if w.Verdict != Degraded || w.Taints["c"] != validity.Doubtful {
		t.Errorf("what the server did makes doubtful at worst: %+v", w)
	}
}
