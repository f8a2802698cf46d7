package exam_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/grade"
	"aiperf.dev/aiperf/loadgen/dataset/exam"
)

var bbh = flag.String("bbh", "", "a checkout of BIG-Bench-Hard: compare all prompts made of its files")

// golden is a prompt that AIPerf made of rows of a toy data set.
type golden struct {
	Benchmark string
	Params    struct {
		Shots   *int   `json:"n_shots"`
		CoT     *bool  `json:"enable_cot"`
		Subject string `json:"subject"`
		Task    string `json:"task"`
	}
	Rows     map[string][]json.RawMessage
	Task     string
	Prompt   string
	Messages []exam.Message
	Gold     string
	Metadata map[string]any
}

func goldens(t *testing.T) (all []golden) {
	t.Helper()
	for line := range strings.Lines(read(t, "testdata/prompt_goldens.jsonl")) {
		var g golden
		if err := json.Unmarshal([]byte(line), &g); err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	if len(all) != 20 {
		t.Fatalf("%d goldens", len(all))
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// rows writes each split into a file of its own, and finds it again.
func rows(t *testing.T, splits map[string][]json.RawMessage) exam.Find {
	t.Helper()
	dir := t.TempDir()
	for split, list := range splits {
		text := ""
		for _, row := range list {
			text += string(row) + "\n"
		}
		write(t, filepath.Join(dir, split+".jsonl"), text)
	}
	return func(_, _, split string) ([]string, error) {
		if splits[split] == nil {
			return nil, os.ErrNotExist
		}
		return []string{filepath.Join(dir, split+".jsonl")}, nil
	}
}

// metadata is AIPerf's metadata as an item has it.
func metadata(m map[string]any) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		if s, ok := v.(string); ok {
			out[k] = s
			continue
		}
		b, _ := json.Marshal(v)
		out[k] = string(b)
	}
	return out
}

func TestPromptsAreAIPerfs(t *testing.T) {
	t.Parallel()
	for i, g := range goldens(t) {
		o := exam.Options{Benchmark: g.Benchmark, Shots: g.Params.Shots, CoT: g.Params.CoT}
		if task := g.Params.Subject + g.Params.Task; task != "" {
			o.Tasks = []string{task}
		}
		if g.Benchmark == "bigbench" {
			o.Path = t.TempDir()
			lead, _, _ := strings.Cut(strings.TrimPrefix(g.Prompt, "Task description: "), "\n\nQ: INPUT")
			write(t, filepath.Join(o.Path, "cot-prompts", g.Params.Task+".txt"), "canary\n-----\n"+lead)
		}
		find := rows(t, g.Rows)
		items, err := exam.Load(t.Context(), o, find)
		if err != nil {
			t.Errorf("golden %d, %s: %v", i+1, g.Benchmark, err)
			continue
		}
		at := slices.IndexFunc(items, func(it exam.Item) bool { return it.Prompt == g.Prompt })
		if at < 0 {
			t.Errorf("golden %d, %s: no item has its prompt (-want +last)\n%s", i+1, g.Benchmark,
				cmp.Diff(g.Prompt, items[len(items)-1].Prompt))
			continue
		}
		want := exam.Item{
			ID: items[at].ID, Task: g.Task, System: items[at].System, Messages: g.Messages, Prompt: g.Prompt,
			Truth: g.Gold, MaxTokens: int(g.Metadata["generation_size"].(float64)), Stop: items[at].Stop, Grader: items[at].Grader,
			Meta: metadata(g.Metadata),
		}
		if diff := cmp.Diff(want, items[at]); diff != "" {
			t.Errorf("golden %d, %s (-want +got)\n%s", i+1, g.Benchmark, diff)
		}
		stop := g.Metadata["stop_sequence"]
		if (len(items[at].Stop) > 0) != (stop != nil && len(stop.([]any)) > 0) {
			t.Errorf("golden %d, %s: stop %q, want %v", i+1, g.Benchmark, items[at].Stop, stop)
		}
	}
}

// All prompts of BIG-Bench Hard, of its authors' files.
func TestBigBenchPrompts(t *testing.T) {
	t.Parallel()
	if *bbh == "" {
		t.Skip("-bbh names a checkout of BIG-Bench-Hard")
	}
	data := write(t, filepath.Join(t.TempDir(), "one.jsonl"), `{"input": "INPUT", "target": "TARGET"}`)
	n := 0
	lines := bufio.NewScanner(strings.NewReader(read(t, "testdata/bigbench_prompt_sha256.jsonl")))
	for ; lines.Scan(); n++ {
		var want struct {
			Task   string
			CoT    bool `json:"enable_cot"`
			Shots  int  `json:"n_shots"`
			Bytes  int
			SHA256 string
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.Symlink(filepath.Join(*bbh, "cot-prompts"), filepath.Join(dir, "cot-prompts")); err != nil {
			t.Fatal(err)
		}
		items, err := exam.Load(t.Context(), exam.Options{
			Benchmark: "bigbench", Path: dir, Tasks: []string{want.Task}, Shots: &want.Shots, CoT: &want.CoT,
		}, func(string, string, string) ([]string, error) { return []string{data}, nil })
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(items[0].Prompt))
		if hex.EncodeToString(sum[:]) != want.SHA256 {
			t.Errorf("%s, CoT %t, %d shots: %d bytes, want %d\n%s", want.Task, want.CoT, want.Shots, len(items[0].Prompt),
				want.Bytes, items[0].Prompt)
		}
	}
	if n != 162 {
		t.Errorf("%d prompts compared", n)
	}
}

// Requests of recorded runs of AIPerf: what it sent for the first item of data sets laid
// out as on the hub is what the items say.
func TestItemsAreWhatAIPerfSent(t *testing.T) {
	t.Parallel()
	type body struct {
		Messages []exam.Message
		Prompt   string
		Stop     []string
		Chat     int `json:"max_completion_tokens"`
		Plain    int `json:"max_tokens"`
	}
	var sent []body
	for line := range strings.Lines(read(t, "testdata/wire.jsonl")) {
		var w struct{ Body body }
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, w.Body)
	}
	one, two, yes, brief := 1, 2, true, "Be brief."
	algebra := []string{"abstract_algebra"}
	for i, o := range map[int]exam.Options{
		0: {Benchmark: "mmlu", Tasks: algebra},
		1: {Benchmark: "mmlu", Tasks: algebra, Shots: &two, CoT: &yes},
		2: {Benchmark: "aime", Shots: &two},
		3: {Benchmark: "mmlu_pro", Tasks: []string{"math"}, Shots: &one},
		5: {Benchmark: "gsm8k", System: &brief},
	} {
		o.Path = filepath.Join("testdata", "recorded")
		items, err := exam.Load(t.Context(), o, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		it := items[0]
		got := body{Stop: it.Stop, Messages: it.Messages, Chat: it.MaxTokens}
		if it.System != "" {
			got.Messages = append([]exam.Message{{Role: "system", Content: it.System}}, it.Messages...)
		}
		if sent[i].Prompt != "" {
			got = body{Stop: it.Stop, Prompt: it.Prompt, Plain: it.MaxTokens}
		}
		if diff := cmp.Diff(sent[i], got); diff != "" {
			t.Errorf("request %d, %s (-sent +item)\n%s", i+1, o.Benchmark, diff)
		}
	}
}

// Every row names a grader there is, and finds its tasks by their names.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	if n := len(exam.Names()); n != 11 {
		t.Errorf("%d benchmarks", n)
	}
	for _, name := range exam.Names() {
		b, ok := exam.Known(name)
		if !ok || b.Name != name || b.Dataset == "" {
			t.Errorf("%s: %+v", name, b)
		}
		if !slices.Contains(grade.Names(), b.Grader) {
			t.Errorf("%s: no grader %q", name, b.Grader)
		}
		if tasks := len(b.Tasks); map[string]int{"mmlu": 57, "mmlu_pro": 14, "bigbench": 27}[name] != tasks {
			t.Errorf("%s: %d tasks", name, tasks)
		}
	}
}

// What is wrong is said in one line, with the place.
func TestMistakes(t *testing.T) {
	t.Parallel()
	two, nine, no := 2, 9, 0
	yes := true
	const good = `{"question": "q", "choices": ["a", "b", "c", "d"], "answer": 1, "subject": "anatomy"}`
	for _, c := range []struct {
		name string
		o    exam.Options
		text string // of the one file
		want string
	}{
		{"no such benchmark", exam.Options{Benchmark: "mmmlu"}, "", `"mmmlu" is neither a benchmark nor a file with items`},
		{"task", exam.Options{Benchmark: "mmlu", Tasks: []string{"alchemy"}}, good, `mmlu has no task "alchemy"`},
		{"shots", exam.Options{Benchmark: "aime", Shots: &nine}, good, "aime takes 0 to 8 examples, not 9"},
		{"shots elsewhere", exam.Options{Benchmark: "mmlu", Shots: &two}, good, "mmlu: its 2 examples stand in the split dev, and FILE is one file"},
		{"column", exam.Options{Benchmark: "gsm8k"}, `{"question": "q", "reply": "a"}`, "FILE:1: no column answer; there are question, reply"},
		{"kind", exam.Options{Benchmark: "gsm8k"}, `{"question": 7, "answer": "a"}`, "FILE:1: question: want a text"},
		{"no answer", exam.Options{Benchmark: "gsm8k"}, `{"question": "q", "answer": " "}`, "FILE:1: the answer is empty"},
		{"choices", exam.Options{Benchmark: "mmlu", Shots: &no}, strings.Replace(good, `, "d"`, "", 1), "FILE:1: choices: want 4, there are 3"},
		{"choice", exam.Options{Benchmark: "mmlu", Shots: &no}, strings.Replace(good, ": 1", ": 4", 1), `FILE:1: answer: "4" is not one of 4 choices`},
		{"subject", exam.Options{Benchmark: "mmlu", Shots: &no}, strings.Replace(good, "anatomy", "magic", 1), `FILE:1: subject: "magic" is not a subject of mmlu`},
		{"which task", exam.Options{Benchmark: "bigbench"}, good, "bigbench: FILE is one file: which task is it?"},
		{"prompts", exam.Options{Benchmark: "bigbench", Tasks: []string{"navigate"}}, good, "bigbench: no cot-prompts/navigate.txt: its prompts stand in the files of its authors"},
		{"label", exam.Options{Benchmark: "hellaswag", Shots: &no, Tasks: []string{"Chess"}}, `{"ctx": "c", "endings": ["a","b","c","d"], "label": "0", "activity_label": "Disc dog"}`, `hellaswag has no task "Chess"`},
		{"code tasks", exam.Options{Benchmark: "lcb_codegeneration", Tasks: []string{"x"}}, good, "lcb_codegeneration has no tasks to choose from"},
		{"code shots", exam.Options{Benchmark: "lcb_codegeneration", Shots: &two}, good, "lcb_codegeneration takes no examples"},
		{"code reasoning", exam.Options{Benchmark: "lcb_codegeneration", CoT: &yes}, good, "lcb_codegeneration does not ask for reasoning"},
		{"nothing", exam.Options{Benchmark: "gsm8k"}, "", "FILE: no records"},
		{"not JSON", exam.Options{Benchmark: "gsm8k"}, "{", "FILE:1: not a JSON object: unexpected end of JSON input at byte 1"},
		{"own: key", exam.Options{Benchmark: "FILE"}, `{"prompt": "p", "answer": "a", "grader": "math", "weight": 2}`, "FILE:1: unknown key weight; an item has id, task, prompt, messages, answer, grader"},
		{"own: grader", exam.Options{Benchmark: "FILE"}, `{"prompt": "p", "answer": "a"}`, `FILE:1: grader: "" is not one of exact_match`},
		{"own: both", exam.Options{Benchmark: "FILE"}, `{"prompt": "p", "messages": [], "answer": "a", "grader": "exact_match"}`, "FILE:1: prompt and messages: only one of them can be given"},
		{"own: neither", exam.Options{Benchmark: "FILE"}, `{"answer": "a", "grader": "exact_match"}`, "FILE:1: no column prompt; there are answer, grader"},
		{"own: no answer", exam.Options{Benchmark: "FILE"}, `{"prompt": "p", "grader": "exact_match"}`, "FILE:1: no column answer; there are grader, prompt"},
		{"own: last", exam.Options{Benchmark: "FILE"}, `{"messages": [{"role": "assistant", "content": "c"}], "answer": "a", "grader": "exact_match"}`, "FILE:1: messages: the last one must be the user's"},
		{"own: role", exam.Options{Benchmark: "FILE"}, `{"messages": [{"role": "tool", "content": "c"}], "answer": "a", "grader": "exact_match"}`, `FILE:1: messages[0]: role "tool" is not user or assistant`},
		{"own: member", exam.Options{Benchmark: "FILE"}, `{"messages": [{"role": "user", "text": "c"}], "answer": "a", "grader": "exact_match"}`, `FILE:1: messages[0]: unknown field "text"`},
		{"own: twice", exam.Options{Benchmark: "FILE"}, strings.Repeat(`{"id": "one", "prompt": "p", "answer": "a", "grader": "exact_match"}`+"\n", 2), `FILE:2: the id "one" is also that of FILE:1`},
		{"own: task", exam.Options{Benchmark: "FILE", Tasks: []string{"b"}}, `{"task": "a", "prompt": "p", "answer": "a", "grader": "exact_match"}`, `items has no task "b"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := write(t, filepath.Join(t.TempDir(), "items.jsonl"), c.text)
			c.o.Benchmark = strings.ReplaceAll(c.o.Benchmark, "FILE", file)
			if c.o.Path == "" {
				c.o.Path = file
			}
			items, err := exam.Load(t.Context(), c.o, nil)
			if err == nil {
				t.Fatalf("%d items", len(items))
			}
			want := strings.ReplaceAll(c.want, "FILE", file)
			if got := err.Error(); !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// A folder is laid out as on the hub, alone or beside others; the card says which file
// holds which split.
func TestFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const row = `{"question": "%s", "choices": ["a", "b", "c", "d"], "answer": %d}` + "\n"
	home := filepath.Join(dir, "lighteval", "mmlu")
	write(t, filepath.Join(home, "README.md"), "---\nconfigs:\n- config_name: anatomy\n  data_files:\n  - split: dev\n"+
		"    path: x/one.jsonl\n  - split: test\n    path: x/two.jsonl\n---\n")
	write(t, filepath.Join(home, "x", "one.jsonl"), fmt.Sprintf(row, "example", 2))
	write(t, filepath.Join(home, "x", "two.jsonl"), fmt.Sprintf(row, "first", 0)+fmt.Sprintf(row, "second", 1))
	var all [][]exam.Item
	for _, path := range []string{dir, home} {
		items, err := exam.Load(t.Context(), exam.Options{Benchmark: "mmlu", Path: path, Tasks: []string{"Anatomy"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, items)
	}
	if diff := cmp.Diff(all[0], all[1]); diff != "" {
		t.Errorf("beside others and alone differ\n%s", diff)
	}
	got := all[0]
	if len(got) != 2 || got[0].ID != "mmlu/anatomy/0" || got[1].ID != "mmlu/anatomy/1" || got[1].Truth != " B" ||
		len(got[0].Messages) != 3 || got[0].Grader != "multiple_choice" || got[0].MaxTokens != 5 {
		t.Errorf("%+v", got)
	}
	_, err := exam.Load(t.Context(), exam.Options{Benchmark: "gsm8k", Path: dir}, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "gsm8k: no files of the split test (openai/gsm8k, main)") {
		t.Errorf("a folder without gsm8k: %v", err)
	}
}

// Parquet, as the hub keeps it, gives the items that JSON lines give.
func TestParquet(t *testing.T) {
	t.Parallel()
	type row struct {
		Question string   `parquet:"question"`
		Choices  []string `parquet:"choices,list"`
		Answer   int64    `parquet:"answer"`
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "lines", "anatomy", "test.jsonl"),
		`{"question": "q1", "choices": ["a", "b", "c", "d"], "answer": 3}
{"question": "q2", "choices": ["e", "f", "g", "h"], "answer": 0}`)
	table := filepath.Join(dir, "tables", "anatomy", "test-00000-of-00001.parquet")
	if err := os.MkdirAll(filepath.Dir(table), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := parquet.WriteFile(table, []row{
		{"q1", []string{"a", "b", "c", "d"}, 3}, {"q2", []string{"e", "f", "g", "h"}, 0},
	}); err != nil {
		t.Fatal(err)
	}
	no := 0
	var all [][]exam.Item
	for _, name := range []string{"lines", "tables"} {
		items, err := exam.Load(t.Context(), exam.Options{
			Benchmark: "mmlu", Path: filepath.Join(dir, name), Tasks: []string{"anatomy"}, Shots: &no,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, items)
	}
	if diff := cmp.Diff(all[0], all[1]); diff != "" || len(all[0]) != 2 {
		t.Errorf("%d items; lines and tables differ\n%s", len(all[0]), diff)
	}
}

// The local cache of the hub holds snapshots of repositories.
func TestHubCache(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HF_HUB_CACHE", dir)
	t.Chdir(t.TempDir())
	at := filepath.Join(dir, "datasets--openai--gsm8k")
	write(t, filepath.Join(at, "refs", "main"), "c0ffee")
	write(t, filepath.Join(at, "snapshots", "c0ffee", "main", "test.jsonl"), `{"question": "q", "answer": "#### 3"}`)
	items, err := exam.Load(t.Context(), exam.Options{Benchmark: "gsm8k"}, nil)
	if err != nil || len(items) != 1 || items[0].Prompt != "Question: q\nAnswer:" {
		t.Errorf("%+v, %v", items, err)
	}
	_, err = exam.Load(t.Context(), exam.Options{Benchmark: "gpqa-diamond"}, nil)
	var e *diag.Error
	if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "gpqa_diamond: no files of the split train (Idavidrein/gpqa") ||
		!strings.Contains(e.Hint, "CC-BY-4.0") || !strings.Contains(e.Hint, "terms must be accepted") {
		t.Errorf("%v, %+v", err, e)
	}
}

// A folder named like the data set, where the program runs, is found as AIPerf finds it.
func TestFolderOfTheSameName(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HF_HUB_CACHE", t.TempDir())
	write(t, filepath.Join("openai", "gsm8k", "main", "test.jsonl"), `{"question": "q", "answer": "#### 3"}`)
	items, err := exam.Load(t.Context(), exam.Options{Benchmark: "gsm8k"}, nil)
	if err != nil || len(items) != 1 {
		t.Errorf("%+v, %v", items, err)
	}
}

func TestLiveCodeReleases(t *testing.T) {
	for tag, want := range map[string]string{
		"": "test4.jsonl test5.jsonl", "release_v2": "test.jsonl test2.jsonl", "v1": "test.jsonl", "v5_v6": "test5.jsonl test6.jsonl",
	} {
		t.Setenv("AIPERF_ACCURACY_LCB_RELEASE_TAG", tag)
		var asked []string
		_, err := exam.Load(t.Context(), exam.Options{Benchmark: "lcb_codegeneration"},
			func(_, config, _ string) ([]string, error) {
				asked = append(asked, config)
				line := `{"question_content": "q", "public_test_cases": "[]"}`
				return []string{write(t, filepath.Join(t.TempDir(), "x.jsonl"), line)}, nil
			})
		if got := strings.Join(asked, " "); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", tag, got, err, want)
		}
	}
	t.Setenv("AIPERF_ACCURACY_LCB_RELEASE_TAG", "v9")
	if _, err := exam.Load(t.Context(), exam.Options{Benchmark: "lcb_codegeneration"}, nil); err == nil ||
		!strings.Contains(err.Error(), `"v9" is not a release`) {
		t.Errorf("%v", err)
	}
}

// The authors' repository holds data and prompts: its folder is enough.
func TestBigBenchOfItsAuthors(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "BIG-Bench-Hard")
	write(t, filepath.Join(dir, "cot-prompts", "navigate.txt"),
		"canary\n-----\nFind the way.\n\nQ: Left?\nA: Let's think step by step.\nWe turn. So the answer is No.\n\nQ: Right?\nA: It is. So the answer is Yes.")
	write(t, filepath.Join(dir, "bbh", "navigate.json"), `{"canary": "x", "examples": [{"input": "On?", "target": "Yes"}]}`)
	one, no := 1, false
	for want, o := range map[string]exam.Options{
		"Task description: Find the way.\n\nQ: Left?\nA: No\n\nQ: On?\nA: \n\nOutput 'Yes' or 'No'. Full answer not needed.":                                                       {Path: dir, CoT: &no},
		"Task description: Find the way.\n\nQ: Left?\nA: Let's think step by step.\nWe turn. So the answer is No.\n\nQ: On?\nA: \n\nOutput 'Yes' or 'No'. Full answer not needed.": {Path: filepath.Dir(dir)},
	} {
		o.Benchmark, o.Tasks, o.Shots = "bigbench", []string{"NAVIGATE"}, &one
		items, err := exam.Load(t.Context(), o, nil)
		if err != nil || len(items) != 1 || items[0].Prompt != want || items[0].Truth != "Yes" {
			t.Errorf("%+v, %v; want %q", items, err, want)
		}
	}
}

func TestOwnItems(t *testing.T) {
	t.Parallel()
	file := write(t, filepath.Join(t.TempDir(), "mine.jsonl"), `{"id": "a1", "task": "sums", "prompt": "1+1?", "answer": 2, "grader": "exact_match"}
{"messages": [{"role": "system", "content": "Short."}, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "Capital of France?"}], "answer": "Paris", "grader": "exact_match"}
`)
	system := "Be brief."
	items, err := exam.Load(t.Context(), exam.Options{Benchmark: file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []exam.Item{
		{ID: "a1", Task: "sums", Messages: []exam.Message{{Role: "user", Content: "1+1?"}}, Prompt: "1+1?", Truth: "2", Grader: "exact_match"},
		{
			ID: "mine/mine/0", Task: "mine", System: "Short.", Prompt: "Hi\n\nYes?\n\nCapital of France?", Truth: "Paris", Grader: "exact_match",
			Messages: []exam.Message{{Role: "user", Content: "Hi"}, {Role: "assistant", Content: "Yes?"}, {Role: "user", Content: "Capital of France?"}},
		},
	}
	if diff := cmp.Diff(want, items); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	items, err = exam.Load(t.Context(), exam.Options{
		Benchmark: file, Tasks: []string{"sums"}, System: &system, Grader: "lighteval_gsm8k",
	}, nil)
	if err != nil || len(items) != 1 || items[0].System != system || items[0].Grader != "lighteval_gsm8k" {
		t.Errorf("one task with another grader: %+v, %v", items, err)
	}
}

// The system prompt of a benchmark can be replaced, and switched off.
func TestSystemPrompt(t *testing.T) {
	t.Parallel()
	file := write(t, filepath.Join(t.TempDir(), "train.jsonl"), `{"Problem": "P", "Solution": "S", "Answer": 12}`)
	none, other := "", "Think."
	for want, system := range map[string]*string{
		`Please reason step by step, and put your final answer within \boxed{}.`: nil, none: &none, other: &other,
	} {
		items, err := exam.Load(t.Context(), exam.Options{Benchmark: "aime", Path: file, System: system}, nil)
		if err != nil || len(items) != 1 || items[0].System != want {
			t.Errorf("%+v, %v: want the system prompt %q", items, err, want)
		}
	}
}

// The rows that the balanced choice of examples takes were recorded with lighteval.
func TestBalancedExamples(t *testing.T) {
	t.Parallel()
	var want map[string]json.RawMessage
	if err := json.Unmarshal([]byte(read(t, "../../../internal/pyrandom/testdata/python_random_vectors.json")), &want); err != nil {
		t.Fatal(err)
	}
	apart := []string{"d0w", "d1x", "d2y", "d3z", "d4w", "d5x"}
	for key, labels := range map[string][]string{
		"mmlu_balanced": apart, "mmlu_balanced_repeated_labels": strings.Fields("yes yes no yes maybe no"),
	} {
		var cases []struct {
			Shots  int `json:"n_shots"`
			Picked []int
		}
		if err := json.Unmarshal(want[key], &cases); err != nil || len(cases) < 3 {
			t.Fatal(err, cases)
		}
		for _, c := range cases {
			if got := exam.Balanced(labels, c.Shots); !slices.Equal(got, c.Picked) {
				t.Errorf("%s, %d shots: %v, want %v", key, c.Shots, got, c.Picked)
			}
		}
	}
}

// Every item has an id of its own, also where several tasks are read.
func TestIDsDiffer(t *testing.T) {
	t.Parallel()
	line := `{"question": "q", "options": ["a", "b"], "answer": "A", "category": "%s", "cot_content": "A: c"}` + "\n"
	file := write(t, filepath.Join(t.TempDir(), "test.jsonl"), fmt.Sprintf(line+line+line, "math", "law", "math"))
	no := 0
	items, err := exam.Load(t.Context(), exam.Options{Benchmark: "mmlu-pro", Path: file, Shots: &no}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, it := range items {
		ids[it.ID] = true
	}
	want := map[string]bool{"mmlu_pro/math/0": true, "mmlu_pro/law/0": true, "mmlu_pro/math/1": true}
	if !maps.Equal(ids, want) {
		t.Errorf("%v", ids)
	}
}

// A folder of copies that lacks the data set, or a data set that lacks the task, is not
// searched for something else.
func TestWhatIsMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const row = `{"question": "q", "choices": ["a", "b", "c", "d"], "answer": 1}` + "\n"
	for _, split := range []string{"dev", "test"} {
		write(t, filepath.Join(dir, "lighteval", "mmlu", "anatomy", split+".jsonl"), row)
	}
	for _, c := range []struct {
		o    exam.Options
		want string
	}{
		{exam.Options{Benchmark: "gsm8k"}, "holds no folder openai/gsm8k"},
		{exam.Options{Benchmark: "mmlu", Tasks: []string{"virology"}}, "has files of anatomy, and none of virology"},
	} {
		c.o.Path = dir
		if _, err := exam.Load(t.Context(), c.o, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.o.Benchmark, err, c.want)
		}
	}
}
