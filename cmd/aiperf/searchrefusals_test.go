package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/diag"
)

// searchedBody is the benchmark of the experiments that searchRefusals speaks of.
const searchedBody = `benchmark:
  model: demo
  endpoint: {url: "mock:?ttft=15ms", type: chat, streaming: true}
  tokenizer: {name: builtin}
  dataset: {type: synthetic, entries: 16, isl: 8, osl: 2}
  phases: {type: concurrency, requests: 100}
`

// Wrong ranges, unknown metrics, conditions that contradict each other and shares that cannot be certified are refused
// before the first request, whoever searches: the block search, AIPerf's adaptive search in a file and by flags, and
// quick. testdata/search_refusals.txt has every command with what it says: one line with the place, and the way out.
// A command that were not refused would end otherwise, since there is no server. -update rewrites the file.
func TestSearchRefusals(t *testing.T) {
	file, err := filepath.Abs(filepath.Join("testdata", "search_refusals.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	body, timed := searchedBody, strings.Replace(searchedBody, "requests: 100", "duration: 10", 1)
	fixed := strings.Replace(searchedBody, "type: concurrency,", "type: concurrency, concurrency: 1,", 1)
	for name, text := range map[string]string{
		"limit.yaml": body + `search: {path: concurrency, range: [1, 8], where: ["time_to_first_token < 5000"], budget: {probes: 20}}`,
		"whole.yaml": strings.Replace(body, "streaming: true", "streaming: false", 1) +
			`search: {path: concurrency, range: [1, 8], where: ["time_to_first_token < 5000"]}`,
		"tiers.yaml": body + `search: {path: concurrency, range: [1, 8], tiers: {chat: {where: ["time_to_first_token < 5000"]}, slow: {where: ["time_to_first_token < 9000"]}}}`,
		"timed.yaml": timed + `search: {path: concurrency, range: [1, 8], where: ["time_to_first_token < 5000"]}`,
		"adaptive.yaml": fixed + `sweep: {type: adaptive_search, planner: monotonic_sla, search_space: [{path: phases.profiling.concurrency, lo: 1, hi: 8, kind: int}], ` +
			`objectives: [{metric: output_token_throughput, direction: maximize}], sla_filters: [{metric_tag: time_to_first_token, stat: p95, op: lt, threshold: 5000}], max_iterations: 12}`,
	} {
		if err := os.WriteFile(name, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got strings.Builder
	for line := range strings.Lines(string(want)) {
		command, is := strings.CutPrefix(line, "> ")
		if !is {
			continue
		}
		var out, errs bytes.Buffer
		words := append(strings.Fields(command), "--artifact-dir", "out")
		code := run(t.Context(), t.Context(), words, stdio{strings.NewReader(""), &out, &errs})
		said := errs.String()
		mistake, hint, hinted := strings.Cut(strings.TrimSuffix(said, "\n"), "\n  hint: ")
		if code != diag.Usage || out.Len() > 0 || strings.Contains(mistake, "\n") ||
			hinted && strings.Contains(hint, "\n") {
			t.Errorf("%s: exit code %d, said\n%s%s", strings.TrimSpace(command), code, said, out.String())
		}
		got.WriteString(line + said)
		if left, err := filepath.Glob("out*"); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", strings.TrimSpace(command), left, err)
			_ = os.RemoveAll("out")
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
