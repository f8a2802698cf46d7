package main

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// peer is that of internal/repo/venv.sh graders, which takes a package index and minutes:
// make accuracy gives it.
var peer = flag.String("aiperf", "", "Python with all of AIPerf 0.13: carries its accuracy runs out, and compares them with what is recorded")

// oracle is a server that answers each question in a way that stands in it: as the oracle of
// AIPerf's test server does, right or wrong, with reasoning beside or before the answer, and
// in forms that are hard to read.
type oracle struct {
	name     string
	args     []string
	requests int // what AIPerf must be told, to ask each question once
	empty    int // answers without a text: AIPerf grades them as wrong, and here the requests have failed
}

var oracles = []oracle{
	{"mmlu", []string{"--streaming", "--accuracy-benchmark", "mmlu", "--accuracy-tasks", "abstract_algebra,anatomy"}, 29, 0},
	{"mmlu_completions", []string{"--endpoint-type", "completions", "--accuracy-benchmark", "mmlu", "--accuracy-tasks", "anatomy,abstract_algebra", "--accuracy-enable-cot", "--accuracy-n-shots", "2"}, 29, 2},
	{"mmlu_pro", []string{"--streaming", "--accuracy-benchmark", "mmlu_pro", "--accuracy-tasks", "math,computer science"}, 27, 0},
	{"aime", []string{"--streaming", "--accuracy-benchmark", "aime"}, 20, 0},
	{"aime_exact_match", []string{"--accuracy-benchmark", "aime", "--accuracy-grader", "exact_match"}, 20, 0},
	{"gsm8k", []string{"--streaming", "--accuracy-benchmark", "gsm8k"}, 16, 0},
	{"aime24", []string{"--streaming", "--accuracy-benchmark", "aime24"}, 12, 0},
	{"aime25", []string{"--accuracy-benchmark", "aime25"}, 12, 0},
	{"math_500", []string{"--streaming", "--accuracy-benchmark", "math_500"}, 12, 0},
	{"gpqa_diamond", []string{"--streaming", "--accuracy-benchmark", "gpqa_diamond"}, 20, 0},
	{"hellaswag", []string{"--streaming", "--accuracy-benchmark", "hellaswag", "--accuracy-tasks", "Disc dog,Sailing", "--accuracy-n-shots", "2"}, 10, 0},
	{"bigbench", []string{"--accuracy-benchmark", "bigbench", "--accuracy-tasks", "navigate,boolean_expressions", "--accuracy-n-shots", "0"}, 12, 0},
}

// recorded is where AIPerf's files of the run are.
func (o *oracle) recorded(file string) string {
	return filepath.Join("..", "..", "testdata", "aiperf", "accuracy", "oracle", o.name, file)
}

// words are a command line of either program; AIPerf would download its builtin tokenizer.
func (o *oracle) words(url, tokenizer string) []string {
	return append([]string{
		"profile", "-m", "m", "-u", url, "--tokenizer", tokenizer, "--random-seed", "7", "--concurrency", "2",
		"--extra-inputs", "temperature:0", "--artifact-dir", "out",
	}, o.args...)
}

// The same questions to the same server give AIPerf's files and figures: what was answered
// and how it was graded, the scores as CSV and JSON, and the table on the console.
func TestAccuracyIsAIPerfs(t *testing.T) {
	t.Parallel()
	for _, o := range oracles {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(answersMarks))
			defer server.Close()
			data, err := filepath.Abs((&oracle{name: "dataset"}).recorded(""))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			aiperf(t, dir, append(o.words(server.URL, "builtin"), "--accuracy-path", data)...).wants(0)
			if o.empty == 0 {
				o.compare(t, filepath.Join(dir, "out"))
				return
			}
			want := answersOf(t, readText(t, o.recorded("accuracy_export.jsonl"))).([]string)
			all := len(want)
			want = slices.DeleteFunc(want, func(line string) bool { return strings.HasSuffix(line, ` model_output=""`) })
			got := answersOf(t, readText(t, filepath.Join(dir, "out", "accuracy_export.jsonl")))
			if diff := cmp.Diff(any(want), got); diff != "" || all-len(want) != o.empty {
				t.Errorf("%d empty; - AIPerf's, + this\n%s", all-len(want), diff)
			}
		})
	}
}

// AIPerf writes today what is recorded of it.
func TestAIPerfsAccuracyIsAsRecorded(t *testing.T) {
	if *peer == "" {
		t.Skip("make accuracy carries AIPerf's runs out")
	}
	for _, o := range oracles {
		t.Run(o.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(answersMarks))
			defer server.Close()
			dir := t.TempDir() // data sets are found where it is started
			if err := os.CopyFS(dir, os.DirFS((&oracle{name: "dataset"}).recorded(""))); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"-m", "aiperf"}, o.words(server.URL, filepath.Join(dir, "words"))...)
			args = append(args, "--ui", "none", "--request-count", strconv.Itoa(o.requests))
			standIns, err := filepath.Abs(filepath.Join("testdata", "standins"))
			if err != nil {
				t.Fatal(err)
			}
			theirs := exec.Command(*peer, args...)
			theirs.Dir = dir
			theirs.Env = append(os.Environ(), "HF_HOME="+filepath.Join(dir, "hub"), "PYTHONPATH="+standIns,
				"AIPERF_SERVICE_REGISTRATION_TIMEOUT=180") // on a busy machine its services start late
			if said, err := theirs.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			out := filepath.Join(dir, "out")
			if *update {
				o.record(t, out)
			}
			o.compare(t, out)
		})
	}
}

// compare holds the files of a run against AIPerf's.
func (o *oracle) compare(t *testing.T, dir string) {
	t.Helper()
	for file, of := range map[string]func(*testing.T, string) any{
		"accuracy_export.jsonl":      answersOf,
		"accuracy_results.csv":       func(t *testing.T, s string) any { return s },
		"profile_export_console.txt": scoresTable,
		"profile_export_aiperf.json": scoreMembers,
		"profile_export_aiperf.csv":  scoreRows,
	} {
		want, got := of(t, readText(t, o.recorded(file))), of(t, readText(t, filepath.Join(dir, file)))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: - AIPerf's, + this\n%s", file, diff)
		}
	}
}

// record keeps of AIPerf's files what is compared.
func (o *oracle) record(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(o.recorded(""), 0o755); err != nil {
		t.Fatal(err)
	}
	keep := func(file, text string) {
		if err := os.WriteFile(o.recorded(file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"accuracy_export.jsonl", "accuracy_results.csv"} {
		keep(file, readText(t, filepath.Join(dir, file)))
	}
	members, err := json.MarshalIndent(scoreMembers(t, readText(t, filepath.Join(dir, "profile_export_aiperf.json"))), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	keep("profile_export_aiperf.json", string(members)+"\n")
	keep("profile_export_aiperf.csv", strings.Join(scoreRows(t, readText(t, filepath.Join(dir, "profile_export_aiperf.csv"))).([]string), "\n")+"\n")
	keep("profile_export_console.txt", scoresTable(t, readText(t, filepath.Join(dir, "profile_export_console.txt"))).(string))
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// answersOf are the lines of accuracy_export.jsonl without what differs from run to run.
func answersOf(t *testing.T, text string) any {
	t.Helper()
	lines, err := gradedLines(text, "")
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// scoresTable is the table of scores on the console.
func scoresTable(t *testing.T, text string) any {
	t.Helper()
	lines := strings.SplitAfter(text, "\n")
	from := slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, "Accuracy Benchmark Results") })
	if from < 0 {
		t.Fatalf("no table of scores in\n%s", text)
	}
	to := from + slices.IndexFunc(lines[from:], func(s string) bool { return strings.HasPrefix(s, "└") })
	var out strings.Builder
	for _, line := range lines[from : max(from, to)+1] {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}

// scoreMembers are the members of the summary that AIPerf has of scores.
func scoreMembers(t *testing.T, text string) any {
	t.Helper()
	var all, scores map[string]any
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	scores = map[string]any{}
	for k, v := range all {
		if strings.HasPrefix(k, "accuracy.") {
			scores[k] = v
		}
	}
	if len(scores) < 4 {
		t.Errorf("%d members of scores", len(scores))
	}
	return scores
}

// scoreRows are the rows of the summary's CSV about scores.
func scoreRows(_ *testing.T, text string) any {
	var rows []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "Accuracy ") {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	return rows
}
