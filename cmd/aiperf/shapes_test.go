package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	aiperfiles "aiperf.dev/aiperf/sinks/aiperf"
)

// shapes are strict schemas of AIPerf's files, made from files that it wrote:
// a key that it does not know is refused.
type shapes map[string]*jsonschema.Schema

// shapeOf is the shape that a file must have, "" for files that are not
// AIPerf's.
func shapeOf(path string) string {
	name := filepath.Base(path)
	for _, s := range []struct{ suffix, shape string }{
		{"profile_export_aiperf_aggregate.json", "aggregate"},
		{"profile_export_aiperf_sweep.json", "sweep"},
		{"profile_export_aiperf_collated.json", "collated"},
		{"_timeslices.json", "timeslices"},
		{"_raw.jsonl", "raw"},
		{"profile_export.jsonl", "record"},
		{"profile_export_aiperf.json", "profile"},
		{"phase_manifest.json", "phase_manifest"},
		{"run_config.json", "run_config"},
		{".aiperf_results_ready.json", "ready"},
		{"outputs.json", "outputs"},
	} {
		if strings.HasSuffix(name, s.suffix) {
			return s.shape
		}
	}
	return ""
}

func readShapes(t *testing.T) shapes {
	t.Helper()
	dir := filepath.Join("..", "..", "testdata", "aiperf", "shapes")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out, c := shapes{}, jsonschema.NewCompiler()
	for _, e := range entries {
		s, err := c.Compile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(e.Name(), ".schema.json")] = s
	}
	return out
}

// check compares every file below root that has a shape, ours without what
// Differences says that they add. It returns how many of each there were.
func (s shapes) check(t *testing.T, root string, added map[string]bool) map[string]int {
	t.Helper()
	seen := map[string]int{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || shapeOf(path) == "" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		docs := [][]byte{b}
		if strings.HasSuffix(path, ".jsonl") {
			docs = bytes.Split(bytes.TrimSpace(b), []byte("\n"))
		}
		for i, doc := range docs {
			if len(doc) == 0 {
				continue
			}
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
			if err != nil {
				t.Errorf("%s: %d: %v", path, i+1, err)
				continue
			}
			without(v, added)
			if err := s[shapeOf(path)].Validate(v); err != nil {
				rel, _ := filepath.Rel(root, path)
				t.Errorf("%s: %d: %v", rel, i+1, err)
				break
			}
			seen[shapeOf(path)]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// without takes members out, wherever they are.
func without(v any, names map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if names[k] {
				delete(v, k)
				continue
			}
			without(x, names)
		}
	case []any:
		for _, x := range v {
			without(x, names)
		}
	}
}

// added are the members that our files have beside AIPerf's. What AIPerf writes
// elsewhere has its shape there.
func added(t *testing.T) map[string]bool {
	t.Helper()
	var known []byte
	for _, name := range []string{"profile", "record"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "aiperf", "shapes", name+".schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		known = append(known, b...)
	}
	out := map[string]bool{}
	for _, d := range aiperfiles.Differences() {
		if d.Kind == aiperfiles.Added && !bytes.Contains(known, []byte(`"`+d.What+`"`)) {
			out[d.What] = true
		}
	}
	return out
}

// TestShapesAreAIPerfs: the schemas take every file of AIPerf's that was
// recorded here, and refuse a key that it does not write.
func TestShapesAreAIPerfs(t *testing.T) {
	t.Parallel()
	s := readShapes(t)
	seen := s.check(t, filepath.Join("..", "..", "testdata", "aiperf", "artifacts"), nil)
	for _, shape := range []string{"profile", "record"} {
		if seen[shape] < 10 {
			t.Errorf("only %d recorded files have the shape %s", seen[shape], shape)
		}
	}
	for name, schema := range s {
		if schema.Validate(map[string]any{"no_such_key": 1}) == nil {
			t.Errorf("%s takes a key that AIPerf does not write", name)
		}
	}
}
