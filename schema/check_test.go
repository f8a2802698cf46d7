package schema

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// Numbers at the edges of what fields take, and some between.
var edgeNumbers = []int64{-1, 0, 1, 2, 3, 4, 5, 50, 99, 100, 101, 1 << 20, source.MaxWhole, source.MaxWhole + 1}

// A part that is judged by one like it is judged as by CUE: the same verdict in the
// same words, and the same JSON. The parts are drawn from the table of fields.
func TestFamilyJudgesAsCUE(t *testing.T) {
	t.Parallel()
	x := fields.New()
	quick, slow := newChecker(x, nil), newChecker(x, nil)
	r := rand.New(rand.NewPCG(1, 2))
	shared, good, bad := 0, 0, 0
	for range 150 {
		def := []string{"benchmark.phases", "benchmark.datasets"}[r.IntN(2)]
		draw := func(seed uint64) *source.Node {
			numbers := rand.New(rand.NewPCG(seed, r.Uint64()))
			return drawnObject(x, def+".*", rand.New(rand.NewPCG(seed, 0)), numbers, 0)
		}
		seed := r.Uint64()
		for range 8 {
			n := draw(seed)
			root := source.Wrap("benchmark", source.Wrap(def[len("benchmark."):], source.ListNode(n)))
			f, numbers := quick.family(def+".*", n)
			if f.good[keyOf(numbers, nil)] == nil && quick.like(f, def+".*", numbers) != nil {
				shared++
			}
			got, refused := quick.check(root, def+".0", n)
			clear(slow.families)
			want, expected := slow.check(root, def+".0", n)
			if refused.Error() != expected.Error() {
				t.Fatalf("%s\n got %v\nwant %v", n, refused, expected)
			}
			if want == nil {
				bad++
				continue
			}
			good++
			if string(got.json) != string(want.json) || string(got.identity) != string(want.identity) ||
				string(got.secret) != string(want.secret) {
				t.Fatalf("%s\n got %s\nwant %s", n, got.json, want.json)
			}
		}
	}
	t.Logf("%d good, %d bad, %d judged by one like them", good, bad, shared)
	if good < 200 || bad < 200 || shared < 80 {
		t.Errorf("%d good, %d bad, %d judged by one like them: the draws show little", good, bad, shared)
	}
}

// drawnObject is an object with a few fields of the definition at path: shape says
// which and of what form, numbers are its whole numbers.
func drawnObject(x fields.Table, path string, shape, numbers *rand.Rand, depth int) *source.Node {
	at := source.Origin{Where: "drawn"}
	out := source.ObjectNode(at)
	for _, key := range x[path].Keys {
		l := x[source.Join(path, key)]
		switch {
		case key == "name" && depth == 0:
			out.Put(key, source.TextNode("profiling", at))
		case l == nil || shape.IntN(len(x[path].Keys)) > 3 || l.Has(fields.IsUnsupported) || l.Instead != "":
		case len(l.Enum) > 0:
			out.Put(key, source.TextNode(l.Enum[shape.IntN(len(l.Enum))], at))
		case l.Has(fields.IsBool):
			out.Put(key, source.LeafNode(shape.IntN(2) == 0, at))
		case l.Has(fields.IsObject) && depth < 2 && (!l.Has(fields.IsNumber) || shape.IntN(2) == 0):
			out.Put(key, drawnObject(x, l.Path, shape, numbers, depth+1))
		case l.Has(fields.IsNumber) || l.Has(fields.IsDuration) || l.Has(fields.IsShape):
			out.Put(key, source.LeafNode(edgeNumbers[numbers.IntN(len(edgeNumbers))], at))
		}
	}
	return out
}

// So are the cells of the experiments of the corpus and of the examples.
func TestFamilyJudgesCellsAsCUE(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{
		"../testdata/aiperf/config/expand/*.yaml", "../examples/experiments/*.yaml",
		"../examples/experiments/*.cue",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		files = append(files, found...)
	}
	cells := 0
	for _, file := range files {
		d, err := Load(Source{File: file, Command: "run"})
		if err != nil {
			continue
		}
		quick := d.cells.checker
		for _, point := range pointsAround(d.Sweep().Axes) {
			d.cells.checker = quick
			got, refused := d.Resolve(point)
			d.cells.checker = newChecker(d.cells.index, nil)
			d.cells.checker.cue = quick.cue
			want, expected := d.Resolve(point)
			if fmt.Sprint(refused) != fmt.Sprint(expected) || want != nil && string(got.JSON) != string(want.JSON) {
				t.Fatalf("%s: %v\n got %v %+v\nwant %v %+v", file, point, refused, got, expected, want)
			}
			cells++
		}
	}
	if cells < 200 {
		t.Errorf("only %d cells were compared", cells)
	}
}

// pointsAround are the points that differ from the first one on one axis, or, one
// value further on each, on all.
func pointsAround(axes []Axis) (out [][]lower.Assignment) {
	point := func(value func(k int) int) {
		var p []lower.Assignment
		for k, a := range axes {
			p = append(p, a.Assignment(value(k)%len(a.Values), source.Origin{Source: source.ByAxis, Where: "an axis"}))
		}
		out = append(out, p)
	}
	for one, a := range axes {
		for i := range min(4, len(a.Values)) {
			point(func(k int) int {
				if k == one {
					return i
				}
				return 0
			})
			point(func(int) int { return i })
		}
	}
	return out
}

// What makes a family sound: conditions of the schema stand in #rules, and no
// field follows from another one.
func TestSchemaDependsOnValuesInRulesOnly(t *testing.T) {
	t.Parallel()
	kinds := map[string]bool{"_": true, "int": true, "uint": true, "number": true, "string": true, "bool": true}
	for _, name := range sourceFiles() {
		f, err := parser.ParseFile(name, sourceFile(name))
		if err != nil {
			t.Fatal(err)
		}
		var walk func(n ast.Node)
		walk = func(n ast.Node) {
			ast.Walk(n, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Field:
					if label, _, _ := ast.LabelName(n.Label); label != "#rules" {
						walk(n.Value)
					}
					return false
				case *ast.Comprehension:
					t.Errorf("%s: %v: a condition outside of #rules", name, n.Pos())
				case *ast.Ident:
					if n.Name[0] != '#' && !kinds[n.Name] {
						t.Errorf("%s: %v: %s follows from another field", name, n.Pos(), n.Name)
					}
				}
				return true
			}, nil)
		}
		for _, d := range f.Decls {
			if _, ok := d.(*ast.Package); !ok {
				walk(d)
			}
		}
	}
}
