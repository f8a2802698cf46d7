package decide_test

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep/decide"
)

// treated is two endpoints at two levels of load.
func treated(trials int, c schema.Compare) *document {
	d := grid(trials, axis("benchmark.endpoint", "endpoint", map[string]any{"label": "old", "url": "a"},
		map[string]any{"label": "new", "url": "b"}), axis(concurrency, "concurrency", 2, 4))
	d.Head.Compare = &c
	return d
}

func TestExperimentComparesAnAxis(t *testing.T) {
	t.Parallel()
	margin := .05
	for _, c := range []struct {
		what   string
		factor float64
		terms  schema.Compare
		want   decide.Verdict
		exit   diag.Code
	}{
		{"slower", .8, schema.Compare{Axis: "endpoint"}, decide.Worse, diag.Missed},
		{"faster", 1.25, schema.Compare{Axis: "benchmark.endpoint", Margin: &margin}, decide.Better, diag.OK},
		{"the same", 1, schema.Compare{Axis: "endpoint", Metrics: []string{"output_token_throughput", "time_to_first_token.p50"}}, decide.Equivalent, diag.OK},
	} {
		p := expand(t, treated(5, c.terms))
		if err := decide.CheckGates(p, metrics.Tags()); err != nil {
			t.Fatal(err)
		}
		flow, wait := make([]float64, 4), make([]float64, 4)
		for i, cell := range p.Cells {
			f := 1.0
			if strings.HasPrefix(cell.Short(), "new") {
				f = c.factor
			}
			flow[i], wait[i] = 400*f, 40/f
		}
		r := decide.Aggregate(p, jittered(measure(p, 0, flow, wait), .001))
		if len(r.Comparisons) != 1 {
			t.Fatalf("%s: %d comparisons", c.what, len(r.Comparisons))
		}
		got := r.Comparisons[0]
		if got.Baseline != "old" || got.Candidate != "new" || got.Outcome() != c.want ||
			r.Exit() != c.exit || !got.Paired || len(got.Together) == 0 {
			t.Errorf("%s: %s against %s is %s, exit %d; want %s, %d", c.what, got.Candidate,
				got.Baseline, got.Outcome(), r.Exit(), c.want, c.exit)
		}
		if n := len(c.terms.Metrics); n > 0 && got.Compared != 2*n {
			t.Errorf("%s: %d primary comparisons, want %d", c.what, got.Compared, 2*n)
		}
	}
}

func TestComparisonsAreCheckedBeforehand(t *testing.T) {
	t.Parallel()
	wide := 1.5
	for want, c := range map[string]schema.Compare{
		"compare.axis: model is not an axis of the sweep | axes: endpoint, concurrency":                          {Axis: "model"},
		"compare.margin: 1.5: expected more than 0 and less than 1 | 0.05 is 5 %":                                {Axis: "endpoint", Margin: &wide},
		"compare.metrics.0: time_to_first_token has no single value | name a statistic: time_to_first_token.p99": {Axis: "endpoint", Metrics: []string{"time_to_first_token"}},
		"compare.metrics.1: unknown metric goodputt | did you mean goodput?":                                     {Axis: "endpoint", Metrics: []string{"error_rate", "goodputt"}},
	} {
		err, ok := decide.CheckGates(expand(t, treated(2, c)), metrics.Tags()).(schema.Errors)
		if !ok || len(err) != 1 || err[0].Error()+" | "+err[0].Hint != want {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
	serverless := grid(2, axis(concurrency, "concurrency", 1, 2))
	serverless.Head.Compare = &schema.Compare{Axis: "endpoint"}
	if err, ok := decide.CheckGates(expand(t, serverless), metrics.Tags()).(schema.Errors); !ok || len(err) != 1 ||
		!strings.Contains(err[0].Hint, "sweep.parameters.endpoint") {
		t.Errorf("no axis of servers: %v", err)
	}
	one := grid(2, axis(concurrency, "concurrency", 2))
	one.Head.Compare = &schema.Compare{Axis: "concurrency"}
	if err := decide.CheckGates(expand(t, one), metrics.Tags()); err == nil ||
		!strings.Contains(err.Error(), "nothing to compare") {
		t.Errorf("one value: %v", err)
	}
}
