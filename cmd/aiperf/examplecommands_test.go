package main

import (
	"os"
	"os/exec"
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
	"aiperf analyze-trace": "is not a trace",
	"--public-dataset":     "not in the cache",
	"--accuracy-benchmark": "not in the cache",
	// AIPerf refuses it too: these lengths are for synthetic prompts.
	"multi_turn --shared-system-prompt-length": "--user-context-prompt-length: needs to know how many contexts there are",
	"inter_token_latency:10\"":                 "inter_token_latency needs a streaming endpoint", // AIPerf's goodput is 0 then

	"--conversation-num 8":     "cannot be combined with --request-count",
	"--duration 120":           "unknown flag\n  hint: did you mean --benchmark-duration", // as in 0.13
	"--output-dir":             "unknown flag\n  hint: did you mean --output-artifact-dir?",
	"--prefill-concurrency ":   "needs a streaming endpoint",
	"--concurrency 15 --model": "user_centric needs conversations of 2 turns or more",
	"--video-":                 "needs FFmpeg",
	"--ttft-sla-ms":            "the endpoint must stream",
	"--degradation-metric-tag": "needs a streaming endpoint",
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
	{`traces/synthetic`, "synthetic"},
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
	{`--prefill-concurrency \d+`, "--prefill-concurrency 2"},
	{`--user-centric-rate 1.0 --num-users`, "--user-centric-rate 100 --num-users"},
	{`-prompt-length \d+`, "-prompt-length 20"},
	{`--num-dataset-entries \d+`, "--num-dataset-entries 15"},
}

// TestExampleCommands runs the example commands of AIPerf's documentation.
func TestExampleCommands(t *testing.T) {
	t.Parallel()
	exampleCommands(t, "example_commands.txt", 20, 11)
}

// TestDocumentedCommands puts more command lines of AIPerf's tutorials together, up to
// where something would be sent.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	exampleCommands(t, "documented_commands.txt", 30, 11, "--dry-run")
}

// exampleCommands runs the commands of a file, each with more words: so many run, so
// many are refused.
func exampleCommands(t *testing.T, file string, toRun, toRefuse int, more ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "aiperf", "config", file))
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
		if _, err := exec.LookPath("ffmpeg"); err == nil && strings.Contains(line, "--video-") {
			why = "" // this machine can do it
			toRun, toRefuse = toRun+1, toRefuse-1
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
			write(t, dir, "trace.jsonl", `{"timestamp": 0, "text": "one", "output_length": 2}`+"\n"+
				`{"timestamp": 5, "text": "two", "output_length": 2}`+"\n")
			write(t, dir, "schedule.jsonl", `{"timestamp": 9, "text": "one"}`+"\n")
			write(t, dir, "conversations.jsonl", `{"turns": [{"text": "one"}, {"text": "two"}]}`+"\n")
			for _, name := range []string{"prod-trace.jsonl", "mooncake_trace.jsonl"} {
				write(t, dir, name, `{"timestamp": 0, "input_length": 8, "output_length": 2, "hash_ids": [1]}`+"\n")
			}
			for _, name := range []string{
				"example_trace.jsonl", "precise_schedule.jsonl", "production_queries.jsonl",
				"synthetic.jsonl",
			} {
				write(t, dir, name, `{"timestamp": 2500, "input_length": 8, "output_length": 2, "hash_ids": [1]}`+"\n")
			}
			write(t, dir, "rankings.jsonl",
				`{"texts": [{"name": "query", "contents": ["what"]}, {"name": "passages", "contents": ["that"]}]}`+"\n")
			write(t, dir, "chat_template.json",
				`{"prompt": {{ text|tojson }}, "max_new_tokens": {{ max_tokens|tojson }}, "stream": {{ stream|lower }}}`)
			p := aiperf(t, dir, append(split(words)[1:], more...)...)
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
	if ran != toRun || refused != toRefuse {
		t.Errorf("%d commands run, %d refused; want %d and %d", ran, refused, toRun, toRefuse)
	}
}

// split takes a command line apart at blanks outside of quotes.
func split(line string) (words []string) {
	for _, m := range regexp.MustCompile(`"([^"]*)"|'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2]+m[3])
	}
	return words
}
