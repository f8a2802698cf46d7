package glossary

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sweep/decide"
)

// Every word there is says what it means; nothing is left empty.
func TestEveryWordExplainsItself(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds() {
		names := k.Names()
		if len(names) < 12 || !slices.IsSorted(names) {
			t.Errorf("%s: %d names, sorted: %t", k.Name, len(names), slices.IsSorted(names))
		}
		if k.Name == "setting" { // each one evaluates the schema
			names = []string{"concurrency", "request-rate", "timeout", "isl", "gates"}
		}
		for _, n := range names {
			entries, err := k.Explain(n)
			if err != nil || len(entries) == 0 {
				t.Errorf("%s %s: %d entries, %v", k.Name, n, len(entries), err)
			}
			for _, e := range entries {
				for _, l := range e {
					if l.Text == "" || strings.ContainsAny(l.Text, "`\n") {
						t.Errorf("%s %s: %s is %q", k.Name, n, l.Label, l.Text)
					}
				}
			}
		}
	}
}

func TestShortFormsAndMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, name, first, hint string }{
		{"metric", "TTFT", "time_to_first_token", ""},
		{"metric", "tpot", "inter_token_latency", ""},
		{"metric", "goodputt", "", "goodput?"},
		{"metric", "out tok/s", "output_token_throughput", ""},
		{"metric", "TTFT p99 ms", "time_to_first_token", ""},
		{"metric", "latency p50", "request_latency", ""},
		{"metric", "tok/s per user", "output_token_throughput_per_user", ""},
		{"term", "better", "better", ""},
		{"term", "not worse", "not worse", ""},
		{"column", "best_for", "best_for", ""},
		{"column", "in-window", "in_window", ""},
		{"column", "bestfor", "", "best_for?"},
		{"check", "littles-law", "littles_law", ""},
		{"check", "litle_law", "", "littles_law?"},
		{"setting", "--request-rate", "rate", ""},
		{"setting", "endpoint.timeout", "timeout", ""},
		{"setting", "concurrencie", "", "concurrency?"},
	} {
		k, _ := Find(c.kind)
		entries, err := k.Explain(c.name)
		switch {
		case c.first != "" && (err != nil || entries[0][0].Label != c.first):
			t.Errorf("%s %s: %v, %v", c.kind, c.name, entries, err)
		case c.first == "" && !strings.Contains(hint(err), c.hint):
			t.Errorf("%s %s: %v, want a hint at %s", c.kind, c.name, err, c.hint)
		}
	}
}

// The page on comparisons says the levels that are computed with.
func TestThePageSaysTheLevels(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/compare.md")
	if err != nil {
		t.Fatal(err)
	}
	all, equal := fmt.Sprintf("%.0f %%", 100*decide.CompareLevel), fmt.Sprintf("%.0f %%", 100*decide.EqualLevel)
	for _, said := range []string{
		"the " + equal + " interval lies within it", "the one-sided " + all + " bound of harm",
		"The intervals of all primary metrics together have " + all,
	} {
		if !strings.Contains(string(page), said) {
			t.Errorf("docs/compare.md does not say %q", said)
		}
	}
}

func hint(err error) string {
	var e *diag.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

// A setting that takes an object names its settings, and the object's name lists them.
func TestSettingsOfAnObject(t *testing.T) {
	t.Parallel()
	kind, ok := Find("setting")
	if !ok {
		t.Fatal("no kind setting")
	}
	for name, want := range map[string]string{
		"adaptive_scale": "aiperf explain setting AdaptiveScale: assessment_period, control",
		"AdaptiveScale":  "A window goes on until so many requests have completed. (1)",
		"scalecontrol":   "The largest value. (required)",
	} {
		entries, err := kind.Explain(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found := false
		for _, l := range entries[0] {
			found = found || strings.HasPrefix(l.Text, want)
		}
		if !found {
			t.Errorf("%s: no %q in %v", name, want, entries)
		}
	}
}

// A metric of the work or of the load is not better in either direction, and times and rates are.
func TestBetterDirections(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{
		"isl": "neither", "osl": "neither", "effective_concurrency": "neither", "http_req_data_received": "neither",
		"ttft": "lower is better", "error_rate": "lower is better", "osl_mismatch_diff_pct": "nearer 0 is better",
		"output_token_throughput": "higher is better", "usage_prompt_cache_read_tokens": "higher is better",
	} {
		said, err := metric(tag)
		if err != nil || !strings.Contains(said[0][1].Text, want) {
			t.Errorf("%s: %v, %v, want %s", tag, said, err, want)
		}
	}
	for _, m := range metrics.Catalogue() {
		length := m.Unit == "tokens" && m.Group != metrics.Usage && m.Over == metrics.Level || m.Unit == "KB"
		if length && !m.Neutral {
			t.Errorf("%s: more or less of it is said to be better", m.Tag)
		}
	}
}
