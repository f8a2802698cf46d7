package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// in runs the program in this process and returns what it printed.
func in(t *testing.T, words ...string) (code diag.Code, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), t.Context(), words, stdio{strings.NewReader(""), &out, &errs})
	return code, out.String(), errs.String()
}

// expandedBodies are the bodies of all cells that a source gives.
func expandedBodies(t *testing.T, src schema.Source) []string {
	t.Helper()
	src.Env = func(name string) (string, bool) {
		return "value of " + name, name == "API_KEY" || name == "AUTHORIZATION"
	}
	doc, err := schema.Load(src)
	if err != nil {
		t.Fatalf("%s: %v", src.File, err)
	}
	plan, err := sweep.Expand(doc)
	if err != nil {
		t.Fatalf("%s: %v", src.File, err)
	}
	var out []string
	for _, c := range plan.Cells {
		var b bytes.Buffer
		if err := json.Indent(&b, c.Resolved.JSON, "", " "); err != nil {
			t.Fatal(err)
		}
		out = append(out, c.Label+"\n"+c.DirName+"\n"+b.String())
	}
	return out
}

// What flags mean and what the file made of them means are the same cells.
func TestConvertFlags(t *testing.T) {
	t.Parallel()
	for i, line := range []string{
		"-m demo",
		"-m demo --concurrency 4 --request-count 20 --streaming",
		"-m a,b --model-selection-strategy random -u one:8000 two:8000",
		"-m demo --concurrency 1,2,4 --isl 128,1024 --osl 64 --num-profile-runs 3",
		"-m demo --request-rate 5 --benchmark-duration 30 --benchmark-grace-period inf",
		"-m demo --request-rate 2,4 --arrival-pattern gamma --arrival-smoothness 2.5",
		"-m demo --concurrency 8 --warmup-request-count 3 --warmup-concurrency 2",
		"-m demo --goodput request_latency:250 inter_token_latency:10",
		"-m demo -H A:1 -H B:two --extra-inputs ignore_eos:true temperature:0.5 nested:{\"a\":[1,2]}",
		"-m demo --isl 100 --isl-stddev 10 --osl 20 --osl-stddev 5 --random-seed 7",
		"-m demo --conversation-turn-mean 4 --conversation-turn-delay-mean 100 --num-sessions 12 --concurrency 3",
		"-m demo --user-centric-rate 4 --num-users 8 --session-turns-mean 3 --request-count 40",
		"-m demo --request-cancellation-rate 20 --request-cancellation-delay 0.5",
		"-m demo --shared-system-prompt-length 100 --user-context-prompt-length 20 --num-dataset-entries 5",
		"-m demo --endpoint-type embeddings --prompt-batch-size 8 --connection-reuse-strategy never",
		"-m demo --concurrency 2,4 --request-count 8,16 --sweep-type zip",
		"-m demo --concurrency 32 --concurrency-ramp-duration 10 --benchmark-duration 60",
		"-m demo --tokenizer builtin --export-level summary --artifact-dir out",
	} {
		to := []string{"cue", "yaml"}[i%2] // loading takes a tenth of a second
		t.Run(to+" "+line, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(line)
			p, err := argv.Parse(words, nil, schema.Options())
			if err != nil {
				t.Fatal(err)
			}
			want := expandedBodies(t, schema.Source{Command: "profile", Assignments: p.Assigns})

			file := filepath.Join(t.TempDir(), "x."+to)
			args := slices.Concat([]string{"config", "convert", "profile"}, words, []string{"--to", to, "-o", file})
			if code, out, errs := in(t, args...); code != 0 || out != "" {
				t.Fatalf("exit %d, stdout %q, stderr %q", code, out, errs)
			}
			got := expandedBodies(t, schema.Source{Command: "profile", File: file})
			if diff := cmp.Diff(want, got); diff != "" {
				text, _ := os.ReadFile(file)
				t.Errorf("-flags +file:\n%s\n%s", diff, text)
			}
			if code, _, errs := in(t, args...); code != diag.Usage || !strings.Contains(errs, "exists already") {
				t.Errorf("written over: exit %d, %s", code, errs)
			}
		})
	}
}

// Only what was said is written, with the flag it comes from, and no secret.
func TestConvertedText(t *testing.T) {
	t.Parallel()
	code, out, errs := in(t, "config", "convert", "--from-flags", "-m", "demo", "--concurrency", "1,4", "--api-key",
		"sk-very-secret", "--header", "Authorization:Bearer sk-very-secret")
	want := `package experiment

import "aiperf.dev/schema"

schema.#Experiment & {
	benchmark: {
		model: "demo" // -m
		endpoint: {
			api_key: "${API_KEY}" // --api-key
			headers: Authorization: "${AUTHORIZATION}" // --header
		}
		dataset: {
			name: "main"
			prompts: isl: mean: 550 // default of profile
		}
		profiling: requests: 10 // default of profile
	}
	sweep: {
		type: "grid"
		parameters: concurrency: [1, 4] // --concurrency
	}
}
`
	if code != 0 || out != want {
		t.Errorf("exit %d: %s", code, cmp.Diff(want, out))
	}
	if strings.Contains(out+errs, "sk-very-secret") || !strings.Contains(errs, "API_KEY is a secret") {
		t.Errorf("stderr %q", errs)
	}
}

// A YAML file and the CUE made of it, and the YAML made of that, are the same
// cells; the recorded files hold every form there is.
func TestConvertFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "aiperf", "config", "expand", "*.yaml"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	more, _ := filepath.Glob(filepath.Join("..", "..", "internal", "compat", "templates", "*"))
	for i, file := range append(files, more...) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			env := func(name string) (string, bool) { return "value of " + name, name == "API_KEY" }
			doc, err := schema.Load(schema.Source{File: file, Env: env})
			if err == nil {
				_, err = sweep.Expand(doc)
			}
			if why := notHeld[filepath.Base(file)]; why != "" {
				if err == nil && why == refusedItself {
					t.Error("is not refused any more")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := withoutSecrets(expandedBodies(t, schema.Source{File: file}))
			dir := t.TempDir()
			made := filepath.Join(dir, "x.cue")
			convertTo(t, made, file)
			if diff := cmp.Diff(want, withoutSecrets(expandedBodies(t, schema.Source{File: made}))); diff != "" {
				t.Errorf("cue:\n%s", diff)
			}
			if code, out, errs := in(t, "config", "convert", made); !strings.Contains(read(t, made), "${") &&
				(code != 0 || out != read(t, made)) {
				t.Errorf("converted again it is another: exit %d, %s\n%s", code, errs, cmp.Diff(read(t, made), out))
			}
			if i%4 > 0 {
				return
			}
			back := filepath.Join(dir, "x.yaml")
			convertTo(t, back, file, "--to", "yaml")
			if diff := cmp.Diff(want, withoutSecrets(expandedBodies(t, schema.Source{File: back}))); diff != "" {
				t.Errorf("yaml:\n%s", diff)
			}
			again := filepath.Join(dir, "again.yaml")
			convertTo(t, again, back, "--to", "yaml")
			if diff := cmp.Diff(read(t, back), read(t, again)); diff != "" {
				t.Errorf("converted again it is another:\n%s", diff)
			}
		})
	}
}

const refusedItself = "is refused itself"

// notHeld are the files that cannot be held against what they become.
var notHeld = map[string]string{
	"jinja_body_alias.yaml":   refusedItself,
	"bool_shorthands.yaml":    refusedItself,
	"env-var-production.yaml": "reads variables that the environment of the tests does not have",
}

func convertTo(t *testing.T, made, file string, more ...string) {
	t.Helper()
	if code, _, errs := in(t, append([]string{"config", "convert", file, "-o", made}, more...)...); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func withoutSecrets(bodies []string) []string {
	for i := range bodies {
		bodies[i] = strings.ReplaceAll(bodies[i], "<redacted>", "")
	}
	return bodies
}

func TestConvertKeepsComments(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte(`# Our nightly run.
schemaVersion: "2.0"
x: &load {type: concurrency, requests: 5}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := in(t, "config", "convert", file); code != diag.Usage ||
		!strings.Contains(errs, "a.yaml:3:1: x: unknown field") {
		t.Errorf("a wrong file: exit %d, %s", code, errs)
	}
	if err := os.WriteFile(file, []byte(`# Our nightly run.
schemaVersion: "2.0"
benchmark:
  model: demo # the small one
  endpoint:
    # behind the proxy
    url: http://a:1
    apiKey: sk-very-secret
    extra: {someKey: 1}
  dataset: {type: synthetic, isl: 10, randomSeed: 3}
  phases: {type: concurrency, concurrency: 2, requests: 5}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := in(t, "config", "convert", file)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, want := range []string{"// Our nightly run.\n", `model: "demo" // the small one`, "// behind the proxy\n", `api_key: "${API_KEY}"`, "someKey: 1", "random_seed: 3"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out+errs, "sk-very-secret") {
		t.Error("a secret was printed")
	}
}

// Every comment stays where it stood, above, behind or below, and only keys that
// need quotes have them.
func TestConvertKeepsEveryComment(t *testing.T) {
	t.Parallel()
	const yaml = `# head
# of the file

# above the version
schemaVersion: "2.0" # version

benchmark: # behind a key
  # above model
  model: demo # behind model
  endpoint:
    url: "mock:" # behind url
    headers:
      # above a header
      X-A: "1" # behind a header
      for: "2"
      _b: "3"
  dataset:
    records: # behind records
      # above the first
      - text: one # behind one
      # above the second
      - {text: two} # behind two
      # below the records
  phases:
    - name: profiling # behind a name
      type: concurrency
      requests: 4
  # below the body
sweep:
  parameters:
    concurrency: # behind an axis
      - 1 # one
      # above 2
      - 2 # two
    endpoint.timeout: [8, 16] # times
gates:
  - "error_rate == 0" # no errors
# below the gates

# foot of the file
`
	const want = `// head
// of the file
package experiment

import "aiperf.dev/schema"

schema.#Experiment & {
	// above the version
	schema_version: "2.0" // version
	// behind a key
	benchmark: {
		// above model
		model: "demo" // behind model
		endpoint: {
			url: "mock:" // behind url
			headers: {
				// above a header
				"X-A": "1" // behind a header
				for:   "2"
				"_b":  "3"
			}
		}
		dataset: records: [
			// above the first
			{
				text: "one" // behind one
			},
			// above the second
			{text: "two"}, // behind two

			// below the records
		] // behind records
		phases: [
			{
				name:     "profiling" // behind a name
				type:     "concurrency"
				requests: 4
			},

			// below the body
		]
	}
	sweep: parameters: {
		concurrency: [
			1, // one
			// above 2
			2, // two
		] // behind an axis
		"endpoint.timeout": [8, 16] // times
	}
	gates: [
		"error_rate == 0", // no errors
	]

	// below the gates
}

// foot of the file
`
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := in(t, "config", "convert", file); code != 0 || out != want {
		t.Errorf("exit %d, %s\n%s", code, errs, cmp.Diff(want, out))
	}
}

// CUE stays as it is written, computed values and all, but for its layout and its
// secrets; -e takes one experiment out of a package.
func TestConvertCUE(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.cue")
	if err := os.WriteFile(file, []byte("// ours\npackage p\n\n_n: 4 // users\n_a:   {benchmark: {model: \"demo\",\n"+
		"endpoint: {url: \"mock:\", \"api_key\": \"sk-very-secret\"}\ndataset: {isl: 8, entries: 2}\nprofiling: {concurrency: _n, requests: 2*_n}}}\n_a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := in(t, "config", "convert", file)
	for _, want := range []string{"// ours\npackage p\n", "_n: 4 // users\n", "requests: 2 * _n", `"api_key": "${API_KEY}"`} {
		if !strings.Contains(out, want) {
			t.Errorf("exit %d, %s: no %q in\n%s", code, errs, want, out)
		}
	}
	if strings.Contains(out+errs, "sk-very-secret") || !strings.Contains(errs, "API_KEY is a secret") {
		t.Errorf("stderr %q", errs)
	}
	flat := filepath.Join(dir, "flat.cue")
	team := filepath.Join("..", "..", "examples", "experiments", "team")
	convertTo(t, flat, team, "-e", "experiments.nightly")
	want := expandedBodies(t, schema.Source{File: team, Select: schema.Select{Expr: "experiments.nightly"}})
	if diff := cmp.Diff(want, expandedBodies(t, schema.Source{File: flat})); diff != "" {
		t.Errorf("-package +flat:\n%s", diff)
	}
}

// GenAI-Perf's file is a command line in another spelling.
func TestConvertGenAIFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "genai_perf_config.yaml")
	text := "model_names: [demo]\nendpoint: {type: chat, url: localhost:9000}\nperf_analyzer: {stimulus: {concurrency: 6}, measurement: {mode: request_count, num: 40}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := in(t, "config", "convert", file)
	if code != 0 || !strings.Contains(out, `"localhost:9000"`) || !strings.Contains(out, "concurrency: 6") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// What fits is written in a line, as a person writes it.
func TestConvertIsBrief(t *testing.T) {
	t.Parallel()
	const yaml = `benchmark:
  model: demo
  endpoint:
    url: "mock:"
    type: chat
  tokenizer:
    name: builtin
  dataset: {entries: 8, isl: {mean: 128, stddev: 8}, osl: 4}
  slos:
    time_to_first_token: 200
  phases:
    - {name: warmup, type: concurrency, concurrency: 1, requests: 2}
    - name: profiling
      type: poisson
      rate: 5
      requests: 20
      rate_ramp: {duration: 10s, strategy: linear}
      grace_period: 30s
      cancellation: {rate: 10}
sweep:
  parameters:
    rate: [1, 2]
`
	wants := map[string]string{
		"cue": `package experiment

import "aiperf.dev/schema"

schema.#Experiment & {
	benchmark: {
		model: "demo"
		endpoint: {url: "mock:", type: "chat"}
		tokenizer: name: "builtin"
		dataset: {entries: 8, isl: {mean: 128, stddev: 8}, osl: 4}
		slos: time_to_first_token: 200
		phases: [
			{name: "warmup", type: "concurrency", concurrency: 1, requests: 2},
			{
				name:     "profiling"
				type:     "poisson"
				rate:     5
				requests: 20
				rate_ramp: {duration: "10s", strategy: "linear"}
				grace_period: "30s"
				cancellation: rate: 10
			},
		]
	}
	sweep: parameters: rate: [1, 2]
}
`,
		"yaml": `schemaVersion: "2.0"
benchmark:
  model: demo
  endpoint: {url: 'mock:', type: chat}
  tokenizer: {name: builtin}
  dataset:
    entries: 8
    prompts: {isl: {mean: 128, stddev: 8}, osl: 4}
  warmup: {type: concurrency, concurrency: 1, requests: 2}
  profiling:
    type: poisson
    rate: 5
    requests: 20
    rate_ramp: {duration: 10s, strategy: linear}
    grace_period: 30s
    cancellation: {rate: 10}
  slos: {time_to_first_token: 200}
sweep: {type: grid, parameters: {rate: [1, 2]}}
`,
	}
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	for to, want := range wants {
		if code, out, errs := in(t, "config", "convert", file, "--to", to); code != 0 || out != want {
			t.Errorf("exit %d, %s\n%s", code, errs, cmp.Diff(want, out))
		}
	}
	code, out, errs := in(t, "config", "convert", "profile", "-m", "demo", "--tokenizer", "builtin", "--isl", "32",
		"--to", "yaml")
	for _, want := range []string{
		"\n  tokenizer: {name: builtin} # --tokenizer\n",
		"\n    prompts: {isl: {mean: 32}} # --isl\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("exit %d, %s: no %q in\n%s", code, errs, want, out)
		}
	}
}
