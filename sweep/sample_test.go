package sweep_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// sampledFile is a recording of what AIPerf makes of a file.
type sampledFile struct {
	Outcome    string
	SweepType  string `json:"sweep_type"`
	Variations []struct {
		Label   string
		DirName string `json:"dir_name"`
		Values  map[string]any
	}
	Plan struct {
		VariationSeeds []int64 `json:"variation_seeds"`
	}
}

// The files of AIPerf with sampled sweeps give its cells, from the file to the
// directory: labels, values, seeds.
func TestSampledFilesOfAIPerf(t *testing.T) {
	t.Parallel()
	files := 0
	for _, pattern := range []string{"sobol_*.yaml", "lhs_*.yaml"} {
		found, err := filepath.Glob("../testdata/aiperf/config/expand/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			files++
			t.Run(filepath.Base(file), func(t *testing.T) { t.Parallel(); checkSampled(t, file) })
		}
	}
	if files < 4 {
		t.Errorf("%d files", files)
	}
}

func checkSampled(t *testing.T, file string) {
	var want sampledFile
	text, err := os.ReadFile(strings.TrimSuffix(file, ".yaml") + ".expected.json")
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	doc, err := schema.Load(schema.Source{File: file, Command: "run"})
	if err != nil {
		t.Fatal(err)
	}
	if u := doc.Unsupported(); len(u) > 0 {
		t.Errorf("not supported: %v", u)
	}
	p, err := sweep.Expand(doc)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Cells) != len(want.Variations) {
		t.Fatalf("%d cells, want %d", len(p.Cells), len(want.Variations))
	}
	for i, w := range want.Variations {
		c := p.Cells[i]
		if c.Label != w.Label || c.DirName != w.DirName || c.Seed != want.Plan.VariationSeeds[i] {
			t.Errorf("cell %d: %q in %q with seed %d, want %q in %q with seed %d", i, c.Label, c.DirName, c.Seed,
				w.Label, w.DirName, want.Plan.VariationSeeds[i])
		}
		if got, want := asJSON(t, c.Values), asJSON(t, w.Values); got != want {
			t.Errorf("cell %d: values %s, want %s", i, got, want)
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// design is a document with a sampled sweep over "benchmark.a".
func design(kind string, samples int, dims ...schema.Dimension) *document {
	seed := int64(7)
	for i := range dims {
		if dims[i].Path == "" {
			dims[i].Path = fmt.Sprintf("benchmark.%c", 'a'+i)
		}
		dims[i].Name = strings.TrimPrefix(dims[i].Path, "benchmark.")
		dims[i].Origin = schema.Origin{Where: fmt.Sprintf("x.yaml:%d:5", 9+i)}
		for _, c := range dims[i].Choices {
			dims[i].Labels = append(dims[i].Labels, fmt.Sprint(c))
		}
	}
	d := &document{}
	d.Kind = schema.Sweep{Type: kind, Design: &schema.Design{
		Samples: samples, Seed: &seed, Scramble: true, Dimensions: dims,
		SampleOrigin: schema.Origin{Where: "x.yaml:8:3"},
	}}
	return d
}

// Points of a design keep within their ranges, and choices come equally often.
func TestSampledValues(t *testing.T) {
	t.Parallel()
	p := expand(t, design("sobol", 16,
		schema.Dimension{Lo: 1, Hi: 1000, Log: true, Int: true},
		schema.Dimension{Lo: 0.25, Hi: 4, Log: true},
		schema.Dimension{Choices: []any{"x", int64(2)}}))
	count := map[any]int{}
	below := 0
	for _, c := range p.Cells {
		n, x := c.Point[0].Value.(int64), c.Point[1].Value.(float64)
		if n < 1 || n > 1000 || x < 0.25 || x >= 4 {
			t.Errorf("%s: %d, %v", c.Label, n, x)
		}
		if x < 1 { // half of the range on a logarithmic scale
			below++
		}
		count[c.Point[2].Value]++
	}
	if below != 8 || count["x"] != 8 || count[int64(2)] != 8 {
		t.Errorf("%d of 16 in the lower half, choices %v", below, count)
	}
	if got := p.Cells[0].Label; got != "sobol_0000" {
		t.Errorf("label %q", got)
	}
	if got := len(p.Axes[2].Values); got != 2 {
		t.Errorf("%d values on the axis of choices, want 2", got)
	}
}

// Raw Sobol points by hand: 0, ½, ¾, ¼ of 1…64 rounded half to even, and of the
// whole numbers within 0.5…1.9 the only one.
func TestSampledWholeNumbers(t *testing.T) {
	t.Parallel()
	d := design("sobol", 4, schema.Dimension{Lo: 1, Hi: 64, Int: true})
	d.Kind.Design.Scramble = false
	p := expand(t, d)
	for i, want := range []int64{1, 32, 48, 17} {
		if got := p.Cells[i].Point[0].Value; got != want {
			t.Errorf("sample %d = %v, want %d", i, got, want)
		}
	}
	for _, c := range expand(t, design("sobol", 2, schema.Dimension{Lo: 0.5, Hi: 1.9, Int: true})).Cells {
		if got := c.Point[0].Value; got != int64(1) {
			t.Errorf("%s: %v, want 1", c.Label, got)
		}
	}
}

// Samples that fall on one value stay cells of their own, and that is said.
func TestSamplesOfOneValue(t *testing.T) {
	t.Parallel()
	p := expand(t, design("latin_hypercube", 4, schema.Dimension{Choices: []any{"only"}}))
	ids := map[string]bool{}
	for _, c := range p.Cells {
		ids[c.ID] = true
	}
	if len(p.Cells) != 4 || len(ids) != 4 {
		t.Errorf("%d cells, %d identities, want 4 of each", len(p.Cells), len(ids))
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "3 samples drew the values of earlier ones") {
		t.Errorf("warnings %q", p.Warnings)
	}
	again := expand(t, design("latin_hypercube", 4, schema.Dimension{Choices: []any{"only"}}))
	if again.Hash != p.Hash || again.Cells[2].ID != p.Cells[2].ID {
		t.Error("the same design made two different plans")
	}
}

// Without a seed of its own a design has the experiment's, else 42.
func TestSeedOfDesign(t *testing.T) {
	t.Parallel()
	first := func(own, base *int64) float64 {
		d := design("sobol", 2, schema.Dimension{Lo: 0, Hi: 1})
		d.Kind.Design.Seed, d.Head.RandomSeed = own, base
		return expand(t, d).Cells[0].Point[0].Value.(float64)
	}
	five, answer := int64(5), int64(42)
	if first(nil, &five) != first(&five, nil) || first(nil, nil) != first(&answer, nil) ||
		first(nil, nil) == first(nil, &five) {
		t.Error("the seed of a design is not that of the experiment")
	}
}

func TestSampledRefusals(t *testing.T) {
	t.Parallel()
	many := make([]schema.Dimension, 65)
	for i := range many {
		many[i] = schema.Dimension{Path: fmt.Sprintf("benchmark.p%d", i), Lo: 0, Hi: 1}
	}
	bad := design("sobol", 8, schema.Dimension{Lo: 1, Hi: 2})
	bad.Refuse = func(point []schema.Assignment) error {
		return &schema.Error{Path: "a", Message: fmt.Sprintf("%v is not whole",
			math.Round(point[0].Value.Value.(float64)*1e6))}
	}
	for what, c := range map[string]struct {
		d    *document
		want string
	}{
		"too many":       {design("sobol", 1<<20, schema.Dimension{Lo: 1, Hi: 2}), "x.yaml:8:3: sweep.samples: 1,048,576 cells; at most 10,000 | take fewer samples, or divide the ranges among several plans"},
		"dimensions":     {design("sobol", 2, many...), "65 dimensions; a Sobol sequence has 1 to 64 here | take fewer dimensions, or type: latin_hypercube, which takes any number of them"},
		"wrong all over": {bad, "is not whole"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if got := mistake(t, c.d); !strings.Contains(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	_, err := sweep.Expand(bad)
	var all schema.Errors
	if !errors.As(err, &all) || len(all) != 1 {
		t.Errorf("a range that is wrong in every sample is said %d times: %v", len(all), err)
	}
}

// A search has no cells before it runs: its plan is the experiment it starts
// from.
func TestSearchPlansItsBase(t *testing.T) {
	t.Parallel()
	d := grid(1)
	d.Kind = schema.Sweep{Type: "adaptive_search"}
	p := expand(t, d)
	if len(p.Runs) != 0 || p.Hash == "" {
		t.Errorf("%d runs, hash %q; its source makes them up", len(p.Runs), p.Hash)
	}
	if len(p.Cells) != 1 || p.Cells[0].Label != "base" || p.Cells[0].Seed != 42 || p.Type != "adaptive_search" {
		t.Errorf("%d cells, first %+v", len(p.Cells), p.Cells[0])
	}
}

// Cells of a Latin hypercube over two whole numbers, as SciPy 1.17 draws them
// and AIPerf rounds them; samples are spread only where that is said.
func TestLatinHypercubeOfTwoWholeNumbers(t *testing.T) {
	t.Parallel()
	for extra, want := range map[string]string{
		"":                          "[[32 1968] [45 835] [21 1563] [38 1317] [56 316] [7 518]]",
		", optimization: random-cd": "[[56 518] [7 1317] [32 1968] [38 835] [45 1563] [21 316]]",
		", optimization: null":      "[[32 1968] [45 835] [21 1563] [38 1317] [56 316] [7 518]]",
		", optimization: \"None\" ": "[[32 1968] [45 835] [21 1563] [38 1317] [56 316] [7 518]]",
	} {
		file := filepath.Join(t.TempDir(), "lhs.yaml")
		text := "benchmark: {model: m, endpoint: {url: \"h:1\"}, dataset: {entries: 8}, phases: {type: concurrency, concurrency: 1, requests: 4}}\n" +
			"sweep: {type: latin_hypercube, samples: 6, seed: 3" + extra + ", dimensions: [" +
			"{path: phases.profiling.concurrency, lo: 1, hi: 64, kind: int}, {path: datasets.main.prompts.isl, lo: 16, hi: 2048, kind: int}]}\n"
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		doc, err := schema.Load(schema.Source{File: file, Command: "run"})
		if err != nil {
			t.Fatalf("%q: %v", extra, err)
		}
		p, err := sweep.Expand(doc)
		if err != nil {
			t.Fatalf("%q: %v", extra, err)
		}
		var got [][2]any
		for _, c := range p.Cells {
			got = append(got, [2]any{c.Point[0].Value, c.Point[1].Value})
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%q: %v, want %s", extra, got, want)
		}
	}
}

// A kind's name is its own, and each is told to those who read about it.
func TestKinds(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range sweep.Kinds() {
		if seen[k.Name] || k.Doc == "" || k.Class == "" || len(k.Takes) == 0 || k.Sampled != (k.Drawn != nil) {
			t.Errorf("%+v: a row without its facts, or twice", k)
		}
		seen[k.Name] = true
		if got, ok := sweep.KindOf(k.Name); !ok || got.Name != k.Name {
			t.Errorf("KindOf(%q) = %v, %v", k.Name, got, ok)
		}
	}
}

// Every kind of the catalogue is expanded here: a new one fails until its cells
// stand below.
func TestEveryKindExpands(t *testing.T) {
	t.Parallel()
	axis := func(name string, values ...any) schema.Axis {
		return schema.Axis{Path: "benchmark." + name, Name: name, Values: values}
	}
	axes := []schema.Axis{axis("a", int64(1), int64(2)), axis("b", int64(3), int64(4))}
	scenario := func(name string, v int64) schema.Scenario {
		return schema.Scenario{
			Name:        name,
			Assignments: []schema.Assignment{schema.Assign("benchmark.a", v, schema.Origin{})},
		}
	}
	sampled := design("sobol", 2, schema.Dimension{Lo: 1, Hi: 64, Int: true})
	for _, k := range sweep.Kinds() {
		c, ok := map[string]struct {
			kind schema.Sweep
			want []string
		}{
			"grid":            {schema.Sweep{Axes: axes}, []string{"a=1 b=3", "a=1 b=4", "a=2 b=3", "a=2 b=4"}},
			"zip":             {schema.Sweep{Axes: axes}, []string{"a=1 b=3", "a=2 b=4"}},
			"scenarios":       {schema.Sweep{Scenarios: []schema.Scenario{scenario("x", 1), scenario("y", 2)}}, []string{"scenario=x", "scenario=y"}},
			"sobol":           {sampled.Kind, []string{"a=?", "a=?"}},
			"latin_hypercube": {sampled.Kind, []string{"a=?", "a=?"}},
			"adaptive_search": {schema.Sweep{}, []string{""}},
		}[k.Name]
		if !ok {
			t.Errorf("%s: no expansion of it is tested", k.Name)
			continue
		}
		c.kind.Type = k.Name
		d := grid(1)
		d.Kind = c.kind
		var got []string
		for _, cell := range expand(t, d).Cells {
			var parts []string
			for _, a := range cell.Point {
				v := fmt.Sprint(a.Value)
				if n, ok := a.Value.(int64); ok && k.Sampled && n >= 1 && n <= 64 {
					v = "?"
				}
				parts = append(parts, strings.TrimPrefix(a.Path, "benchmark.")+"="+v)
			}
			got = append(got, strings.Join(parts, " "))
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: cells %q, want %q", k.Name, got, c.want)
		}
	}
}
