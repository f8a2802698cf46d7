package results_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/sinks/receipt"
	"aiperf.dev/aiperf/sinks/results"
)

// pairTools are the tools of testdata/pairs.
var pairTools = []string{"aiperf", "endpoints", "genai-bench", "guidellm", "inference-perf", "sglang", "vllm"}

// The files of testdata/pairs were written by the tools themselves (docs/receipt.md has their
// versions) against the built-in server: 40 requests of 64 and 16 tokens, four at once. a1 and a2
// are one command; drawn1, 2 and 3 one with drawn lengths and other seeds; each of the others
// is a1's command with one thing changed. Texts and most of the single requests are left out.
func pair(t *testing.T, tool, first, second string) (unlike []receipt.Unlike, refusal error) {
	t.Helper()
	return between(t, pairPath(tool, first), pairPath(tool, second))
}

func between(t *testing.T, first, second string) (unlike []receipt.Unlike, refusal error) {
	t.Helper()
	a, b, err := results.Two(first, second)
	if err != nil {
		t.Fatal(err)
	}
	unlike = results.Unlike(a, b)
	return unlike, results.Refuse(a, b, unlike)
}

// Two runs of one command are compared, whatever lengths were drawn, in either order; and
// nothing material is named of them.
func TestPairsOfOneCommand(t *testing.T) {
	t.Parallel()
	refused, of := 0, 0
	for _, tool := range pairTools {
		for _, p := range [][2]string{{"a1", "a2"}, {"drawn1", "drawn2"}, {"drawn1", "drawn3"}, {"drawn2", "drawn3"}} {
			for _, names := range [][2]string{p, {p[1], p[0]}} {
				of++
				unlike, refusal := pair(t, tool, names[0], names[1])
				if refusal != nil {
					refused++
					t.Errorf("%s %v: %v", tool, names, refusal)
				}
				for _, u := range unlike {
					if u.Class >= receipt.Material {
						t.Errorf("%s %v: %s", tool, names, u)
					}
				}
			}
		}
	}
	t.Logf("%d of %d pairs of one command refused", refused, of)
}

// A known difference is refused, or where a server can bring it about named, by its name.
func TestPairsThatDiffer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, other, named string }{
		{"vllm", "requests", "--request-count is 40 in the first, 60 in the second"},
		{"vllm", "isl", "tokens.input.sent.mean is 64 in the first, 96 in the second"},
		{"vllm", "drawn1", "tokens.input.sent.sd is 0 in the first"},
		{"vllm", "model", "model is demo in the first, other in the second"},
		{"sglang", "requests", "--request-count is 40 in the first, 60 in the second"},
		{"sglang", "isl", "random_input_len is 64 in the first, 96 in the second"},
		{"sglang", "osl", "random_output_len is 16 in the first, 24 in the second"},
		{"sglang", "drawn1", "random_range_ratio is 1 in the first, 0.6 in the second"},
		{"guidellm", "requests", "--request-count is 40 in the first, 60 in the second"},
		{"guidellm", "isl", "data is "},
		{"guidellm", "osl", "data is "},
		{"guidellm", "drawn1", "data is "},
		{"guidellm", "model", "model is demo in the first, other in the second"},
		{"aiperf", "concurrency", "--concurrency is 4 in the first, 8 in the second"},
		{"aiperf", "requests", "--request-count is 40 in the first, 60 in the second"},
		{"aiperf", "isl", "--isl is 64 in the first, 96 in the second"},
		{"aiperf", "osl", "--osl is 16 in the first, 24 in the second"},
		{"aiperf", "drawn1", "--isl-stddev is 0 in the first, 25 in the second"},
		{"inference-perf", "requests", "--request-count is 40 in the first, 60 in the second"},
		{"inference-perf", "isl", "data.input_distribution is type=normal,mean=64,"},
		{"inference-perf", "osl", "data.output_distribution is type=normal,mean=16,"},
		{"inference-perf", "drawn1", "data.input_distribution is type=normal,mean=64,"},
		{"inference-perf", "model", "model is demo in the first, other in the second"},
		{"genai-bench", "requests", "max_requests_per_run is 40 in the first, 60 in the second"},
		{"genai-bench", "isl", "scenario is D(64,16) in the first, D(96,16) in the second"},
		{"genai-bench", "osl", "scenario is D(64,16) in the first, D(64,24) in the second"},
		{"genai-bench", "drawn1", "scenario is D(64,16) in the first, N(64,25)/(16,6) in the second"},
		{"endpoints", "requests", "--request-count is 40 in the first, 60 in the second"},
		{"endpoints", "isl", "tokens.input.sent.mean is 64 in the first, 96 in the second"},
		{"endpoints", "drawn1", "tokens.input.sent.sd is 0 in the first"},
		{"genai-bench", "model", "model is demo in the first, other in the second"},
	} {
		for _, turned := range []bool{false, true} {
			first, second, named := "a1", c.other, c.named
			if turned {
				first, second = second, first
				named, _, _ = strings.Cut(named, " is ")
			}
			_, refusal := pair(t, c.tool, first, second)
			if refusal == nil || !strings.Contains(refusal.Error(), named) {
				t.Errorf("%s %s against %s: %v, want %q", c.tool, first, second, refusal, named)
			}
		}
	}
}

// Failures are what came of a run and no other workload: they are counted, and not refused.
func TestPairsWithFailures(t *testing.T) {
	t.Parallel()
	for _, tool := range pairTools {
		if _, refusal := pair(t, tool, "a1", "failures"); refusal != nil {
			t.Errorf("%s: %v", tool, refusal)
		}
		for name, some := range map[string]bool{"a1": false, "failures": true} {
			s, err := results.Read(pairPath(tool, name))
			if err != nil {
				t.Fatal(err)
			}
			r := s.Receipt(0)
			failed, share := r.Float("requests.failed"), r.Float("requests.failed_share")
			if want := failed / r.Float("requests.attempted"); (failed > 0) != some || math.Abs(share-want) > 1e-6 ||
				some && (share < 0.1 || share > 0.5) { // a quarter was refused by chance
				t.Errorf("%s %s: %v failed, a share of %v", tool, name, failed, share)
			}
		}
	}
}

// Another concurrency is another cell: there is nothing to compare.
func TestPairsOfAnotherConcurrency(t *testing.T) {
	t.Parallel()
	for _, tool := range pairTools {
		if tool == "aiperf" { // its folders name the cells
			continue
		}
		a, b, err := results.Two(pairPath(tool, "a1"), pairPath(tool, "concurrency"))
		if err != nil {
			t.Fatal(err)
		}
		if a.Cells[0].Label != "concurrency_4" || b.Cells[0].Label != "concurrency_8" {
			t.Errorf("%s: cells %s and %s", tool, a.Cells[0].Label, b.Cells[0].Label)
		}
	}
}

// SGLang's summary leaves failures out. With its single requests they are counted, and that
// some failed in one is known; without them, that fewer completed is refused: whether fewer
// were asked for or some failed is not in the file.
func TestFailuresLeftOut(t *testing.T) {
	t.Parallel()
	at := func(name string) string { return filepath.Join("testdata", "pairs", "sglang", name+".json") }
	_, refusal := between(t, at("a1"), at("failures"))
	if refusal != nil {
		t.Errorf("failures of the server make two workloads of one: %v", refusal)
	}
	s, err := results.Read(at("failures"))
	if err != nil {
		t.Fatal(err)
	}
	if r := s.Receipt(0); r.Float("requests.failed") != 12 || math.Abs(r.Float("requests.failed_share")-0.3) > 1e-9 {
		t.Errorf("%v failed, a share of %v", r.Float("requests.failed"), r.Float("requests.failed_share"))
	}
	_, refusal = between(t, withoutRequests(t, at("a1")), withoutRequests(t, at("failures")))
	if want := "completed is 40 in the first, 28 in the second"; refusal == nil || !strings.Contains(refusal.Error(), want) {
		t.Errorf("%v, want %q", refusal, want)
	}
	if _, refusal = between(t, withoutRequests(t, at("a1")), withoutRequests(t, at("a2"))); refusal != nil {
		t.Error(refusal)
	}
}

// withoutRequests is a file without its single requests.
func withoutRequests(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	// Python's Infinity, which a load without a rate has, is no JSON
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(b), "Infinity", `"inf"`)), &doc); err != nil {
		t.Fatal(err)
	}
	for key, v := range doc {
		if _, list := v.([]any); list {
			delete(doc, key)
		}
	}
	if b, err = json.Marshal(doc); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}
