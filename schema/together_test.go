package schema

import (
	"testing"

	"aiperf.dev/aiperf/schema/lower"
)

// A warmup that takes the rate of the measured phase has an arrival pattern of its own
// if one is asked for, as in AIPerf.
func TestWarmupPatternAtTheMeasuredRate(t *testing.T) {
	t.Parallel()
	var said []lower.Assignment
	for _, f := range [][2]string{
		{"--model", "m"},
		{"--url", "h:1"},
		{"--request-rate", "50"},
		{"--arrival-pattern", "gamma"},
		{"--arrival-smoothness", "0.8"},
		{"--benchmark-duration", "2"},
		{"--warmup-duration", "1"},
		{"--warmup-arrival-pattern", "constant"},
	} {
		said = append(said, flag1(t, f[0], f[1])...)
	}
	d, err := Load(Source{Command: "profile", Assignments: said})
	if err != nil {
		t.Fatal(err)
	}
	if w := d.Warnings(); len(w) > 0 {
		t.Errorf("warnings %q", w)
	}
	warmup := resolved(t, d).Benchmark.Phases[0]
	if warmup.Kind != "warmup" || warmup.Type != "constant" || warmup.Rate != 50 || warmup.Smoothness != 0 {
		t.Errorf("%s %s, rate %v, smoothness %v; want a constant rate of 50", warmup.Kind, warmup.Type, warmup.Rate,
			warmup.Smoothness)
	}
}

// After AIPerf 0.13 --export-level raw implies outputs.json, unless that is said or the level comes from a file.
func TestExportLevelOfLaterVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		later bool
		flags []string
		want  bool
	}{
		{false, []string{"--export-level", "raw"}, false},
		{true, []string{"--export-level", "raw"}, true},
		{true, []string{"--export-level", "records"}, false},
		{true, []string{"--export-level", "raw", "--no-export-outputs-json"}, false},
		{true, []string{"--export-level", "records", "--export-outputs-json"}, true},
	} {
		said := append(flag1(t, "--model", "m"), flag1(t, "--url", "h:1")...)
		if c.later {
			said = append(said, flag1(t, "--aiperf-semantics", "later")...)
		}
		said = append(said, flag1(t, c.flags[0], c.flags[1])...)
		for _, f := range c.flags[2:] {
			said = append(said, flag1(t, f)...)
		}
		d, err := Load(Source{Command: "profile", Assignments: said})
		if err != nil {
			t.Fatal(err)
		}
		if got := resolved(t, d).Benchmark.Artifacts.Outputs; got != c.want {
			t.Errorf("%q, later %t: outputs.json %t, want %t", c.flags, c.later, got, c.want)
		}
	}
}
