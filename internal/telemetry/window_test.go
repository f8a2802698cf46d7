package telemetry_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/telemetry"
)

// figuresOf are the figures of a window in short lines.
func figuresOf(r *telemetry.Readings, from, to int64) (out []string) {
	for _, f := range r.Window(from, to) {
		line := f.Word.Name
		for _, s := range f.Stats {
			if !math.IsNaN(s.Low) {
				line += fmt.Sprintf(" %s=%.3g in %g..%g", s.Name, s.Value, s.Low, s.High)
			} else {
				line += fmt.Sprintf(" %s=%g", s.Name, s.Value)
			}
		}
		if f.Resets > 0 {
			line += fmt.Sprintf(" resets=%d", f.Resets)
		}
		out = append(out, line)
	}
	return out
}

// fed are readings of samples "metric labels kind" at seconds, after which the source was
// read, or where the metric is "" could not be.
func fed(rows ...row) *telemetry.Readings {
	r := &telemetry.Readings{}
	at, up := 0.0, 1.0
	look := func() {
		r.Add(telemetry.Sample{
			At: int64(at * 1e9), Source: "s", Collector: "server",
			Metric: telemetry.Up, Kind: telemetry.Gauge, Value: up,
		})
	}
	for i, x := range rows {
		if i > 0 && x.at != at {
			look()
		}
		at, up = x.at, 1
		if x.metric == "" {
			up = x.v
			continue
		}
		r.Add(telemetry.Sample{
			At: int64(at * 1e9), Source: "s", Collector: "server",
			Metric: x.metric, Labels: x.labels, Kind: x.kind, Value: x.v,
		})
	}
	look()
	return r
}

type row struct {
	at                   float64
	metric, labels, kind string
	v                    float64
}

func TestWindow(t *testing.T) {
	t.Parallel()
	const second = int64(1e9)
	const running, tokens, ttft = "vllm:num_requests_running", "vllm:generation_tokens_total",
		"vllm:time_to_first_token_seconds"
	for _, c := range []struct {
		name     string
		rows     []row
		from, to int64
		want     []string
	}{
		{
			"a gauge is weighted with time",
			[]row{
				{0, running, "", "gauge", 0},
				{1, running, "", "gauge", 4},
				{4, running, "", "gauge", 8},
				{5, "", "", "", 1},
			},
			0, 5 * second,
			[]string{"running avg=4 min=0 max=8 p50=4 p90=8 p99=8"},
		},
		{
			"only within the window",
			[]row{
				{0, running, "", "gauge", 0},
				{1, running, "", "gauge", 4},
				{4, running, "", "gauge", 8},
				{5, "", "", "", 1},
			},
			2 * second, 4 * second,
			[]string{"running avg=4 min=4 max=4 p50=4 p90=4 p99=4"},
		},
		{
			"what was not read is not known",
			[]row{{0, running, "", "gauge", 2}, {1, "", "", "", 0}, {9, running, "", "gauge", 4}, {10, "", "", "", 1}},
			0, 10 * second,
			[]string{"running avg=3 min=2 max=4 p50=2 p90=4 p99=4"},
		},
		{
			"a gauge that left the page is not known",
			[]row{{0, running, "", "gauge", 2}, {1, running, "", "gauge", math.NaN()}, {10, "", "", "", 1}},
			0, 10 * second,
			[]string{"running avg=2 min=2 max=2 p50=2 p90=2 p99=2"},
		},
		{
			"engines add up, caches are averaged",
			[]row{
				{0, running, `{"engine":"0"}`, "gauge", 2},
				{0, running, `{"engine":"1"}`, "gauge", 3},
				{0, "vllm:kv_cache_usage_perc", `{"engine":"0"}`, "gauge", 0.2},
				{0, "vllm:kv_cache_usage_perc", `{"engine":"1"}`, "gauge", 0.6},
				{1, "", "", "", 1},
			},
			0, second,
			[]string{
				"running avg=5 min=5 max=5 p50=5 p90=5 p99=5",
				"kv_use avg=0.4 min=0.4 max=0.4 p50=0.4 p90=0.4 p99=0.4",
			},
		},
		{
			"ranks repeat, schedulers add up",
			[]row{
				{0, "sglang:num_running_reqs", `{"dp_rank":"0","tp_rank":"0"}`, "gauge", 2},
				{0, "sglang:num_running_reqs", `{"dp_rank":"0","tp_rank":"1"}`, "gauge", 2},
				{0, "sglang:num_running_reqs", `{"dp_rank":"1","tp_rank":"0"}`, "gauge", 5},
				{1, "", "", "", 1},
			},
			0, second,
			[]string{"running avg=7 min=7 max=7 p50=7 p90=7 p99=7"},
		},
		{
			"the better of two names",
			[]row{
				{0, "sglang:token_usage", "", "gauge", 0.9},
				{0, "sglang:full_token_usage", "", "gauge", 0.3},
				{1, "", "", "", 1},
			},
			0, second,
			[]string{"kv_use avg=0.3 min=0.3 max=0.3 p50=0.3 p90=0.3 p99=0.3"},
		},
		{
			"a counter grows, and begins anew",
			[]row{
				{0, tokens, "", "counter", 100},
				{1, tokens, "", "counter", 150},
				{2, tokens, "", "counter", 30},
				{3, tokens, "", "counter", 40},
				{4, "", "", "", 1},
			},
			0, 4 * second,
			[]string{"generated_tokens sum=90 rate=22.5 resets=1"},
		},
		{
			"from the look before the window to that after it",
			[]row{
				{0, tokens, "", "counter", 100},
				{1, tokens, "", "counter", 150},
				{2, tokens, "", "counter", 170},
				{3, tokens, "", "counter", 999},
			},
			second / 2, 3 * second / 2,
			[]string{"generated_tokens sum=70 rate=35"},
		},
		{
			"a counter that appears began at nothing",
			[]row{{0, running, "", "gauge", 1}, {1, tokens, `{"m":"x"}`, "counter", 7}, {2, "", "", "", 1}},
			0, 2 * second,
			[]string{"running avg=1 min=1 max=1 p50=1 p90=1 p99=1", "generated_tokens sum=7 rate=3.5"},
		},
		{
			"percentiles are between edges",
			[]row{
				{0, ttft, `{"le":"0.3"}`, "bucket", 0},
				{0, ttft, `{"le":"0.5"}`, "bucket", 0},
				{0, ttft, `{"le":"+Inf"}`, "bucket", 0},
				{0, ttft, "", "count", 0},
				{0, ttft, "", "sum", 0},
				{1, ttft, `{"le":"0.3"}`, "bucket", 60},
				{1, ttft, `{"le":"0.5"}`, "bucket", 95},
				{1, ttft, `{"le":"+Inf"}`, "bucket", 100},
				{1, ttft, "", "count", 100},
				{1, ttft, "", "sum", 25},
			},
			0, second,
			[]string{"ttft count=100 sum=25 avg=0.25 p50=0.239 in 0..0.3 p90=0.439 in 0.3..0.5 p99=0.876 in 0.5..+Inf"},
		},
		{
			"sums of a histogram count tokens",
			[]row{{0, "tgi_request_generated_tokens", "", "sum", 5}, {
				0, "tgi_request_generated_tokens", "", "count",
				1,
			}, {1, "tgi_request_generated_tokens", "", "sum", 25}},
			0, second,
			[]string{"generated_tokens sum=20 rate=20"},
		},
		{
			"microseconds of Triton",
			[]row{
				{0, "nv_inference_queue_duration_us", "", "counter", 0},
				{2, "nv_inference_queue_duration_us", "", "counter", 3e6},
			},
			0, 2 * second,
			[]string{"queue_time sum=3 rate=1.5"},
		},
		{
			"shares of counters",
			[]row{
				{0, "vllm:prefix_cache_queries_total", "", "counter", 0},
				{0, "vllm:prefix_cache_hits_total", "", "counter", 0},
				{1, "vllm:prefix_cache_queries_total", "", "counter", 40},
				{1, "vllm:prefix_cache_hits_total", "", "counter", 10},
			},
			0, second,
			[]string{"prefix_hits sum=10 rate=10", "prefix_queries sum=40 rate=40", "prefix_hit_rate avg=0.25"},
		},
		{"one look is not enough", []row{{0, running, "", "gauge", 1}}, 0, second, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, figuresOf(fed(c.rows...), c.from, c.to)); d != "" {
				t.Error(d)
			}
		})
	}
}
