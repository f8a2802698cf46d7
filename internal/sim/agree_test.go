package sim

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
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
	text := fmt.Sprintf(single, set, phase)
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
			if times := float64(latency.Count) * latency.Avg; math.Abs(times/latency.Sum-1) > 1e-9 {
				t.Errorf("the mean latency is %v, not that of the %d requests that add up to %v", latency.Avg, latency.Count, latency.Sum)
			}
		}
		if want := rate * latency.Avg / 1e3; math.Abs(flight.Avg-want) > slack {
			t.Errorf("%s window: %v in flight, rate × latency is %v, off by more than %v", s.Window, flight.Avg, want, slack)
		}
	}
	printed(t, o)
}

// single is one run with a data set and a phase.
const single = `
random_seed: 7
benchmark:
  model: demo
  endpoint: {url: "mock:?ttft=40ms&itl=5ms&cv=0.8", type: chat, streaming: true}
  datasets: [%s]
  tokenizer: {name: builtin}
  phases: [{name: profiling, %s}]
  artifacts: {summary: [], records: []}
`

// figure is a number as a screen has it: it may be off by half of its last digit.
type figure struct{ value, half float64 }

func parse(t *testing.T, screen, before, after string) figure {
	t.Helper()
	m := regexp.MustCompile(before + `([0-9.,]+)` + after).FindStringSubmatch(screen)
	if m == nil {
		t.Fatalf("no number between %q and %q in\n%s", before, after, screen)
	}
	text := strings.ReplaceAll(m[1], ",", "")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	whole, decimals, _ := strings.Cut(text, ".")
	return figure{v, math.Pow10(max(len(whole)-3, -len(decimals))) / 2} // at most three digits
}

// isProduct tells whether f can be a × b × scale, give or take slack.
func (f figure) isProduct(a, b figure, scale, slack float64) bool {
	low, high := (a.value-a.half)*(b.value-b.half)*scale, (a.value+a.half)*(b.value+b.half)*scale
	return f.value+f.half >= low-slack && f.value-f.half <= high+slack
}

// printed holds what the screen says against itself: rate × length is tokens per
// second, and rate × mean latency is in flight, within the digits that are printed and
// what requests across the edges of a steady window explain.
func printed(t *testing.T, o *Outcome) {
	t.Helper()
	for _, width := range []int{80, 200} {
		screen := o.screen(t, width)
		said := strings.Join(strings.Fields(screen), " ") // one line, however it was wrapped
		rate, tokens := parse(t, said, `tok/s · `, `~? req/s · `), parse(t, said, `Throughput `, `~? tok/s`)
		flight, length := parse(t, said, `req/s · `, `~? in flight`), parse(t, said, `tokens in, `, ` out`)
		if !tokens.isProduct(rate, length, 1, 0) {
			t.Errorf("%v tok/s is not %v req/s × %v tokens:\n%s", tokens, rate, length, screen)
		}
		latency, scale := parse(t, said, `Request latency (?:~ )?`, ` `), 1e-3
		if regexp.MustCompile(`Request latency .* s\n`).MatchString(screen) {
			scale = 1
		}
		slack := 0.0
		if strings.Contains(screen, "steady") {
			slack = across(t, o)
		}
		if !flight.isProduct(rate, latency, scale, slack) {
			t.Errorf("%v in flight is not %v req/s × %v, give or take %v:\n%s", flight, rate, latency, slack, screen)
		}
	}
}

// across is how far rate × latency can be from the mean in flight in the steady window
// of the only run. A request across an edge is in flight for its time inside, and counts
// with what was delivered of it inside, which may be nothing or all. One that was sent
// inside has its latency in the mean: it is wrong by its time outside or by a mean
// latency. One that was sent before has not: by its time inside, or a mean latency.
func across(t *testing.T, o *Outcome) (slack float64) {
	t.Helper()
	table := func(name string) *sinks.TableRows {
		rows, err := sinks.ReadTable(o.Dir, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	mean := 0.0
	for _, s := range o.Outcomes[0].Summaries {
		if st, ok := s.Get(metrics.RequestLatency); ok && s.Window == "steady" {
			mean = st.Avg * 1e6
		}
	}
	// Both tables count from the start of the plan; the run's report counts from its own.
	runs, rows := table("runs"), table("requests")
	start, end := runs.Floats["steady_start_ns"][0], runs.Floats["steady_end_ns"][0]
	for i := range rows.N {
		sent, over := rows.Floats["sent_ns"][i], rows.Floats["end_ns"][i]
		inside := min(over, end) - max(sent, start)
		wrong := inside
		if sent >= start {
			wrong = over - sent - inside
		}
		if inside > 0 && inside < over-sent {
			slack += max(wrong, mean) / (end - start)
		}
	}
	return slack
}
