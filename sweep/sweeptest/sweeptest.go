// Package sweeptest makes plans for tests: of a document whose body is what its
// points set, and of a few words.
package sweeptest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Document is an experiment whose body is what its points set: each path with
// its value, beside an endpoint with a secret and a directory.
type Document struct {
	Head     schema.Experiment
	Kind     schema.Sweep
	Phases   []schema.Phase
	SLOs     map[string]float64
	Vars     map[string]any
	Resolved int // calls of Resolve
	Refuse   func(point []schema.Assignment) error
}

// Envelope is the head.
func (d *Document) Envelope() schema.Experiment { return d.Head }

// Sweep is its kind.
func (d *Document) Sweep() schema.Sweep { return d.Kind }

// Names are its variables.
func (d *Document) Names([]schema.Assignment) (map[string]any, error) {
	return d.Vars, nil
}

// Resolve makes the body of a point.
func (d *Document) Resolve(point []schema.Assignment) (*schema.Resolved, error) {
	d.Resolved++
	if d.Refuse != nil {
		if err := d.Refuse(point); err != nil {
			return nil, err
		}
	}
	endpoint := map[string]any{"type": "chat", "api_key": fmt.Sprintf("***%d", d.Resolved), "label": "as written"}
	body := map[string]any{
		"endpoint":  endpoint,
		"artifacts": map[string]any{"dir": fmt.Sprintf("results/%d", d.Resolved)},
	}
	out := &schema.Resolved{}
	out.Benchmark.Phases = append(out.Benchmark.Phases, d.Phases...)
	out.Benchmark.SLOs = d.SLOs
	out.Benchmark.Endpoint.Streaming = true
	for _, a := range point {
		if object, ok := a.Value.Plain().(map[string]any); ok && a.Path == "benchmark.endpoint" {
			for k, v := range object {
				endpoint[k] = v
			}
			continue
		}
		body[a.Path] = a.Value.Plain()
		for i := range out.Benchmark.Phases {
			d.setPhase(&out.Benchmark.Phases[i], a)
		}
	}
	var err error
	out.JSON, err = json.Marshal(body)
	out.Identity = out.JSON
	return out, err
}

func (d *Document) setPhase(f *schema.Phase, a schema.Assignment) {
	n, ok := a.Value.Value.(int64)
	if !ok || !strings.HasPrefix(a.Path, "benchmark.phases."+f.Name+".") {
		return
	}
	switch a.Path[strings.LastIndex(a.Path, ".")+1:] {
	case "concurrency":
		f.Concurrency = int(n)
	case "requests":
		f.Requests = n
	case "rate":
		f.Rate = float64(n)
	}
}

// Paths that tests sweep over.
const (
	Concurrency = "benchmark.phases.profiling.concurrency"
	Requests    = "benchmark.phases.profiling.requests"
	ISL         = "benchmark.datasets.default.prompts.isl.mean"
)

// Axis makes one from ints, floats, strings or objects.
func Axis(path, name string, values ...any) schema.Axis {
	a := schema.Axis{Path: path, Name: name, Origin: schema.Origin{Source: schema.ByFile, Where: "x.yaml:7:5"}}
	for _, v := range values {
		if n, ok := v.(int); ok {
			v = int64(n)
		}
		label := fmt.Sprint(v)
		if object, ok := v.(map[string]any); ok && object["label"] != nil {
			label = object["label"].(string)
		}
		a.Values, a.Labels = append(a.Values, v), append(a.Labels, label)
	}
	return a
}

// Grid is an experiment over axes with a number of trials.
func Grid(trials int, axes ...schema.Axis) *Document {
	return &Document{
		Head: schema.Experiment{MultiRun: schema.MultiRun{
			NumRuns: trials, Seeds: sweep.Fixed, SetConsistentSeed: true,
			DisableWarmupAfterFirst: true, ConfidenceLevel: .95,
		}},
		Kind: schema.Sweep{
			Type: "grid", Axes: axes, Order: "alphabetical",
			Ruled: map[string]bool{"disable_warmup_after_first": true},
		},
	}
}

// Thousand is an experiment of 10 × 10 × 10 cells.
func Thousand(trials int) *Document {
	ten := func(path, name string) schema.Axis {
		a := Axis(path, name)
		for i := range 10 {
			a.Values, a.Labels = append(a.Values, int64(i+1)), append(a.Labels, "")
		}
		return a
	}
	return Grid(trials, ten(Concurrency, "concurrency"), ten(ISL, "isl"), ten(Requests, "requests"))
}

// Expand is the plan of a document.
func Expand(t testing.TB, d *Document) *sweep.Plan {
	t.Helper()
	p, err := sweep.Expand(d)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// PlanOf is the plan of a small experiment made of --set words.
func PlanOf(t testing.TB, sets ...string) *sweep.Plan {
	t.Helper()
	src := schema.Source{Command: "profile"}
	for _, s := range append([]string{"models.items=[{name: demo}]", "random_seed=7"}, sets...) {
		a, err := schema.ParseSet(s)
		if err != nil {
			t.Fatal(err)
		}
		src.Assignments = append(src.Assignments, a)
	}
	doc, err := schema.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := sweep.Expand(doc)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}
