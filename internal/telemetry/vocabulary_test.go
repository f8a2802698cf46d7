package telemetry_test

import (
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/telemetry"
)

// Every row means a word that there is, by a sample that its type has, and no metric
// means a word twice.
func TestMeanings(t *testing.T) {
	t.Parallel()
	all, seen, servers := telemetry.Words(), map[string]bool{}, map[string]map[string]bool{}
	for _, m := range telemetry.Meanings() {
		i := slices.IndexFunc(all, func(w telemetry.Word) bool { return w.Name == m.Word })
		if i < 0 {
			t.Errorf("%s means %s, which is not a word", m.Metric, m.Word)
			continue
		}
		if key := m.Metric + " " + m.Word + m.Only[1]; seen[key] {
			t.Errorf("%s means %s twice", m.Metric, m.Word)
		} else {
			seen[key] = true
		}
		if w := all[i]; strings.HasSuffix(m.Metric, "_total") != (w.Type == telemetry.Counter ||
			m.Kind == telemetry.Counter) && m.Kind == "" || m.Fold == telemetry.Mean && w.Unit != "ratio" ||
			m.Fold == "" {
			t.Errorf("%+v cannot be combined with %+v", m, w)
		}
		if servers[m.Server] == nil {
			servers[m.Server] = map[string]bool{}
		}
		servers[m.Server][m.Word] = true
	}
	for _, name := range []string{"vLLM", "SGLang", "TensorRT-LLM", "llama.cpp", "TGI", "Triton", "Dynamo"} {
		if words := servers[name]; !words["running"] || !words["waiting"] {
			t.Errorf("%s: only %v", name, words)
		}
	}
	if m := telemetry.Means("vllm:prompt_tokens"); len(m) != 1 || m[0].Word != "prompt_tokens" {
		t.Errorf("a counter without _total means %v", m)
	}
}
