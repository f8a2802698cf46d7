package schema_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema"
)

// A flag for something absent changes nothing but what is shown: the leaves
// that AIPerf recorded for it.
func TestAbsentFlagsAreShown(t *testing.T) {
	t.Parallel()
	var flags []struct {
		Name    string
		Example []string
		Base    any            `json:"example_base"`
		Paths   map[string]any `json:"config_paths"`
	}
	readJSON(t, "flags.json", &flags)
	var base map[string]any
	readJSON(t, "cli_defaults.json", &base)
	absentNames := map[string]bool{}
	for _, o := range schema.Options() {
		absentNames["--"+o.Names[0]] = o.Instead != ""
	}
	company := map[string][]string{ // what AIPerf was given beside the flag
		"acc": {"--accuracy-benchmark", "mmlu"},
	}
	var shown int
	for _, f := range flags {
		if !absentNames[f.Name] || !strings.Contains(fmt.Sprint(f.Paths), "benchmark.") {
			continue
		}
		argv := []string{"-m", "demo-7b"}
		switch b := f.Base.(type) {
		case string:
			argv = append(argv, company[b]...)
		case []any:
			for _, w := range b {
				argv = append(argv, fmt.Sprint(w))
			}
		}
		d, err := profile(append(argv, f.Example...))
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		if len(d.Unsupported()) == 0 {
			t.Errorf("%s: nothing says that it is not built", f.Name)
		}
		r, err := d.Resolve(nil)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		var body map[string]any
		if err := json.Unmarshal(r.AsAIPerf(), &body); err != nil {
			t.Fatal(err)
		}
		got := map[string]any{}
		flatten(map[string]any{"benchmark": body}, "", got)
		for path, want := range f.Paths {
			if want == absent || !strings.HasPrefix(path, "benchmark.") {
				continue
			}
			shown++
			if have, ok := got[path]; !ok || !same(have, want) {
				t.Errorf("%s: %s is shown as %v, want %v", f.Name, path, have, want)
			}
		}
		if strings.Contains(string(r.JSON), `"accuracy"`) {
			t.Errorf("%s: the cell itself has it, %s", f.Name, r.JSON)
		}
	}
	if shown < 15 {
		t.Errorf("only %d leaves were looked at", shown)
	}
}

// What is shown of absent things has no credentials in it.
func TestAbsentSettingsAreMasked(t *testing.T) {
	t.Parallel()
	d, err := profile([]string{
		"-m", "demo-7b", "--mlflow-tracking-uri", "http://ann:hunter2@m:1", "--otel-resource-attributes", "api_key=hunter2", "--mlflow-tag", "token:hunter2",
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range [][]byte{r.AsAIPerf(), r.Given} {
		if strings.Contains(string(body), "hunter2") {
			t.Errorf("a credential is shown: %s", body)
		}
	}
}

// What a file says of absent things is shown where it was said.
func TestAbsentSettingsOfAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "e.yaml")
	text := `benchmark:
  model: demo
  endpoint: {url: "http://localhost:1"}
  datasets: [{name: main, type: synthetic, entries: 4}]
  phases: [{name: profiling, type: concurrency, concurrency: 1, requests: 4}]
  wandb: {project: p}
  server_metrics: {url: "http://s:1/metrics"}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := schema.Load(schema.Source{File: file, Command: "run", Assignments: []schema.Assignment{
		schema.Assign("benchmark.phases.profiling.sla", []any{map[string]any{"metric": "request_latency"}},
			schema.Origin{Source: schema.BySet, Where: "--set"}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"wandb":{"project":"p"}`, `"urls":["http://s:1/metrics"]`,
		`"sla":[{"metric":"request_latency"}]`,
	} {
		if !strings.Contains(string(r.AsAIPerf()), want) {
			t.Errorf("%s is not in %s", want, r.AsAIPerf())
		}
	}
	var said []string
	for _, f := range d.Said().Fields {
		if f.Name == "benchmark" {
			for _, m := range f.Fields {
				said = append(said, m.Name)
			}
		}
	}
	if !slices.Contains(said, "wandb") || !slices.Contains(said, "server_metrics") {
		t.Errorf("convert would lose what was said: %v", said)
	}
}

// A section that one flag fills and another switches off is refused.
func TestAbsentFlagsAgainstEachOther(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"--server-metrics http://g:1/metrics --no-server-metrics",
		"--gpu-telemetry pynvml http://g:1/metrics",
		"--gpu-telemetry http://g:1/metrics --no-gpu-telemetry",
		"--mlflow-tag team a",
		"--stream all",
	} {
		if _, err := profile(append([]string{"-m", "demo-7b"}, strings.Fields(line)...)); err == nil {
			t.Errorf("%s: accepted", line)
		}
	}
}
