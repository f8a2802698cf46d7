package sim

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/sinks"
)

// loads are a phase of each load mode, with its data set, for n requests.
func loads(n int) map[string][2]string {
	const texts = "{name: default, type: synthetic, entries: 64, prompts: {isl: {mean: 8}, osl: {mean: 20, stddev: 8}}}"
	const talks = "{name: default, type: synthetic, entries: 64, turns: {mean: 4}, prompts: {isl: {mean: 8}, osl: {mean: 20, stddev: 8}}}"
	var rows []string
	for i := range n {
		rows = append(rows, fmt.Sprintf("{timestamp: %d, input_length: 8, output_length: %d}", 1000+i*(17+i%7), 8+i*7%25))
	}
	trace := "{name: default, type: file, format: mooncake_trace, records: [" + strings.Join(rows, ", ") + "]}"
	count := fmt.Sprintf(", requests: %d", n)
	return map[string][2]string{
		"concurrency":    {"type: concurrency, concurrency: 8" + count, texts},
		"constant":       {"type: constant, rate: 60" + count, texts},
		"poisson":        {"type: poisson, rate: 60, concurrency: 8" + count, texts},
		"gamma":          {"type: gamma, rate: 60, smoothness: 2" + count, texts},
		"rate_series":    {"type: poisson, rate_series: {points: [{time_s: 0, qps: 40}, {time_s: 4, qps: 80}]}" + count, texts},
		"fixed_schedule": {"type: fixed_schedule", trace},
		"agentic_replay": {"type: agentic_replay, concurrency: 4" + count, trace},
		"user_centric":   {"type: user_centric, users: 6, rate: 12" + count, talks},
	}
}

// What is printed together agrees, in every load mode, at small and large counts,
// against a server whose times and lengths are random (issue 20): rate × mean OSL is
// tokens/s, and rate × mean latency the mean in flight. The first is exact, and so is
// the second in the full window. In the steady one it is off by no more than the
// requests across an edge explain, see across.
func TestPrintedNumbersAgree(t *testing.T) {
	t.Parallel()
	for _, n := range []int{16, 300} {
		of := loads(n)
		for _, m := range mode.Catalogue() {
			load, ok := of[m.Name]
			if !ok {
				t.Errorf("%s: no load of it is tested", m.Name)
				continue
			}
			t.Run(fmt.Sprintf("%s of %d", m.Name, n), func(t *testing.T) {
				t.Parallel()
				agree(t, load[0], load[1])
			})
		}
	}
}

func agree(t *testing.T, phase, set string) {
	t.Helper()
	text := fmt.Sprintf(`
random_seed: 7
benchmark:
  model: demo
  endpoint: {url: "mock:?ttft=40ms&itl=5ms&cv=0.8", type: chat, streaming: true}
  datasets: [%s]
  tokenizer: {name: builtin}
  phases: [{name: profiling, %s}]
  artifacts: {summary: [], records: []}
`, set, phase)
	o, err := Run(text, scratch(t))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	out := o.Outcomes[0]
	if out.OK == 0 || out.Failed+out.Cut+out.Unsent > 0 {
		t.Fatalf("%+v", out.Counts())
	}
	for _, s := range out.Summaries {
		if len(s.Stats) == 0 {
			continue
		}
		get := func(tag string) metrics.Stat {
			st, ok := s.Get(tag)
			if !ok {
				t.Fatalf("%s window: no %s", s.Window, tag)
			}
			return st
		}
		rate := get(metrics.RequestThroughput).Avg
		if have, want := get(metrics.OutputTokenThroughput).Avg, rate*get(metrics.OutputSequenceLength).Avg; math.Abs(have/want-1) > 1e-9 {
			t.Errorf("%s window: %v tokens/s, rate × OSL is %v", s.Window, have, want)
		}
		flight, latency := get("effective_concurrency"), get(metrics.RequestLatency)
		slack := 1e-6 * flight.Avg // an answer's last byte comes with its last token, up to the end mark
		if s.Window == "steady" {
			slack += across(t, o)
		}
		if want := rate * latency.Avg / 1e3; math.Abs(flight.Avg-want) > slack {
			t.Errorf("%s window: %v in flight, rate × latency is %v, off by more than %v", s.Window, flight.Avg, want, slack)
		}
	}
}

// across is how far rate × latency can be from the mean in flight in the steady window
// of the only run. A request across an edge is in flight for its time inside, and counts
// with what was delivered of it inside, which may be nothing or all: it adds to the
// difference the larger of its times inside and outside, over the window.
func across(t *testing.T, o *Outcome) (slack float64) {
	t.Helper()
	table := func(name string) *sinks.TableRows {
		rows, err := sinks.ReadTable(o.Dir, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	// Both tables count from the start of the plan; the run's report counts from its own.
	runs, rows := table("runs"), table("requests")
	start, end := runs.Floats["steady_start_ns"][0], runs.Floats["steady_end_ns"][0]
	for i := range rows.N {
		sent, over := rows.Floats["sent_ns"][i], rows.Floats["end_ns"][i]
		if inside := min(over, end) - max(sent, start); inside > 0 && inside < over-sent {
			slack += max(inside, over-sent-inside) / (end - start)
		}
	}
	return slack
}
