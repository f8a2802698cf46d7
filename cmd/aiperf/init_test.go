package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/compat"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/nearby"
)

func TestConfigInit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "my.yaml")
	for _, c := range []struct {
		line       string
		code       diag.Code
		out, errs  string
		notInTheIt string
	}{
		{"init", 0, `model: "demo"`, "", ""},
		{"init -t latency_test", 0, "type: concurrency, concurrency: 1", "", ""},
		{"init latency-test -m Qwen/Qwen3-0.6B -u http://localhost:8000", 0, `model: "Qwen/Qwen3-0.6B"`, "", "demo"},
		{"init minimal -u http://localhost:8000", 0, `url:       "http://localhost:8000" `, "", "mock:"},
		{"init compare -u http://localhost:8000", diag.Usage, "", "has several", ""},
		{"init search", 0, "range: [1, 64]", "", ""},
		{"init --list", 0, "goodput-slo.cue", "", ""},
		{"init -s cancel", 0, "request-cancellation.yaml", "", "embeddings.yaml"},
		{"init -s xyzzy", diag.Usage, "", "no template has that", ""},
		{"init -c data", 0, "kv-cache-test.yaml", "", "embeddings.yaml"},
		{"init -c dada", diag.Usage, "", "categories: ", ""},
		{"init embedings", diag.Usage, "", "did you mean embeddings?", ""},
		{"init a b", diag.Usage, "", "one template at a time", ""},
		{"init embeddings -o " + file, 0, "", "written", ""},
		{"init embeddings -o " + file, diag.Usage, "", "exists already", ""},
		{"init -o /no/such/folder/x.cue", diag.Usage, "", "/no/such/folder/x.cue", ""},
		{"", diag.Usage, "", "config: what?", ""},
		{"exapnd", diag.Usage, "", "did you mean expand?", ""},
	} {
		words := append([]string{"config"}, strings.Fields(c.line)...)
		if strings.HasPrefix(c.line, "init") {
			words = append(words, "--no-server") // what listens on this machine is not the test's
		}
		code, out, errs := in(t, words...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) ||
			c.notInTheIt != "" && strings.Contains(out, c.notInTheIt) {
			t.Errorf("config %s: exit %d\n%s%s", c.line, code, out, errs)
		}
	}
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), "embeddings") {
		t.Errorf("%s: %q %v", file, b, err)
	}
}

// A template takes the language that its file is named after, and is taken then.
func TestConfigInitInTheOtherLanguage(t *testing.T) {
	t.Parallel()
	all, err := compat.Templates()
	if err != nil {
		t.Fatal(err)
	}
	for _, tpl := range all {
		t.Run(tpl.File, func(t *testing.T) {
			t.Parallel()
			ext := map[string]string{".cue": ".yaml", ".yaml": ".cue"}[filepath.Ext(tpl.File)]
			file := filepath.Join(t.TempDir(), "my"+ext)
			if code, out, errs := in(t, "config", "init", strings.TrimSuffix(tpl.File, filepath.Ext(tpl.File)),
				"--no-server", "-o", file); code != 0 {
				t.Fatalf("exit %d\n%s%s", code, out, errs)
			}
			if code, out, errs := in(t, "validate", file); code != 0 {
				b, _ := os.ReadFile(file)
				t.Errorf("validate: exit %d\n%s%s%s", code, out, errs, b)
			}
		})
	}
}

// A server that is found is in the file, and what was found is said; others are
// named, and what the user named goes before.
func TestConfigInitFindsAServer(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	a := &app{issue: t.Context(), hard: t.Context(), stdio: stdio{Err: &errs}}
	vllm := nearby.Server{
		Place:  nearby.Place{Port: 8000, Usually: "vLLM"},
		Models: []string{"a", "b", "c", "d", "e", "f"},
	}
	ollama := nearby.Server{Place: nearby.Place{Port: 11434, Usually: "Ollama"}, Models: []string{"llama"}}
	for _, c := range []struct {
		model      string
		found      []nearby.Server
		name, url  string
		said, also string
	}{
		{"", nil, "", "", "no server lists models", "the built-in one"},
		{"mine", nil, "mine", "", "no server lists models", ""},
		{"", []nearby.Server{vllm, ollama}, "a", "http://localhost:8000", "where vLLM usually listens, lists a, b, c, d, e and 1 more", "another one: --url http://localhost:11434 --model llama"},
		{"mine", []nearby.Server{ollama}, "mine", "http://localhost:11434", "names it, with mine", ""},
	} {
		errs.Reset()
		name, url := a.nearby(c.model, c.found)
		if name != c.name || url != c.url || !strings.Contains(errs.String(), c.said) ||
			!strings.Contains(errs.String(), c.also) {
			t.Errorf("%q, %v: %q, %q\n%s", c.model, c.found, name, url, &errs)
		}
	}
	all, err := compat.Templates()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		switch x.File {
		case "minimal.cue", "sweep.cue":
			if !x.TakesServer() {
				t.Errorf("%s takes no server", x.File)
			}
		case "compare.cue", "env-var-production.yaml":
			if x.TakesServer() {
				t.Errorf("%s takes a server: it has several, or one of its own", x.File)
			}
		}
	}
}

// Every command of AIPerf's surface is here, or says what to use instead.
func TestAIPerfCommands(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"service worker --benchmark-run x": "one process",
		"proxy --benchmark-run x":          "one process", "kube init": "config init", "analyze swim-lane x": "aiperf report DIR",
		"synthesize agentic-code": "config init",
		"validate mooncake-trace": "dataset inspect FILE", "profil -m a": "did you mean profile?",
	} {
		code, out, errs := in(t, strings.Fields(line)...)
		if code != diag.Usage || out != "" || !strings.HasPrefix(errs, "aiperf: "+strings.Fields(line)[0]) ||
			!strings.Contains(errs, want) || strings.Count(errs, "\n") != 2 {
			t.Errorf("aiperf %s: exit %d, stdout %q\n%s", line, code, out, errs)
		}
	}
}

func TestPlugins(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"": "arrival-pattern", "endpoint": "completions", "endpoint chat": "chat: /v1/chat/completions, can stream",
		"--category endpoint --name chat": "chat: ", "-a": "time_to_first_token", "metric": "Time to First Token (ms)",
		"custom_dataset_loader": "multi_turn", "-v": "All checks passed", "zmq_proxy": "one process", "accuracy-grader plugin": "plugin", "endpoint template": "template: can stream",
	} {
		if code, out, errs := in(t, append([]string{"plugins"}, strings.Fields(line)...)...); code != 0 ||
			!strings.Contains(out, want) {
			t.Errorf("plugins %s: exit %d\n%s%s", line, code, out, errs)
		}
	}
	for line, want := range map[string]string{
		"nonsense": "categories: ", "endpont": "did you mean endpoint?",
		"endpoint chatt": "did you mean chat?", "a b c": "unexpected c",
	} {
		if code, _, errs := in(t, append([]string{"plugins"}, strings.Fields(line)...)...); code != diag.Usage ||
			!strings.Contains(errs, want) {
			t.Errorf("plugins %s: exit %d\n%s", line, code, errs)
		}
	}
}

// Every template that a page or a hint names is there.
func TestTemplatesThatPagesName(t *testing.T) {
	t.Parallel()
	all, err := compat.Templates()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	named := 0
	for _, page := range append(pages, "../../README.md") {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`aiperf config init ([a-z][a-z-]*)`).FindAllStringSubmatch(string(b), -1) {
			named++
			if _, err := compat.FindTemplate(all, m[1]); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	if named == 0 {
		t.Error("no page names a template")
	}
}
