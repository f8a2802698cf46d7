package sweep_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// document is an experiment whose body is what its points set: each path with
// its value, beside an endpoint with a secret and a directory.
type document struct {
	envelope schema.Experiment
	sweep    schema.Sweep
	phases   []schema.Phase
	slos     map[string]float64
	names    map[string]any
	resolved int // calls of Resolve
	refuse   func(point []schema.Assignment) error
}

func (d *document) Envelope() schema.Experiment { return d.envelope }
func (d *document) Sweep() schema.Sweep         { return d.sweep }
func (d *document) Names([]schema.Assignment) (map[string]any, error) {
	return d.names, nil
}

func (d *document) Resolve(point []schema.Assignment) (*schema.Resolved, error) {
	d.resolved++
	if d.refuse != nil {
		if err := d.refuse(point); err != nil {
			return nil, err
		}
	}
	endpoint := map[string]any{"type": "chat", "api_key": fmt.Sprintf("***%d", d.resolved), "label": "as written"}
	body := map[string]any{"endpoint": endpoint, "artifacts": map[string]any{"dir": fmt.Sprintf("results/%d", d.resolved)}}
	out := &schema.Resolved{}
	out.Benchmark.Phases = append(out.Benchmark.Phases, d.phases...)
	out.Benchmark.SLOs = d.slos
	out.Benchmark.Endpoint.Streaming = true
	for _, a := range point {
		if object, ok := a.Value.(map[string]any); ok && a.Path == "benchmark.endpoint" {
			for k, v := range object {
				endpoint[k] = v
			}
			continue
		}
		body[a.Path] = a.Value
		for i := range out.Benchmark.Phases {
			d.setPhase(&out.Benchmark.Phases[i], a)
		}
	}
	var err error
	out.JSON, err = json.Marshal(body)
	return out, err
}

func (d *document) setPhase(f *schema.Phase, a schema.Assignment) {
	n, ok := a.Value.(int64)
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

const (
	concurrency = "benchmark.phases.profiling.concurrency"
	requests    = "benchmark.phases.profiling.requests"
	isl         = "benchmark.datasets.default.prompts.isl.mean"
)

// axis makes one from ints, floats, strings or objects.
func axis(path, name string, values ...any) schema.Axis {
	a := schema.Axis{Path: path, Name: name, Origin: schema.Origin{Source: "file", Where: "x.yaml:7:5"}}
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

// grid is an experiment over axes with a number of trials.
func grid(trials int, axes ...schema.Axis) *document {
	return &document{
		envelope: schema.Experiment{MultiRun: schema.MultiRun{NumRuns: trials, Seeds: sweep.Fixed, SetConsistentSeed: true, DisableWarmupAfterFirst: true, ConfidenceLevel: .95}},
		sweep:    schema.Sweep{Type: "grid", Axes: axes, Order: "alphabetical", Ruled: map[string]bool{"disable_warmup_after_first": true}},
	}
}

func expand(t *testing.T, d *document) *sweep.Plan {
	t.Helper()
	p, err := sweep.Expand(d)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func labels(p *sweep.Plan) []string {
	var out []string
	for _, c := range p.Cells {
		out = append(out, c.Label)
	}
	return out
}

// order is the plan's runs as "<cell index>/<trial>".
func order(p *sweep.Plan) string {
	var out []string
	for _, r := range p.Runs {
		out = append(out, fmt.Sprintf("%d/%d", r.Cell.Index, r.Trial))
	}
	return strings.Join(out, " ")
}
