package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTemplateHeads(t *testing.T) {
	t.Parallel()
	all, err := templates()
	if err != nil || len(all) < 20 {
		t.Fatalf("%d templates, %v", len(all), err)
	}
	for _, x := range all {
		if x.doc == "" || strings.Contains(x.category, " ") || len(x.doc) > 110 {
			t.Errorf("%s: the first line is not a comment \"category: what it is for\": %q %q", x.file, x.category, x.doc)
		}
	}
}

func TestConfigInit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "my.yaml")
	for _, c := range []struct {
		line       string
		code       int
		out, errs  string
		notInTheIt string
	}{
		{"init", 0, `model: "demo"`, "", ""},
		{"init -t latency_test", 0, "type: concurrency, concurrency: 1", "", ""},
		{"init latency-test -m Qwen/Qwen3-0.6B -u http://localhost:8000", 0, `model: "Qwen/Qwen3-0.6B"`, "", "demo"},
		{"init minimal -u http://localhost:8000", 0, `url:       "http://localhost:8000" `, "", "mock:"},
		{"init compare -u http://localhost:8000", exitUsage, "", "has several", ""},
		{"init --list", 0, "goodput-slo.cue", "", ""},
		{"init -s cancel", 0, "request-cancellation.yaml", "", "embeddings.yaml"},
		{"init -s xyzzy", exitUsage, "", "no template has that", ""},
		{"init -c data", 0, "kv-cache-test.yaml", "", "embeddings.yaml"},
		{"init -c dada", exitUsage, "", "categories: ", ""},
		{"init embedings", exitUsage, "", "did you mean embeddings?", ""},
		{"init a b", exitUsage, "", "one template at a time", ""},
		{"init embeddings -o " + file, 0, "", "written", ""},
		{"init embeddings -o " + file, exitUsage, "", "exists already", ""},
		{"init -o /no/such/folder/x.cue", exitUsage, "", "/no/such/folder/x.cue", ""},
		{"", exitUsage, "", "config: what?", ""},
		{"exapnd", exitUsage, "", "did you mean expand?", ""},
	} {
		code, out, errs := in(t, append([]string{"config"}, strings.Fields(c.line)...)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) || c.notInTheIt != "" && strings.Contains(out, c.notInTheIt) {
			t.Errorf("config %s: exit %d\n%s%s", c.line, code, out, errs)
		}
	}
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), "embeddings") {
		t.Errorf("%s: %q %v", file, b, err)
	}
}

// Every command of AIPerf's surface is here, or says what to use instead.
func TestAIPerfCommands(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"plot runs/a": "aiperf export", "plot --help": "aiperf export", "service worker --benchmark-run x": "one process",
		"proxy --benchmark-run x": "one process", "kube init": "static binary", "analyze swim-lane x": "aiperf export",
		"analyze-trace t.jsonl": "aiperf export", "synthesize agentic-code": "config init", "chat -m x": "curl",
		"speed-bench-report a": "aiperf export", "validate mooncake-trace t.jsonl": "validate FILE", "profil -m a": "did you mean profile?",
	} {
		code, out, errs := in(t, strings.Fields(line)...)
		if code != exitUsage || out != "" || !strings.HasPrefix(errs, "aiperf: "+strings.Fields(line)[0]) || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 2 {
			t.Errorf("aiperf %s: exit %d, stdout %q\n%s", line, code, out, errs)
		}
	}
}

func TestPlugins(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"": "arrival-pattern", "endpoint": "completions", "endpoint chat": "chat: /v1/chat/completions, can stream",
		"--category endpoint --name chat": "chat: ", "-a": "time_to_first_token", "metric": "Time to First Token (ms)",
		"custom_dataset_loader": "multi_turn", "-v": "endpoint",
	} {
		if code, out, errs := in(t, append([]string{"plugins"}, strings.Fields(line)...)...); code != 0 || !strings.Contains(out, want) {
			t.Errorf("plugins %s: exit %d\n%s%s", line, code, out, errs)
		}
	}
	for line, want := range map[string]string{"nonsense": "categories: ", "endpont": "did you mean endpoint?", "endpoint chatt": "did you mean chat?", "a b c": "unexpected c"} {
		if code, _, errs := in(t, append([]string{"plugins"}, strings.Fields(line)...)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("plugins %s: exit %d\n%s", line, code, errs)
		}
	}
}
