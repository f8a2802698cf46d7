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
)

// loads are a phase of each load mode, with its data set, for n requests.
func loads(n int) map[string][2]string {
	const texts = "{name: default, type: synthetic, entries: 64, prompts: {isl: {mean: 8}, osl: {mean: 20, stddev: 8}}}"
	const talks = "{name: default, type: synthetic, entries: 64, turns: {mean: 4}, prompts: {isl: {mean: 8}, osl: {mean: 20, stddev: 8}}}"
	var rows []string
	for i := range n {
		rows = append(rows, fmt.Sprintf("{timestamp: %d, input_length: 8, output_length: %d}", 1000+i*(17+i%7),
			8+i*7%25))
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
// against a server whose times and lengths are random: rate × mean OSL is tokens/s,
// and rate × mean latency the mean in flight, in both windows.
func TestPrintedNumbersAgree(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10, 16, 30, 300} {
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
		if have, want := get(metrics.OutputTokenThroughput).Avg,
			rate*get(metrics.OutputSequenceLength).Avg; math.Abs(have/want-1) > 1e-9 {
			t.Errorf("%s window: %v tokens/s, rate × OSL is %v", s.Window, have, want)
		}
		flight, latency := get("effective_concurrency"), get(metrics.RequestLatency)
		slack := 1e-6 * flight.Avg // an answer's last byte comes with its last token, up to the end mark
		if want := rate * latency.Avg / 1e3; math.Abs(flight.Avg-want) > slack {
			t.Errorf("%s window: %v in flight, rate × latency is %v, off by more than %v", s.Window, flight.Avg, want,
				slack)
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

// isProduct reports whether f can be a × b × scale.
func (f figure) isProduct(a, b figure, scale float64) bool {
	low, high := (a.value-a.half)*(b.value-b.half)*scale, (a.value+a.half)*(b.value+b.half)*scale
	return f.value+f.half >= low && f.value-f.half <= high
}

// printed holds what the screen says against itself: rate × length is tokens per
// second, and rate × mean latency is in flight, within the digits that are printed.
func printed(t *testing.T, o *Outcome) {
	t.Helper()
	for _, width := range []int{80, 200} {
		screen := o.screen(t, width)
		said := strings.Join(strings.Fields(screen), " ") // one line, however it was wrapped
		rate, tokens := parse(t, said, `tok/s · `, `~? req/s · `), parse(t, said, `Throughput `, `~? tok/s`)
		flight, length := parse(t, said, `req/s · `, `~? in flight`), parse(t, said, `tokens in, `, ` out`)
		if !tokens.isProduct(rate, length, 1) {
			t.Errorf("%v tok/s is not %v req/s × %v tokens:\n%s", tokens, rate, length, screen)
		}
		latency, scale := parse(t, said, `Request latency (?:~ )?`, ` `), 1e-3
		if regexp.MustCompile(`Request latency .* s\n`).MatchString(screen) {
			scale = 1
		}
		if !flight.isProduct(rate, latency, scale) {
			t.Errorf("%v in flight is not %v req/s × %v:\n%s", flight, rate, latency, screen)
		}
	}
}
