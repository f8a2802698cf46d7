package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"aiperf.dev/aiperf/internal/diag"
)

// What GenAI-Perf documents does here what the list says: it runs, it can be converted and
// planned, or it is refused in one line.
func TestGenAIPerfCommands(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "genai_commands.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "trace.jsonl", `{"timestamp": 0, "input_length": 10, "output_length": 4}`+"\n")
	write(t, dir, "prompts.jsonl", `{"text": "one two"}`+"\n")
	leftByGenAIPerf(t, dir)
	n := map[string]int{}
	for i, line := range strings.Split(string(text), "\n") {
		columns := strings.Split(line, "\t")
		if line == "" || line[0] == '#' {
			continue
		}
		if len(columns) != 3 {
			t.Fatalf("line %d: %q", i+1, line)
		}
		words := strings.Fields(strings.ReplaceAll(columns[1], "{}",
			"-m demo -u mock: --tokenizer builtin --endpoint-type chat"))
		n[columns[0]]++
		said := ""
		switch columns[0] {
		case "runs":
			if words[0] == "analyze" {
				words = append(words, "--dry-run")
			}
			p := aiperf(t, dir, words...)
			p.wants(0)
			said = p.out.String()
		case "converts", "lenient":
			file := fmt.Sprintf("c%d.cue", i)
			if !strings.HasSuffix(words[0], ".yaml") {
				words = append([]string{"genai-perf"}, words...)
			}
			aiperf(t, dir, append([]string{"config", "convert", "-o", file}, words...)...).wants(0)
			b, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			said = string(b)
			plan := []string{"plan", file}
			if columns[0] == "lenient" {
				plan = append(plan, "--lenient")
			}
			if p := aiperf(t, dir, plan...); p.code() != 0 {
				t.Errorf("line %d: %s\ncannot be planned: %s\n%s", i+1, columns[1], p.err.String(), b)
			}
		case "refused":
			p := aiperf(t, dir, append([]string{"config", "convert", "genai-perf"}, words...)...)
			p.wants(diag.Usage)
			said = p.err.String()
			if strings.Count(said, "\n") != 2 {
				t.Errorf("line %d: not one line and a hint: %s", i+1, said)
			}
		default:
			t.Fatalf("line %d: %s", i+1, columns[0])
		}
		if !strings.Contains(squeezed(said), squeezed(columns[2])) {
			t.Errorf("line %d: %s\nno %q in\n%s", i+1, columns[1], columns[2], said)
		}
	}
	if n["runs"] < 8 || n["converts"] < 30 || n["refused"] < 12 {
		t.Errorf("the list has %v", n)
	}
}

// leftByGenAIPerf writes a configuration file of GenAI-Perf's into dir, and a run below runs.
func leftByGenAIPerf(t *testing.T, dir string) {
	t.Helper()
	write(t, dir, "genai_perf_config.yaml", "model_names: demo\nendpoint:\n  type: chat\n  url: \"mock:\"\n"+
		"perf_analyzer:\n  stimulus: {concurrency: 6}\ntokenizer:\n  name: builtin\n")
	if err := os.MkdirAll(filepath.Join(dir, "runs", "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, dir, filepath.Join("runs", "a", "x_genai_perf.json"), `{"input_config": {"model_names": ["m"]}}`)
	write(t, dir, filepath.Join("runs", "a", "profile_export.json"), `{"experiments": [{"requests": [{"timestamp": 1,
		"response_timestamps": [2], "response_outputs": [{"response": "data: {\"choices\": [{\"text\": \"a\"}]}"}]}]}]}`)
}

// The commands of docs/migrate.md, typed one after the other beside what other tools left.
func TestMigratePage(t *testing.T) {
	t.Parallel()
	dir, typed := t.TempDir(), 0
	leftByGenAIPerf(t, dir)
	write(t, dir, "vllm.json", string(source(t, "sinks/importer/testdata/vllm-0.32.0/chat_detailed.json")))
	for _, m := range fence.FindAllSubmatch(source(t, "docs/migrate.md"), -1) {
		for line := range strings.Lines(string(m[3])) {
			line, file, _ := strings.Cut(strings.TrimSpace(line), " > ")
			words, codes := pageWords(line), []diag.Code{diag.OK}
			if words[1] == "run" { // what a busy machine measures is marked so
				codes = append(codes, diag.Invalid)
			}
			p := aiperf(t, dir, words[1:]...)
			p.wants(codes...)
			if typed++; file != "" {
				write(t, dir, file, p.out.String())
			}
		}
	}
	if typed < 9 || !exists(filepath.Join(dir, "sweep", "analyze_export_genai_perf.csv")) ||
		!exists(filepath.Join(dir, "results", "vllm", "import.json")) {
		t.Errorf("%d commands", typed)
	}
}

// squeezed is s without white space, which a screen breaks where it likes.
func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
