package schema_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

// The recorded behaviour of AIPerf 0.13: what it makes of files and command
// lines. See docs/differences.md for what we do otherwise and why; the maps
// in differences_test.go are its rows.
const corpus = "../testdata/aiperf/config"

// recordedCell is one cell as AIPerf printed it.
type recordedCell struct {
	Label     string
	Values    map[string]any
	Benchmark map[string]any
}

// recordedFile is what AIPerf made of a file on one of its two routes.
type recordedFile struct {
	Outcome      string
	SweepType    string `json:"sweep_type"`
	Variations   []recordedCell
	ProfileRoute *recordedFile `json:"profile_route"`
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(corpus, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// readRows reads a file of one JSON object a line.
func readRows[T any](t *testing.T, file string) []T {
	t.Helper()
	f, err := os.Open(filepath.Join(corpus, file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []T
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var r T
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		rows = append(rows, r)
	}
	return rows
}

// flatten gives every leaf its path; members of lists of objects go by their
// name, else by their number.
func flatten(v any, path string, out map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			out[path] = v
		}
		for k, m := range v {
			flatten(m, strings.TrimPrefix(path+"."+k, "."), out)
		}
		return
	case []any:
		if len(v) > 0 {
			if _, objects := v[0].(map[string]any); objects {
				for i, it := range v {
					name := fmt.Sprint(i)
					if n, ok := it.(map[string]any)["name"].(string); ok {
						name = n
					}
					flatten(it, path+"["+name+"]", out)
				}
				return
			}
		}
	}
	out[path] = v
}

// same compares leaves: numbers by value, infinity however it is written.
func same(got, want any) bool {
	if want == nil {
		return got == nil || got == "inf" // AIPerf prints null for infinity
	}
	if f, ok := want.(float64); ok {
		g, ok := got.(float64)
		return ok && math.Abs(f-g) <= 1e-9*math.Max(1, math.Abs(f))
	}
	if a, ok := want.([]any); ok {
		b, ok := got.([]any)
		return ok && slices.EqualFunc(b, a, same)
	}
	if s, ok := want.(string); ok {
		g, ok := got.(string)
		return ok && strings.EqualFold(s, strings.TrimPrefix(g, "../testdata/aiperf/config/"))
	}
	return reflect.DeepEqual(got, want)
}

// diffTrees lists the leaves on which two bodies differ.
func diffTrees(got, want map[string]any) []string {
	g, w := map[string]any{}, map[string]any{}
	flatten(got, "", g)
	flatten(want, "", w)
	var out []string
	for k, v := range w {
		if h, ok := g[k]; !ok || !same(h, v) {
			out = append(out, fmt.Sprintf("%s: got %v, want %v", k, h, v))
		}
	}
	for k, h := range g {
		if _, ok := w[k]; !ok {
			out = append(out, fmt.Sprintf("%s: got %v, want nothing", k, h))
		}
	}
	sort.Strings(out)
	return out
}

// body is a cell's tree with all that AIPerf would show.
func body(t *testing.T, d *schema.Document, point []schema.Assignment) map[string]any {
	t.Helper()
	r, err := d.Resolve(point)
	if err != nil {
		return map[string]any{"": err.Error()}
	}
	var tree map[string]any
	if err := json.Unmarshal(r.AsAIPerf(), &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

// tally counts rows and checks that all but a few agree with AIPerf.
type tally struct{ agree, differ int }

func (c *tally) row(t *testing.T, name string, differences map[string]string, diff []string) {
	t.Helper()
	reason, listed := differences[name]
	switch {
	case len(diff) == 0 && !listed:
		c.agree++
	case len(diff) == 0:
		t.Errorf("%s agrees with AIPerf, yet is listed as a difference: %s", name, reason)
	case listed:
		c.differ++
	default:
		t.Errorf("%s:\n  %s", name, strings.Join(diff, "\n  "))
	}
}

// Every file that AIPerf expands resolves to the same bodies, cell by cell.
func TestFilesOfAIPerf(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(corpus, "expand", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	var c tally
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		var want recordedFile
		readJSON(t, "expand/"+name+".expected.json", &want)
		command := "run"
		if want.Outcome != "ok" && want.ProfileRoute != nil {
			want, command = *want.ProfileRoute, "profile"
		}
		d, err := schema.Load(schema.Source{File: file, Command: command})
		if err != nil {
			var diff []string
			if want.Outcome == "ok" {
				diff = []string{err.Error()}
			}
			c.row(t, name, fileDifferences, diff)
			continue
		}
		if want.Outcome != "ok" {
			c.row(t, name, fileDifferences, []string{"accepted, AIPerf refuses"})
			continue
		}
		var diff []string
		for i, cell := range want.Variations {
			if cell.Benchmark == nil {
				continue // the recording is cut after eight cells
			}
			for _, line := range diffTrees(body(t, d, pointOf(d, i, cell)), cell.Benchmark) {
				diff = append(diff, fmt.Sprintf("cell %d: %s", i, line))
			}
		}
		c.row(t, name, fileDifferences, diff)
	}
	t.Logf("%d files agree, %d differ for a listed reason", c.agree, c.differ)
}

// pointOf is a recorded cell as assignments.
func pointOf(d *schema.Document, i int, cell recordedCell) []schema.Assignment {
	if s := d.Sweep().Scenarios; i < len(s) {
		return s[i].Assignments
	}
	var point []schema.Assignment
	for _, path := range slices.Sorted(keys(cell.Values)) {
		v := cell.Values[path]
		if f, ok := v.(float64); ok && f == math.Trunc(f) {
			v = int64(f)
		}
		point = append(point, schema.Assign(fields.Canonical(path), v,
			schema.Origin{Source: schema.ByAxis, Where: "axis " + path}))
	}
	return point
}

func keys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
