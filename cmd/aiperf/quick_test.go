package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/nearby"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// The first server of the machine is taken with its first model that is only a name: one
// that would read a variable of this machine is not. Where none is found, the hint says
// what to do.
func TestQuickFindsAServer(t *testing.T) {
	t.Parallel()
	vllm := nearby.Server{
		Place:  nearby.Place{Port: 8000, Usually: "vLLM"},
		Models: []string{"${OPENAI_API_KEY}", "{{ x }}", "a", "b"},
	}
	ollama := nearby.Server{Place: nearby.Place{Port: 11434, Usually: "Ollama"}, Models: []string{"llama"}}
	for _, c := range []struct {
		found            []nearby.Server
		model            string
		url, name, notes string
		refused          string
	}{
		{nil, "", "", "", "", "found no inference server on this machine that lists its models (ports 8000, "},
		{[]nearby.Server{ollama}, "", "http://localhost:11434", "llama", "found a server at http://localhost:11434, where Ollama usually listens", ""},
		{[]nearby.Server{vllm, ollama}, "", "http://localhost:8000", "a", "the first of 2 that the server lists", ""},
		{[]nearby.Server{vllm, ollama}, "mine", "http://localhost:8000", "mine", "another one: -u http://localhost:11434", ""},
		{[]nearby.Server{{Place: vllm.Place, Models: vllm.Models[:2]}}, "", "", "", "", "http://localhost:8000 does not list any model"},
	} {
		var notes bytes.Buffer
		q := &quickly{app: &app{stdio: stdio{Err: &notes}}}
		q.ask.Model = c.model
		err := q.find(c.found)
		if c.refused != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.refused) {
				t.Errorf("%v: %v, want %s", c.found, err, c.refused)
			}
			continue
		}
		if err != nil || q.ask.URL != c.url || q.ask.Model != c.name || !strings.Contains(notes.String(), c.notes) {
			t.Errorf("%v: %v, %s, %s\n%s", c.found, err, q.ask.URL, q.ask.Model, notes.String())
		}
	}
	for text, want := range map[string]time.Duration{
		"60s": time.Minute, "90": 90 * time.Second, "5m": 5 * time.Minute,
		"19s": 0, "25h": 0, "soon": 0, "NaN": 0, "-60": 0,
	} {
		if got, err := budget(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("--budget %s: %s, %v", text, got, err)
		}
	}
}

// A server that refuses requests beyond some rate is called so; one that fails otherwise is not.
func TestALimitOnTheRateIsNamed(t *testing.T) {
	t.Parallel()
	of := func(errors ...verdict.ErrorCount) *runner.Result {
		run := sweep.Run{ID: "one", Cell: &sweep.Cell{Index: 3}}
		rate := metrics.Blank(metrics.RequestThroughput, "requests/sec")
		rate.Scalar, rate.Avg = true, 58.4
		o := decide.Outcome{Run: run, OK: 130, Failed: 70, Summaries: []metrics.Summary{{Stats: []metrics.Stat{rate}}}}
		return &runner.Result{
			Outcomes: []decide.Outcome{o}, Reports: map[string]*runner.RunReport{"one": {Errors: errors}},
		}
	}
	refused := verdict.ErrorCount{Kind: "rate_limited", HTTP: 429, Count: 60}
	broken := verdict.ErrorCount{Kind: "http_500", HTTP: 500, Count: 10}
	want := "the server limits the rate of requests: it refused 60 of 200 with 429, too many requests, and answered 58.4 a second"
	if got := refusedAt(of(refused, broken), 3); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	refused.Count, broken.Count = 5, 65
	if got := refusedAt(of(refused, broken), 3) + refusedAt(of(refused), 2) + refusedAt(of(), 3); got != "" {
		t.Errorf("%q", got)
	}
	for sentence, want := range map[string]string{
		"The KV cache is full.": "the KV cache is full.", "GPU memory is full.": "GPU memory is full.", "": "",
	} {
		if got := within(sentence); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
