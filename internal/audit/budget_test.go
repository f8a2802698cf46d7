package audit

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// line is one of a result: said and true values of a time.
func line(quantity string, says, is float64) Line {
	return Line{Quantity: quantity, Unit: "ms", Says: &says, Is: &is, Time: true}
}

// The budget of a time is its largest error over all scenarios, with its sign and the scenario.
func TestBudget(t *testing.T) {
	t.Parallel()
	unsaid := line("ITL p50", 0, 4)
	unsaid.Says = nil
	a := New("vllm", []*Result{
		{Scenario: "single", Version: "0.32.0", Lines: []Line{line("TTFT p50", 21, 20), line("TTFT p99", 39, 40), unsaid}},
		{Scenario: "streams-64", Lines: []Line{line("TTFT p50", 75, 60), line("TTFT p99", 40, 42)}},
	})
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if a, err = parse(b); err != nil {
		t.Fatal(err)
	}
	if len(a.Budget) != 2 || a.Version != "0.32.0" {
		t.Errorf("read %+v", a)
	}
	e, ok := a.Error("time_to_first_token", "p50")
	if !ok || e.MS != 15 || e.Share != 0.25 || e.Scenario != "streams-64" {
		t.Errorf("TTFT p50: %+v", e)
	}
	want := "TTFT p50 by vllm 0.32.0 read up to 15 ms (25 %) high in the scenario streams-64 of its audit"
	if got := a.String(e); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if e, _ = a.Error("time_to_first_token", "p99"); e.MS != -2 || !strings.Contains(a.String(e), "2 ms (4.8 %) low") {
		t.Errorf("TTFT p99: %+v", e)
	}
	if _, ok = a.Error("inter_token_latency", "p50"); ok {
		t.Error("a figure that the client does not say has an error")
	}
	for _, c := range []struct {
		client, version string
		of              bool
	}{{"vllm", "0.32.0", true}, {"vllm", "", true}, {"vllm", "0.33.0", false}, {"sglang", "0.32.0", false}} {
		if a.Of(c.client, c.version) != c.of {
			t.Errorf("is it of %s %s: %v", c.client, c.version, !c.of)
		}
	}
}

// What is no audit is refused, in one line.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "not an audit",
		"[]":                                "not an audit",
		`{"client":"x"}`:                    "it names no client, or no errors of its times",
		`{"error_budget":[{"metric":"x"}]}`: "it names no client",
		`{"client":"x","error_budget":[{"metric":"speed"}]}`: `error of "speed"`,
	} {
		path := filepath.Join(t.TempDir(), FileName)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(path)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was read")
	}
}

// No text makes reading fail otherwise, and what is read has finite errors of known times.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"client":"vllm","error_budget":[{"metric":"time_to_first_token","stat":"p50","ms":1,"share":0.1}]}`))
	f.Add([]byte(`{"client":"","error_budget":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := parse(b)
		if err != nil {
			return
		}
		for _, e := range a.Budget {
			if math.IsNaN(e.MS) || names[e.Metric] == "" {
				t.Errorf("read %+v", e)
			}
		}
	})
}
