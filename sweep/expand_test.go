package sweep_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// variations.json is what AIPerf 0.13 plans for a set of files: per file the
// kind of sweep, its seeds, and every variation.
type recorded struct {
	Name       string
	Type       string
	Trials     int
	RandomSeed *int64 `json:"random_seed"`
	SameSeed   bool   `json:"same_seed"`
	Consistent bool
	Seeds      []*int64
	Variations []struct {
		Index   int
		DirName string `json:"dir_name"`
		Label   string
		Values  map[string]any
	}
}

// TestVariationsAreAIPerfs rebuilds each recorded sweep from the values of its
// variations, with the axes in reverse order, and compares labels,
// directories, values and seeds.
func TestVariationsAreAIPerfs(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/variations.json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var all []recorded
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			p := expand(t, c.document())
			if len(p.Cells) != len(c.Variations) {
				t.Fatalf("%d cells, want %d: %q", len(p.Cells), len(c.Variations), labels(p))
			}
			for i, v := range c.Variations {
				got := p.Cells[i]
				if got.Index != v.Index || got.Label != v.Label || got.DirName != v.DirName {
					t.Errorf("cell %d: %q in %q, want %q in %q", got.Index, got.Label, got.DirName, v.Label, v.DirName)
				}
				if diff := cmp.Diff(plain(v.Values), any(got.Values)); diff != "" {
					t.Errorf("values of cell %d (-want +got):\n%s", i, diff)
				}
				switch {
				case c.Seeds[i] == nil:
					if p.Seeded {
						t.Errorf("seed %d was planted where none is asked for", got.Seed)
					}
				case got.Seed != *c.Seeds[i] || !p.Seeded:
					t.Errorf("seed of cell %d = %d, want %d", i, got.Seed, *c.Seeds[i])
				}
			}
			if len(p.Runs) != len(p.Cells)*c.Trials {
				t.Errorf("%d runs of %d cells, want %d trials", len(p.Runs), len(p.Cells), c.Trials)
			}
		})
	}
}

func (c *recorded) document() *document {
	d := grid(c.Trials)
	d.Head.RandomSeed, d.Head.MultiRun.SetConsistentSeed = c.RandomSeed, c.Consistent
	d.Kind = schema.Sweep{Type: c.Type, SameSeed: c.SameSeed}
	if c.Type == "scenarios" {
		for _, v := range c.Variations {
			values := plain(v.Values).(map[string]any)
			d.Kind.Scenarios = append(d.Kind.Scenarios, schema.Scenario{
				Name: v.Label, Values: values,
				Assignments: []schema.Assignment{schema.Assign("benchmark", values["benchmark"], schema.Origin{})},
			})
		}
		return d
	}
	at := map[string]int{}
	for _, v := range c.Variations {
		paths := make([]string, 0, len(v.Values))
		for path := range v.Values {
			paths = append(paths, path)
		}
		slices.SortFunc(paths, func(a, b string) int { return strings.Compare(b, a) })
		for _, path := range paths {
			value, full := plain(v.Values[path]), path
			if !strings.HasPrefix(path, "variables.") {
				full = "benchmark." + path
			}
			i, known := at[path]
			if !known {
				i = len(d.Kind.Axes)
				at[path] = i
				d.Kind.Axes = append(d.Kind.Axes, axis(full, path))
			}
			a := &d.Kind.Axes[i]
			if c.Type == "zip" || !slices.ContainsFunc(a.Values, func(x any) bool { return cmp.Equal(x, value) }) {
				a.Values = append(a.Values, value)
			}
		}
	}
	return d
}

// plain turns decoded JSON into plain data: 4 an int64, 0.0 a float64.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = plain(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = plain(x)
		}
		return out
	}
	return v
}

// mistake is the text of a refusal: place, path, message and hint.
func mistake(t *testing.T, d *document) string {
	t.Helper()
	_, err := sweep.Expand(d)
	if err == nil {
		t.Fatal("the plan was accepted")
	}
	var one *schema.Error
	var many schema.Errors
	switch {
	case errors.As(err, &many):
		one = many[0]
	case !errors.As(err, &one):
		t.Fatalf("%T is not a mistake of the experiment: %v", err, err)
	}
	return one.Error() + " | " + one.Hint
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	hundred := make([]any, 100)
	thousand := make([]any, 1000)
	for i := range thousand {
		thousand[i] = i
	}
	copy(hundred, thousand)
	for what, c := range map[string]struct {
		d    *document
		want string
	}{
		"too many cells": {
			grid(1, axis("benchmark.a", "a", hundred...), axis("benchmark.b", "b", hundred...),
				axis("benchmark.c", "c", hundred...)),
			"100 × 100 × 100 = 1,000,000 cells; at most 10,000",
		},
		"10^9 cells": {
			grid(1, axis("benchmark.a", "a", thousand...), axis("benchmark.b", "b", thousand...),
				axis("benchmark.c", "c", thousand...)),
			"1,000 × 1,000 × 1,000 = 1,000,000,000 cells",
		},
		"one value twice": {
			grid(1, axis(concurrency, "concurrency", 2, 4, 2)),
			"x.yaml:7:5: sweep.phases.profiling.concurrency: 2 is given 2 times | leave one out",
		},
		"two spellings": {
			grid(1, axis(concurrency, "concurrency", 2, 2.0)),
			"points 1 (phases.profiling.concurrency=2) and 2 (phases.profiling.concurrency=2.0) are the same cell",
		},
		"labels only": {
			grid(1, axis("benchmark.endpoint", "endpoint", map[string]any{"label": "a", "url": "u"},
				map[string]any{"label": "b", "url": "u"})),
			"points 1 (endpoint=a) and 2 (endpoint=b) are the same cell",
		},
		"empty axis": {grid(1, axis(concurrency, "concurrency")), "x.yaml:7:5: sweep.phases.profiling.concurrency: no values"},
		"unequal zip": {
			&document{Kind: schema.Sweep{Type: "zip", Axes: []schema.Axis{
				axis(concurrency, "concurrency", 1, 2),
				axis(isl, "isl", 1, 2, 3),
			}}},
			"has a list of 2, isl one of 3",
		},
		"where drops all": {where(grid(1, axis(concurrency, "concurrency", 1, 2)), "concurrency > 5"), `"concurrency > 5" drops all 2 points`},
		"where misspelt":  {where(grid(1, axis(concurrency, "concurrency", 1, 2)), "concurency > 5"), "x.yaml:9:3: sweep.where: unknown name concurency | did you mean concurrency?"},
		"where no bool":   {where(grid(1, axis(concurrency, "concurrency", 1, 2)), "concurrency + 5"), "x.yaml:9:3: sweep.where: expected bool"},
		"derive infinite": {derive(grid(1, axis(concurrency, "concurrency", 0, 2)), requests, "10 / concurrency"), "not a finite number at phases.profiling.concurrency=0"},
		"no scenarios":    {&document{Kind: schema.Sweep{Type: "scenarios"}}, "the matrix is empty"},
		"scenario twice":  {&document{Kind: schema.Sweep{Type: "scenarios", Scenarios: []schema.Scenario{{Name: "a"}, {Name: "a"}}}}, `"a" is the name of scenario 0 too`},
		"other kind":      {&document{Kind: schema.Sweep{Type: "spiral"}}, `"spiral" is no type of sweep`},
		"nothing sampled": {&document{Kind: schema.Sweep{Type: "sobol"}}, "no dimensions"},
		"ABBA by cell":    {ordered(grid(2, axis(concurrency, "concurrency", 1, 2)), "interleaved", "independent"), "iteration_order: repeated"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if got := mistake(t, c.d); !strings.Contains(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if strings.Contains(what, "cells") && c.d.Resolved > 0 {
				t.Errorf("%d cells were resolved before the refusal", c.d.Resolved)
			}
		})
	}
}

func where(d *document, expr string) *document {
	d.Kind.Where, d.Kind.WhereOrigin = expr, schema.Origin{Where: "x.yaml:9:3"}
	return d
}

func derive(d *document, path, expr string) *document {
	d.Kind.Derive = append(d.Kind.Derive, schema.Derivation{
		Path: path,
		Expr: expr, Origin: schema.Origin{Where: "x.yaml:8:3"},
	})
	return d
}

func ordered(d *document, cells, trials string) *document {
	d.Kind.Order, d.Kind.IterationOrder = cells, trials
	return d
}

func TestMistakesOfCellsAreSaidOnce(t *testing.T) {
	t.Parallel()
	d := grid(1, axis(concurrency, "concurrency", 1, 2, 3, 4))
	d.Refuse = func(point []schema.Assignment) error {
		if n := point[0].Value.Value.(int64); n > 1 {
			return schema.Errors{{Message: fmt.Sprint("odd or even: ", n%2)}, {Message: "always"}}
		}
		return nil
	}
	_, err := sweep.Expand(d)
	if want := "odd or even: 0\nalways\nodd or even: 1"; err == nil || err.Error() != want {
		t.Errorf("Expand: %v, want %s", err, want)
	}
}

func TestDeriveAndWhere(t *testing.T) {
	t.Parallel()
	d := grid(1, axis(concurrency, "concurrency", 1, 4, 16), axis(isl, "isl", 128, 1024),
		axis("benchmark.endpoint", "endpoint", map[string]any{"label": "old", "url": "a"},
			map[string]any{"label": "new", "url": "b"}))
	d.Vars = map[string]any{"budget": int64(4096)}
	derive(d, requests, "max(10*concurrency, 50)")
	where(d, `isl*concurrency <= budget && (endpoint == "old" || requests > 50)`)
	p := expand(t, d)
	want := []string{
		"datasets.default.prompts.isl.mean=128, endpoint=old, phases.profiling.concurrency=1",
		"datasets.default.prompts.isl.mean=128, endpoint=old, phases.profiling.concurrency=4",
		"datasets.default.prompts.isl.mean=128, endpoint=old, phases.profiling.concurrency=16",
		"datasets.default.prompts.isl.mean=128, endpoint=new, phases.profiling.concurrency=16",
		"datasets.default.prompts.isl.mean=1024, endpoint=old, phases.profiling.concurrency=1",
		"datasets.default.prompts.isl.mean=1024, endpoint=old, phases.profiling.concurrency=4",
	}
	if diff := cmp.Diff(want, labels(p)); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	if p.Dropped != 6 {
		t.Errorf("dropped %d, want 6", p.Dropped)
	}
	for i, want := range []string{`:50`, `:50`, `:160`} {
		if !strings.Contains(string(p.Cells[i].Resolved.JSON), requests+`"`+want) {
			t.Errorf("cell %d has %s, want requests%s", i, p.Cells[i].Resolved.JSON, want)
		}
	}
	if got, want := p.Cells[3].Short(), "isl 128, new, concurrency 16"; got != want {
		t.Errorf("Short() = %q, want %q", got, want)
	}
}

// An axis may mix types; the filter is checked for each.
func TestWhereOverMixedTypes(t *testing.T) {
	t.Parallel()
	p := expand(t, where(grid(1, axis("benchmark.phases.steady.rate", "rate", 1, 2.5, 10)), "rate > 2"))
	if got, want := fmt.Sprint(labels(p)), "[phases.steady.rate=2.5 phases.steady.rate=10]"; got != want {
		t.Errorf("cells %s, want %s", got, want)
	}
}

func TestZipInsideGrid(t *testing.T) {
	t.Parallel()
	a, b := axis(isl, "isl", 100, 1000), axis("benchmark.datasets.default.prompts.osl.mean", "osl", 50, 20)
	a.Group, b.Group = 1, 1
	p := expand(t, grid(1, axis(concurrency, "concurrency", 1, 2), a, b))
	want := []string{
		"datasets.default.prompts.isl.mean=100, datasets.default.prompts.osl.mean=50, phases.profiling.concurrency=1",
		"datasets.default.prompts.isl.mean=100, datasets.default.prompts.osl.mean=50, phases.profiling.concurrency=2",
		"datasets.default.prompts.isl.mean=1000, datasets.default.prompts.osl.mean=20, phases.profiling.concurrency=1",
		"datasets.default.prompts.isl.mean=1000, datasets.default.prompts.osl.mean=20, phases.profiling.concurrency=2",
	}
	if diff := cmp.Diff(want, labels(p)); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}

// The order of the axes changes labels and indices, never which cells there are.
func TestAxisOrderKeepsIdentities(t *testing.T) {
	t.Parallel()
	a, b, c := axis(concurrency, "concurrency", 1, 2, 4), axis(isl, "isl", 64, 128),
		axis("benchmark.endpoint.timeout", "timeout", 1.5, 3)
	ids := func(axes ...schema.Axis) []string {
		d := grid(1, axes...)
		d.Kind.Order = "as_written"
		var out []string
		for _, c := range expand(t, d).Cells {
			out = append(out, c.ID)
		}
		slices.Sort(out)
		return out
	}
	want := ids(a, b, c)
	if len(slices.Compact(slices.Clone(want))) != 12 {
		t.Fatalf("%d identities, want 12", len(want))
	}
	for _, axes := range [][]schema.Axis{{a, c, b}, {b, a, c}, {b, c, a}, {c, a, b}, {c, b, a}} {
		if got := ids(axes...); !slices.Equal(got, want) {
			t.Errorf("axes %s, %s, %s: identities differ", axes[0].Name, axes[1].Name, axes[2].Name)
		}
	}
	// Adding a value to an axis keeps the identities that were there.
	a.Values, a.Labels = append(a.Values, int64(8)), append(a.Labels, "8")
	for more := ids(a, b, c); len(want) > 0; want = want[1:] {
		if !slices.Contains(more, want[0]) {
			t.Errorf("cell %s is gone", want[0])
		}
	}
}

// An identity is a contract with result directories on disk.
func TestIdentityIsStable(t *testing.T) {
	t.Parallel()
	p := expand(t, grid(1, axis(concurrency, "concurrency", 4)))
	// sha256 of {"benchmark.phases.profiling.concurrency":4,"endpoint":{"type":"chat"}}
	if got, want := p.Cells[0].ID, "089274f71eeb"; got != want {
		t.Errorf("ID = %s, want %s", got, want)
	}
}

func TestDirectoriesAreUniqueAndSafe(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 150)
	p := expand(t, grid(1, axis("benchmark.model", "model", "a/b", "ab", "../../etc", "c\x00\n", "Q", "q", long,
		"C:\\x")))
	seen := map[string]bool{}
	for _, c := range p.Cells {
		low := strings.ToLower(c.DirName)
		if seen[low] || len(low) > 200 || strings.ContainsAny(low, "/\\:\x00\n") || strings.Contains(low, "..") {
			t.Errorf("model %q: directory %q", c.Point[0].Value, c.DirName)
		}
		seen[low] = true
	}
	if got, want := p.Cells[0].DirName, "model_ab__"+p.Cells[0].ID; got != want {
		t.Errorf("colliding name = %q, want %q", got, want)
	}
	if got, want := p.Cells[2].DirName, "model_etc"; got != want {
		t.Errorf("climbing name = %q, want %q", got, want)
	}
	s := expand(t, &document{Kind: schema.Sweep{
		Type: "scenarios",
		Scenarios: []schema.Scenario{{
			Name:        "aggregate",
			Assignments: []schema.Assignment{schema.Assign("a", int64(1), schema.Origin{})},
		}, {Name: "fine"}},
	}})
	if s.Cells[0].DirName != "aggregate__"+s.Cells[0].ID || s.Cells[1].DirName != "fine" {
		t.Errorf("scenario directories %q, %q", s.Cells[0].DirName, s.Cells[1].DirName)
	}
	w := expand(t, &document{Kind: schema.Sweep{Type: "scenarios", Scenarios: []schema.Scenario{
		{Name: "nul.x", Assignments: []schema.Assignment{schema.Assign("a", int64(1), schema.Origin{})}}, {Name: "end.", Assignments: []schema.Assignment{schema.Assign("a", int64(2), schema.Origin{})}}, {Name: "end"},
	}}})
	if a, b, c := w.Cells[0], w.Cells[1], w.Cells[2]; a.DirName != "_nul.x__"+a.ID || b.DirName != "end__"+b.ID ||
		c.DirName != "end" {
		t.Errorf("directories %q, %q, %q of names that Windows changes", a.DirName, b.DirName, c.DirName)
	}
}

// A large matrix with one wrong value is refused after a look along its axes.
func TestMistakesAreFoundAlongTheAxes(t *testing.T) {
	t.Parallel()
	values := make([]any, 60)
	for i := range values {
		values[i] = i
	}
	d := grid(1, axis("benchmark.a", "a", values...), axis("benchmark.b", "b", values...))
	d.Refuse = func(point []schema.Assignment) error {
		if point[1].Value.Value == int64(57) || point[1].Value.Value == 57 {
			return &schema.Error{Path: "b", Message: "57 is refused"}
		}
		return nil
	}
	if got := mistake(t, d); !strings.Contains(got, "57 is refused") {
		t.Error(got)
	}
	if d.Resolved > 2*len(values) {
		t.Errorf("%d cells were resolved for %d values", d.Resolved, 2*len(values))
	}
}
