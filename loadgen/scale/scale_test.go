package scale_test

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/loadgen/scale"
	"aiperf.dev/aiperf/schema"
)

// recorded is what is compared of an event that AIPerf 0.13 has written.
type recorded struct {
	Event        string   `json:"event"`
	Phase        string   `json:"phase"`
	Iteration    int      `json:"adaptive_iteration"`
	Candidate    float64  `json:"candidate_value"`
	Before       float64  `json:"control_value_before"`
	After        float64  `json:"control_value_after"`
	Boundary     *float64 `json:"boundary_value"`
	LastPassing  *float64 `json:"last_passing_value"`
	FirstFailing *float64 `json:"first_failing_value"`
	Step         *float64 `json:"step_size"`
	Passed       *bool    `json:"sla_passed"`
	Value        *float64 `json:"sla_value"`
	Reason       string   `json:"reason"`
}

// candidate is a window as AIPerf's summary has it.
type candidate struct {
	Start time.Time `json:"start_ts"`
	End   time.Time `json:"end_ts"`
	TTFT  float64   `json:"ttft_p95_ms"`
	Count int64     `json:"request_count"`
}

// replayed has the rule judge the windows of a run of AIPerf.
func replayed(t *testing.T, name string) (*scale.Report, []recorded) {
	t.Helper()
	var sum struct {
		Candidates []candidate
		Bound      float64 `json:"sla_bound"`
		Percent    float64 `json:"step_percent"`
	}
	b, err := os.ReadFile(filepath.Join("testdata", name+".summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &sum); err != nil {
		t.Fatal(err)
	}
	cfg := config(1, 16, schema.FixedPercentStep, sum.Bound)
	cfg.Strategy.StepPercent, cfg.SustainDuration = sum.Percent, 3
	s := scale.New(cfg, 0)
	over := false
	for i, c := range sum.Candidates {
		if over {
			t.Fatalf("%s: over before window %d of %d", name, i, len(sum.Candidates))
		}
		w := window(c.TTFT)
		w.From, w.To, w.Completed = c.Start.UnixNano(), c.End.UnixNano(), c.Count
		over = s.Assess(&w)
	}
	if !over {
		t.Errorf("%s: not over after the last window", name)
	}
	f, err := os.Open(filepath.Join("testdata", name+".events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	var want []recorded
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		want = append(want, r)
	}
	return s.Report(), want
}

func config(least, most float64, policy string, bound float64) *schema.AdaptiveScale {
	return &schema.AdaptiveScale{
		Control:         schema.ScaleControl{Variable: schema.ScaleConcurrency, Min: least, Max: most},
		SustainDuration: 1,
		Strategy: schema.ScaleStrategy{
			Type: "ramp_until_fail", StepPolicy: policy, BaseStep: 10, StepPercent: 25, MaxStepMultiplier: 4,
		},
		SLA: []schema.SLAFilter{{MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: bound}},
	}
}

// window is one of a second in which p95 of the TTFT is v.
func window(v float64) scale.Window {
	return scale.Window{To: 1e9, Completed: 10, Figures: func(metric, stat string) float64 {
		if metric == "time_to_first_token" && stat == "p95" {
			return v
		}
		return math.NaN()
	}}
}

// The windows of two runs of AIPerf lead to the decisions that it took.
func TestDecidesAsAIPerf(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sustained", "failed"} {
		rep, want := replayed(t, name)
		var got []recorded
		for _, e := range rep.Events {
			got = append(got, recorded{
				e.Kind, e.Stage, e.Iteration, e.Candidate, e.Before, e.After, e.Boundary, e.LastPassing, e.FirstFailing,
				e.Step, e.Passed, e.Value, e.Reason,
			})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-AIPerf +here):\n%s", name, diff)
		}
	}
}

// Values go up by the policy, and hold at the largest; every way to end is told.
func TestSteps(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, c := range []struct {
		name    string
		cfg     *schema.AdaptiveScale
		p95     []float64 // of the windows, against a limit of 100
		values  []float64 // after each
		status  string
		says    string
		holding float64 // s of sustaining
	}{
		{
			name: "by margin", cfg: config(1, 100, "sla_margin", 100), holding: 1,
			// margins of 95, 60, 20 and 0.5 %: 3, 2, 1 and 1 base steps
			p95: []float64{5, 40, 80, 99.5, 120, 80}, values: []float64{31, 51, 61, 71, 61, 61},
			status: scale.StatusCompleted, says: "concurrency 61 kept the limits (time_to_first_token.p95 < 100) for 1 s; 71 missed them",
		},
		{
			name: "to the largest", cfg: config(1, 8, "sla_margin", 100), holding: 1,
			p95: []float64{5, 5, 5}, values: []float64{8, 8, 8},
			status: scale.StatusCompleted, says: "concurrency 8 kept the limits (time_to_first_token.p95 < 100) for 1 s, and nothing that was tried missed them",
		},
		{
			name: "down while it holds", cfg: config(1, 100, schema.FixedPercentStep, 100), holding: 1,
			p95: []float64{5, 5, 120, 120, 5}, values: []float64{2, 3, 2, 1, 1},
			status: scale.StatusCompleted, says: "concurrency 1 kept the limits (time_to_first_token.p95 < 100) for 1 s; 3 missed them, and 2 kept them only at first",
		},
		{
			name: "not even the smallest holds", cfg: config(1, 100, schema.FixedPercentStep, 100), holding: 1,
			p95: []float64{5, 120, 120}, values: []float64{2, 1, 1},
			status: scale.StatusFailed, says: "no concurrency kept the limits (time_to_first_token.p95 < 100): 1, the smallest, missed them",
		},
		{
			name: "what has no figure keeps no limit", cfg: config(4, 100, schema.FixedPercentStep, 100), holding: 1,
			p95: []float64{nan}, values: []float64{4},
			status: scale.StatusFailed, says: "no concurrency kept the limits (time_to_first_token.p95 < 100): 4, the smallest, missed them",
		},
		{
			name: "the phase ends first", cfg: config(1, 100, schema.FixedPercentStep, 100), holding: 9,
			p95: []float64{5, 120, 5}, values: []float64{2, 1, 1},
			status: scale.StatusIncomplete, says: "the phase ended early: concurrency 1 kept the limits (time_to_first_token.p95 < 100); 2 missed them",
		},
		{
			name: "no window", cfg: config(1, 100, schema.FixedPercentStep, 100), status: scale.StatusIncomplete,
			says: "no concurrency was judged against the limits (time_to_first_token.p95 < 100) before the phase ended",
		},
	} {
		c.cfg.SustainDuration = schema.Duration(c.holding)
		s := scale.New(c.cfg, 0)
		for i, v := range c.p95 {
			w := window(v)
			w.From, w.To = int64(i)*1e9, int64(i+1)*1e9
			over := s.Assess(&w)
			if got := s.Value(); got != c.values[i] {
				t.Errorf("%s: %g after window %d, want %g", c.name, got, i, c.values[i])
			}
			if last := i == len(c.p95)-1; over != (last && c.status != scale.StatusIncomplete) {
				t.Errorf("%s: over is %v after window %d", c.name, over, i)
			}
		}
		rep := s.Report()
		if rep.Status != c.status || rep.Sentence() != c.says {
			t.Errorf("%s: %s, %q; want %s, %q", c.name, rep.Status, rep.Sentence(), c.status, c.says)
		}
	}
}

// A rate goes by parts, and the limit that is closest to breaking decides how far.
func TestSmallestMarginDecides(t *testing.T) {
	t.Parallel()
	cfg := config(2, 100, schema.FixedPercentStep, 100)
	cfg.Control.Variable = schema.ScaleRate
	cfg.SLA = append(cfg.SLA, schema.SLAFilter{MetricTag: "request_throughput", Stat: "avg", Op: "ge", Threshold: 8})
	s := scale.New(cfg, 0)
	w := scale.Window{To: 1e9, Completed: 9, Figures: func(metric, _ string) float64 {
		return map[string]float64{"time_to_first_token": 50, "request_throughput": 9}[metric]
	}}
	s.Assess(&w)
	if got := s.Value(); got != 2.5 {
		t.Errorf("a rate of 2 is followed by %g, want 2.5", got)
	}
	rep := s.Report()
	if e := rep.Events[1]; e.Binding != 1 || *e.Value != 9 || len(e.Values) != 2 {
		t.Errorf("%+v: want the throughput as the closest limit", e)
	}
}
