package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// notHere are the example commands that are refused, by a part of the line, and
// the reason they are told.
var notHere = map[string]string{
	"aiperf plot":          "plot: ",
	"aiperf analyze-trace": "is no trace",
	"--public-dataset":     "not in the cache",
	"--accuracy-benchmark": "not supported yet",
	// AIPerf refuses it too: these lengths are for synthetic prompts.
	"--shared-system-prompt-length": "--user-context-prompt-length: needs to know how many contexts there are",
	"inter_token_latency:10\"":      "inter_token_latency needs a streaming endpoint", // AIPerf's goodput is 0 then
}

// smaller makes a command of the documentation one of a moment on the built-in
// server: where it goes, how much it sends and what only a hub has; the flags
// and the kinds of their values stay.
var smaller = []struct{ from, to string }{
	{`--url \S+`, "--url mock:?ttft=1ms&itl=0ms"},
	{`--tokenizer \S+`, "--tokenizer builtin"},
	{` \[other options\.\.\.\]`, " --model demo --url mock:?ttft=1ms&itl=0ms"},
	{` \[<category> \[<name>\]\]`, " endpoint chat"},
	{`<file.jsonl>`, "trace.jsonl"},
	{`\$c\b`, "2"},
	{`\$\(date -Iseconds\)`, "2026-11-21"},
	{`--(request-count|num-sessions) \d+`, "--$1 4"},
	{`--concurrency \d+`, "--concurrency 2"},
	{`--benchmark-duration [\d.]+`, "--benchmark-duration 0.2"},
	{`--warmup-duration [\d.]+`, "--warmup-duration 0.1"},
	{`--profile-run-cooldown-seconds \d+`, "--profile-run-cooldown-seconds 0"},
	{`--request-rate [\d.]+`, "--request-rate 50"},
	{`--isl \d+`, "--isl 16"},
	{`--osl \d+`, "--osl 4"},
}

// TestExampleCommands runs the example commands of AIPerf's documentation.
func TestExampleCommands(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "aiperf", "config", "example_commands.txt"))
	if err != nil {
		t.Fatal(err)
	}
	ran, refused := 0, 0
	for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		why := ""
		for part, reason := range notHere {
			if strings.Contains(line, part) && len(reason) > len(why) {
				why = reason
			}
		}
		if why == "" {
			ran++
		} else {
			refused++
		}
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			words := line
			for _, s := range smaller {
				words = regexp.MustCompile(s.from).ReplaceAllString(words, s.to)
			}
			dir := t.TempDir()
			write(t, dir, "trace.jsonl", `{"timestamp": 0, "text": "one", "output_length": 2}`+"\n"+`{"timestamp": 5, "text": "two", "output_length": 2}`+"\n")
			write(t, dir, "schedule.jsonl", `{"timestamp": 9, "text": "one"}`+"\n")
			write(t, dir, "conversations.jsonl", `{"turns": [{"text": "one"}, {"text": "two"}]}`+"\n")
			for _, name := range []string{"prod-trace.jsonl", "mooncake_trace.jsonl"} {
				write(t, dir, name, `{"timestamp": 0, "input_length": 8, "output_length": 2, "hash_ids": [1]}`+"\n")
			}
			p := aiperf(t, dir, split(words)[1:]...)
			if why != "" {
				p.wants(diag.Usage)
				if !strings.Contains(p.err.String(), why) {
					t.Errorf("refused, but not because: %s\n%s", why, &p.err)
				}
				return
			}
			p.wants(diag.OK, diag.Invalid) // a busy machine may make a run INVALID
		})
	}
	if ran < 16 || refused != 11 {
		t.Errorf("%d commands run, %d refused", ran, refused)
	}
}

// split takes a command line apart at blanks outside of quotes.
func split(line string) (words []string) {
	for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2])
	}
	return words
}
