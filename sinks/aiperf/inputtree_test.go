package aiperf_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/aiperf"
)

// inputTree is a command line and the tree that AIPerf 0.13 makes of it, as it
// shows it under input_config.
type inputTree struct {
	Name string
	Argv []string
	Tree map[string]any
}

var treeDifferences = map[string]string{
	"--accuracy-benchmark": "without a bound each question is asked once",
	"--concurrency":        "without a bound a concurrency of more than 5 gets 2·concurrency requests",
	"--header":             "the values of headers are masked but for those of harmless ones",
	"--header+osl":         "the same",
	"--header+duration":    "the same",
}

// Every flag alone, and many beside common ones, have AIPerf's tree.
func TestInputConfigOfFlags(t *testing.T) {
	t.Parallel()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "aiperf", "input_config.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	same := 0
	for lines.Scan() {
		var r inputTree
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		got, err := treeOf(r.Argv)
		if err != nil {
			t.Errorf("%s: %v", r.Name, err)
			continue
		}
		diff, listed := treeDiff(got, r.Tree), treeDifferences[r.Name] != ""
		switch {
		case len(diff) > 0 && !listed:
			t.Errorf("%s:\n  %s", r.Name, strings.Join(diff, "\n  "))
		case len(diff) == 0 && listed:
			t.Errorf("%s agrees with AIPerf, yet is listed as a difference", r.Name)
		case len(diff) == 0:
			same++
		}
	}
	if same < 200 {
		t.Errorf("only %d trees are AIPerf's", same)
	}
	t.Logf("%d trees are AIPerf's, %d differ for a listed reason", same, len(treeDifferences))
}

// treeOf is what the files of a run of this command line show; nil for a sweep.
func treeOf(words []string) (map[string]any, error) {
	line, err := argv.Parse(words, []argv.Switch{{Name: "config", Short: "f", Arg: "FILE"}}, schema.Options())
	if err != nil {
		return nil, err
	}
	timed := func(path string) (schema.Records, error) { // of the trace among the recorded command lines
		if !strings.HasSuffix(path, "moon.jsonl") {
			return schema.Records{}, nil
		}
		return schema.Records{Format: "mooncake_trace", Timed: true, Count: func() int64 { return 2 }}, nil
	}
	doc, err := schema.Load(schema.Source{Assignments: line.Assigns, Command: "profile", Look: timed})
	if err != nil {
		return nil, err
	}
	r, err := doc.Resolve(nil)
	if err != nil {
		return nil, err
	}
	raw, err := aiperf.InputConfig{All: r.AsAIPerf(), Said: r.Given, Flags: true}.Tree()
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	return tree, json.Unmarshal(raw, &tree)
}

// treeDiff lists the leaves on which two trees differ; where the files go is
// known when they are written.
func treeDiff(got, want map[string]any) []string {
	g, w := map[string]any{}, map[string]any{}
	leavesOf("", got, g)
	leavesOf("", want, w)
	var out []string
	for k, v := range w {
		if h, ok := g[k]; k != "artifacts.dir" && (!ok || fmt.Sprint(h) != fmt.Sprint(v)) {
			out = append(out, fmt.Sprintf("%s: got %v, want %v", k, h, v))
		}
	}
	for k, v := range g {
		if _, ok := w[k]; !ok && k != "artifacts.dir" {
			out = append(out, fmt.Sprintf("%s: got %v, want nothing", k, v))
		}
	}
	slices.Sort(out)
	return out
}

func leavesOf(path string, v any, out map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 && path != "" {
			out[path] = "{}"
		}
		for k, x := range v {
			leavesOf(strings.TrimPrefix(path+"."+k, "."), x, out)
		}
	case []any:
		if len(v) == 0 {
			out[path] = "[]"
		}
		for i, x := range v {
			leavesOf(fmt.Sprintf("%s.%d", path, i), x, out)
		}
	default:
		out[path] = v
	}
}
