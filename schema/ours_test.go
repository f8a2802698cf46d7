package schema

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema/fields"
)

// What AIPerf does not know is marked as ours, and nothing else is: its files
// leave out what is marked, so a new field of ours has to say so.
func TestFieldsOfOursAreMarked(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, r := range recordedPaths(t) {
		for p := ourPath(r.Path); p != ""; p = p[:max(0, strings.LastIndexByte(p, '.'))] {
			known[strings.ReplaceAll(p, "models.*", "models.items.*")] = true
		}
	}
	x, marked := fields.New(), 0
	for _, l := range fields.Leaves() {
		parent, name, _ := strings.Cut(l.Path, ".") // the envelope is in none of AIPerf's files
		if parent != "benchmark" || name == "" || l.Lower != "" || recordedOnce(x, l.Path) {
			continue
		}
		if l.Has(fields.IsOurs) {
			marked++
		}
		if l.Has(fields.IsOurs) == known[l.Path] {
			t.Errorf("%s: marked as ours: %v; known to AIPerf: %v", l.Path, l.Has(fields.IsOurs), known[l.Path])
		}
	}
	if marked < 15 {
		t.Errorf("%d fields are marked as ours, there are more", marked)
	}
}

// recordedOnce tells of fields whose shape is recorded once for many: what lies
// in a distribution, what members of a list or map are, and other spellings.
func recordedOnce(x fields.Table, path string) bool {
	if strings.HasPrefix(path, "benchmark.models.*") || strings.HasPrefix(path, "benchmark.phases.*.rate_series.*") {
		return true
	}
	if strings.HasSuffix(path, ".*") || strings.HasSuffix(path, ".+") {
		return true
	}
	for p := path; p != ""; {
		p = p[:max(0, strings.LastIndexByte(p, '.'))]
		if x[p].Has(fields.IsShape) {
			return true
		}
	}
	return false
}

// A body loses what is ours and what nobody knows, and keeps what is AIPerf's,
// built here or not.
func TestOnlyAIPerf(t *testing.T) {
	t.Parallel()
	body := `{"endpoint":{"urls":["http://h"],"ca_file":"x","http":1,"label":"a","headers":{"http":"b"},"extra":{"label":{"http":1}}},` +
		`"datasets":[{"columns":{"text":"q"},"prompts":{"corpus_file":"c","isl":{"mean":40}},"prefix_prompts":{"hit_rate":0.5,"length":3}}],` +
		`"phases":[{"concurrency":2,"in_flight":3,"on_cap":"skip","sla":[],"made_up":1}],"failure_policy":"abort","accuracy":{"benchmark":"mmlu","mode":"alone"},"new_here":{"b":2}}`
	want := `{"endpoint":{"urls":["http://h"],"headers":{"http":"<redacted>"},"extra":{"label":{"http":1}}},` +
		`"datasets":[{"prompts":{"isl":{"mean":40}},"prefix_prompts":{"length":3}}],"phases":[{"concurrency":2,"sla":[]}],"accuracy":{"benchmark":"mmlu"}}`
	if got := string(OnlyAIPerf([]byte(body))); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if OnlyAIPerf(nil) != nil {
		t.Error("nothing became something")
	}
}
