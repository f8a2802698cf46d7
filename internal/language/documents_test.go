package language

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue/format"
	"github.com/rogpeppe/go-internal/txtar"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/compat"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

const corpus = root + "/testdata/aiperf/config"

// document is an experiment in a file of its own, or a mistake in one.
type document struct {
	kind string // where it comes from, for the table
	name string
	ext  string // .cue or .yaml
	text string
}

// documents are all experiments there are in the repository: what people copy,
// what the program writes, what was recorded of AIPerf.
func documents(t *testing.T) []document {
	t.Helper()
	var out []document
	for _, g := range []struct{ kind, pattern string }{
		{"examples", root + "/examples/experiments/*.yaml"},
		{"examples", root + "/examples/experiments/*.cue"},
		{"corpus, to expand", corpus + "/expand/*.yaml"},
		{"corpus, to refuse", corpus + "/reject/*.yaml"},
	} {
		files, err := filepath.Glob(g.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, document{g.kind, filepath.Base(file), filepath.Ext(file), string(text)})
			if g.kind == "corpus, to expand" {
				if cue, _, err := compat.YAMLToCUE(text); err == nil {
					out = append(out, document{"corpus, as CUE", filepath.Base(file) + ".cue", ".cue", string(cue)})
				}
			}
		}
	}
	templates, err := compat.Templates()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range templates {
		text, err := x.Fill("Qwen/Qwen3-0.6B", "")
		if err != nil {
			text = x.Text
		}
		out = append(out, document{"config init", x.File, filepath.Ext(x.File), string(text)})
	}
	out = append(out, defaultsOfAIPerf()...)
	out = append(out, strangers()...)
	out = append(out, alike(t)...)
	out = append(out, snippets(t)...)
	return append(out, commandLines(t)...)
}

// alike are the cases of testdata/alike.txtar, by what all three say of them.
func alike(t *testing.T) (out []document) {
	t.Helper()
	cases, err := txtar.ParseFile("testdata/alike.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range cases.Files {
		said, name, ok := strings.Cut(f.Name, "/")
		if !ok { // judged as any other document is
			said, name = "", f.Name
		}
		out = append(out, document{strings.TrimSuffix("cases, "+said, ", "), name, filepath.Ext(name), string(f.Data)})
	}
	return out
}

// defaultsOfAIPerf are files that repeat what is usual in sections that are not
// here.
func defaultsOfAIPerf() (out []document) {
	const base = `{"benchmark": {"model": "demo", "endpoint": {"url": "mock:"}, "dataset": {"isl": 8, "entries": 2}, "profiling": {"requests": 2}}}`
	for _, row := range fields.Absents() {
		for path, value := range row.Idle {
			var doc map[string]any
			if err := json.Unmarshal([]byte(base), &doc); err != nil {
				panic(err) // above
			}
			at := doc
			for part := range strings.SplitSeq(strings.NewReplacer("phases.*", "profiling", "datasets.*",
				"dataset").Replace(path[:strings.LastIndex(path, ".")]), ".") {
				if at[part] == nil {
					at[part] = map[string]any{}
				}
				at = at[part].(map[string]any)
			}
			if strings.HasPrefix(path, "sweep.") {
				at["parameters"] = map[string]any{"concurrency": []int{1, 2}}
			}
			at[path[strings.LastIndex(path, ".")+1:]] = json.RawMessage(value)
			text, err := json.Marshal(doc)
			if err != nil {
				panic(err) // made of JSON
			}
			out = append(out, document{"AIPerf's defaults", path + ".yaml", ".yaml", string(text)})
		}
	}
	return out
}

// strangers are files with a key that nobody knows, in turn in each object that
// a sweep has a say in, beside each way to write a sweep and beside none.
func strangers() (out []document) {
	const head = "package p\n\nimport \"aiperf.dev/schema\"\n\nschema.#Experiment & "
	sweeps := map[string]string{
		"none":       `{}`,
		"parameters": `{"sweep": {"parameters": {"concurrency": [1, 2]}}}`,
		"axes":       `{"sweep": {"axes": [{"grid": {"concurrency": [1, 2]}}]}}`,
		"runs":       `{"sweep": {"type": "scenarios", "runs": [{"name": "a"}, {"name": "b", "benchmark": {"profiling": {"concurrency": 2}}}]}}`,
		"search":     `{"sweep": {"type": "adaptive_search", "search_space": [{"path": "concurrency", "lo": 1, "hi": 4, "kind": "int"}]}}`,
		"dimensions": `{"sweep": {"type": "sobol", "samples": 2, "dimensions": [{"path": "concurrency", "lo": 1, "hi": 4, "kind": "int"}]}}`,
	}
	for _, sweep := range slices.Sorted(maps.Keys(sweeps)) {
		for _, at := range []string{"envelope", "benchmark", "profiling", "dataset", "nowhere"} {
			benchmark := map[string]any{
				"model": "demo", "endpoint": map[string]any{"url": "mock:"},
				"dataset": map[string]any{"isl": 8, "entries": 2}, "profiling": map[string]any{"requests": 2},
			}
			doc := map[string]any{"benchmark": benchmark}
			if err := json.Unmarshal([]byte(sweeps[sweep]), &doc); err != nil {
				panic(err) // above
			}
			objects := map[string]any{
				"envelope": doc, "benchmark": benchmark, "profiling": benchmark["profiling"],
				"dataset": benchmark["dataset"],
			}
			if object, ok := objects[at].(map[string]any); ok {
				object["gate"] = 3
			}
			text, err := json.Marshal(doc)
			if err != nil {
				panic(err) // made of JSON
			}
			asCUE, err := format.Source([]byte(head + string(text) + "\n"))
			if err != nil {
				panic(err) // JSON is CUE
			}
			name := sweep + "-" + at
			out = append(out, document{"unknown keys", name + ".yaml", ".yaml", string(text)},
				document{"unknown keys", name + ".cue", ".cue", string(asCUE)})
		}
	}
	return out
}

var fence = regexp.MustCompile("(?ms)^```(cue|yaml)[^\n/]*\n(.*?)^```$")

// snippets are the experiments in the pages; a part of one is laid beside what
// every experiment has. Files of packages, which have a folder in their name,
// are run by the test of their page.
func snippets(t *testing.T) (out []document) {
	t.Helper()
	pages, err := filepath.Glob(root + "/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, root+"/README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range fence.FindAllStringSubmatch(string(text), -1) {
			d := document{
				"pages", fmt.Sprintf("%s-%d.%s", strings.TrimSuffix(filepath.Base(page), ".md"), i, m[1]),
				"." + m[1], m[2],
			}
			switch whole := strings.Contains(m[2], "benchmark:"); {
			case strings.Contains(m[2], "runs-on:") || strings.HasPrefix(m[2], "module:") || !whole &&
				strings.HasPrefix(m[2], "package "): // no experiment
				continue
			case !whole && m[1] == "yaml":
				d.text += "benchmark: {model: demo, endpoint: {url: 'mock:'}, dataset: {isl: 8, entries: 2}, profiling: {requests: 2}}\n"
			case !whole:
				d.text = "package p\nimport \"aiperf.dev/schema\"\n_server: \"mock:\"\n" +
					"schema.#Experiment & {benchmark: {model: \"demo\", endpoint: url: _server, dataset: {isl: 8, entries: 2}, profiling: {requests: 2}}\n" + d.text + "}\n"
			}
			out = append(out, d)
		}
	}
	return out
}

// commandLines are recorded command lines as files, in turn in CUE and YAML.
func commandLines(t *testing.T) (out []document) {
	t.Helper()
	lines := map[string][]string{}
	for _, file := range []string{"cli_map.jsonl", "reject.jsonl"} {
		for _, row := range rows(t, file) {
			if words := row.Argv; len(words) > 0 {
				lines[row.Name] = words
			} else if row.Kind == "cli" {
				var words []string
				if err := json.Unmarshal(row.Input, &words); err != nil {
					t.Fatal(err)
				}
				lines[row.Name] = words
			}
		}
	}
	for n, name := range slices.Sorted(maps.Keys(lines)) {
		words := lines[name]
		for i, w := range words {
			words[i] = strings.ReplaceAll(w, "DATA/", corpus+"/data/")
		}
		p, err := argv.Parse(words, []argv.Switch{{Name: "config", Short: "f", Arg: "FILE"}}, schema.Options())
		if err != nil || p.Has("config") {
			continue // refused before there is a file
		}
		doc, err := schema.Load(schema.Source{Assignments: p.Assigns, Command: "profile", Tags: metrics.Tags()})
		if err != nil {
			continue
		}
		for i, to := range []string{"cue", "yaml"} {
			if i != n%2 {
				continue // the other half in the other spelling: half the time
			}
			text, _, err := compat.Write(doc.Said(), to)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, document{
				"command lines, as " + strings.ToUpper(to), name + "." + to, "." + to,
				string(text),
			})
		}
	}
	return out
}

// row is a line of a recording.
type row struct {
	Name  string
	Kind  string
	Argv  []string
	Input json.RawMessage
}

func rows(t *testing.T, file string) (out []row) {
	t.Helper()
	f, err := os.Open(filepath.Join(corpus, file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var r row
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, r)
	}
	return out
}
