package fields_test

import (
	"slices"
	"testing"

	"aiperf.dev/aiperf/schema/fields"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"concurrency": "benchmark.phases.profiling.concurrency", "isl": "benchmark.datasets.default.prompts.isl",
		"dataset.osl.mean": "benchmark.datasets.default.prompts.osl.mean", "warmup.rate": "benchmark.phases.warmup.rate",
		"url": "benchmark.endpoint.urls", "randomSeed": "random_seed", "benchmark.model": "benchmark.model",
		"endpoint.headers.X-Top": "benchmark.endpoint.headers.X-Top", "plot": "plot", "name": "name",
	} {
		if got := fields.Canonical(in); got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
	for _, key := range fields.New()[""].Keys { // every field of the envelope, by its own name
		if got := fields.Canonical(key + ".x"); got != key+".x" {
			t.Errorf("%s.x is %s", key, got)
		}
	}
}

// Bare names are fields of a phase, and no names of the body.
func TestPhaseAliases(t *testing.T) {
	t.Parallel()
	x := fields.New()
	if len(fields.PhaseAliases) < 10 {
		t.Errorf("only %v", fields.PhaseAliases)
	}
	for _, name := range fields.PhaseAliases {
		if x["benchmark.phases.*."+name] == nil || slices.Contains(x["benchmark"].Keys, name) ||
			slices.Contains(x[""].Keys, name) {
			t.Errorf("%s does not mean one field", name)
		}
	}
}

// A setting named without what it stands in is told with its whole path, where
// there are few.
func TestUnknownPathsSayWhereTheFieldIs(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"streaming":  "it is endpoint.streaming",
		"timeout":    "it is one of endpoint.timeout, endpoint.flip.timeout",
		"concurency": "did you mean concurrency?",
		"doc":        "",
	} {
		if hint, ok := fields.New().KnownPath(fields.Canonical(path)); ok || hint != want {
			t.Errorf("%s: %v %q, want %q", path, ok, hint, want)
		}
	}
}

// What editors offer as an axis is one, and means the field that explains it.
func TestAxisNames(t *testing.T) {
	t.Parallel()
	names, x := fields.AxisNames(), fields.New()
	if len(names) < 50 {
		t.Errorf("only %v", names)
	}
	for name, field := range names {
		path := fields.Canonical(name)
		if hint, known := x.KnownPath(path); !known || !fields.Sweepable(path) {
			t.Errorf("%s is no axis; %s", name, hint)
		}
		if at, _ := x.Resolve(path); at != field {
			t.Errorf("%s is explained by %s, and means %s", name, field, at)
		}
	}
}
