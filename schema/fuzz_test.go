package schema

import (
	"testing"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// Whatever the text, reading ends with a tree or with mistakes that have a
// place; lowering and rendering what was read does not fail otherwise.
func FuzzReadYAML(f *testing.F) {
	for _, s := range []string{
		good, "a: &a [*a]", "<<: {a: 1}", "a: {b: [1, 2.5, .inf, ~, yes]}", "? [a]\n: b",
		"a: !!binary aGk=", "{benchmark: {phases: [{name: x}], dataset: 4, models: [{}]}}", "sweep: {runs: [{benchmark: {dataset: {isl: 1}}}]}", "\"a\\\n",
	} {
		f.Add([]byte(s))
	}
	x := fields.New()
	f.Fuzz(func(t *testing.T, src []byte) {
		n, bad := source.ReadYAML("f.yaml", src)
		for _, e := range bad {
			if e.Place == "" || e.Message == "" {
				t.Errorf("a mistake without place or words: %+v", e)
			}
		}
		if bad != nil {
			return
		}
		if n == nil || n.Kind != source.Object {
			t.Fatalf("neither tree nor mistake")
		}
		_, _ = lower.Surface(x, n)
		x.UnknownFields(n)
		x.Normalize(n, x[""], "")
		_ = n.String()
	})
}

func FuzzExpr(f *testing.F) {
	for _, s := range []string{
		"max(10*concurrency, 50)", "isl*concurrency <= 16*1024", "a.b", "[1,2][5]", "{",
		"repeat('a', 9)",
	} {
		f.Add(s)
	}
	names := map[string]any{"concurrency": int64(4), "isl": 128.0}
	f.Fuzz(func(t *testing.T, src string) {
		p, err := CompileExpr(src, names, false)
		if err != nil {
			return
		}
		_, _ = p.Run(names)
	})
}
