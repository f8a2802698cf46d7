package metrics_test

import (
	"fmt"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

// Two targets and two models: first() (TTFT 40 ms, last content after 80) went to a, as
// model m; second() (20 and 60) and the failure to b, one of them as n.
func TestParts(t *testing.T) {
	t.Parallel()
	sent := func(r *record.Record, url, model string) *record.Record {
		r.URL, r.Model = url, model
		return r
	}
	unsent := record.New()
	unsent.Status, unsent.Measured, unsent.InWindow = record.Unsent, true, true
	p := metrics.NewParts(metrics.Options{Streaming: true, Tokens: true, Window: metrics.Window{End: 100 * msec}}, true,
		true, false)
	for _, r := range []*record.Record{
		sent(warmup(), "http://c", "w"), sent(second(), "http://b", "m"), sent(first(), "http://a", "m"),
		sent(failure(), "http://b", "n"), &unsent,
	} {
		p.Add(r)
	}
	parts := map[string]metrics.Part{}
	var order []string
	for _, part := range p.Parts() {
		order = append(order, part.Kind+" "+part.Name)
		parts[part.Kind+" "+part.Name] = part
	}
	if got := strings.Join(order, ", "); got != "target http://a, target http://b, target http://c, model m, model n, model w" {
		t.Errorf("parts: %s", got)
	}
	for _, c := range []struct {
		part, tag, stat string
		want            float64
	}{
		{"target http://a", "request_count", "avg", 1},
		{"target http://a", "time_to_first_token", "p50", 40},
		{"target http://a", "request_throughput", "avg", 10}, // in the run's 100 ms
		{"target http://b", "request_count", "avg", 1},
		{"target http://b", "error_request_count", "avg", 1},
		{"target http://b", "request_latency", "avg", 60},
		{"model m", "request_latency", "avg", (80 + 60) / 2.0},
		{"model n", "error_request_count", "avg", 1},
	} {
		part := parts[c.part]
		if s, ok := part.Full(c.tag); !ok || !near(s.Value(c.stat), c.want) {
			t.Errorf("%s: %s %s = %v, want %v", c.part, c.tag, c.stat, s.Value(c.stat), c.want)
		}
	}
	b := parts["target http://b"]
	for _, tag := range []string{"request_latency_from_intended", "adj_request_latency"} {
		if s, ok := b.Full(tag); ok { // the arrival that was never sent may have been its own
			t.Errorf("%s: %+v", tag, s)
		}
	}
	if n := p.Notes(); len(n) > 0 {
		t.Errorf("notes: %q", n)
	}
}

// One target says what the run says; very many are not kept.
func TestPartsFewAndMany(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ targets, parts, notes int }{{1, 0, 0}, {64, 64, 0}, {65, 0, 1}} {
		p := metrics.NewParts(metrics.Options{Window: metrics.Window{End: 100 * msec}}, true, false, false)
		for i := range c.targets {
			r := first()
			r.URL = fmt.Sprintf("http://host-%d", i)
			p.Add(r)
		}
		if got := len(p.Parts()); got != c.parts || len(p.Notes()) != c.notes {
			t.Errorf("%d targets: %d parts and notes %q, want %d and %d", c.targets, got, p.Notes(), c.parts, c.notes)
		}
	}
}

// Questions are told apart from the other requests, so that their lengths can be, too; all
// requests together have the tokens of both.
func TestPartsOfQuestions(t *testing.T) {
	t.Parallel()
	opt := metrics.Options{Tokens: true, Answers: true, Window: metrics.Window{End: 100 * msec}}
	p, all := metrics.NewParts(opt, false, false, true), metrics.NewCollector(opt)
	question := second()
	question.Item, question.ISL, question.Answer = "q1", 90, record.Right
	for _, r := range []*record.Record{first(), question, first()} {
		p.Add(r)
		all.Add(r)
	}
	parts := p.Parts()
	if len(parts) != 2 || parts[0].Name != metrics.Other || parts[1].Name != metrics.Question || parts[0].Kind != "request" {
		t.Fatalf("parts %+v", parts)
	}
	sum := func(tag string) (of float64) {
		for i := range parts {
			s, _ := parts[i].Full(tag)
			of += s.Avg
		}
		return of
	}
	if s, _ := parts[1].Full("input_sequence_length"); s.Avg != 90 {
		t.Errorf("input length of questions %v", s.Avg)
	}
	whole := all.Summaries()[0]
	for _, tag := range []string{"request_throughput", "output_token_throughput", "input_token_throughput", "request_count"} {
		if s, ok := whole.Get(tag); !ok || !near(s.Avg, sum(tag)) {
			t.Errorf("%s: %v of all, %v of both parts", tag, s.Avg, sum(tag))
		}
	}
	rate, _ := whole.Get("request_throughput")
	osl, _ := whole.Get("output_sequence_length")
	if tokens, _ := whole.Get("output_token_throughput"); !near(tokens.Avg, rate.Avg*osl.Avg) {
		t.Errorf("%v tokens/s, %v requests/s of %v tokens", tokens.Avg, rate.Avg, osl.Avg)
	}
}
