package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/nearby"
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
		{nil, "", "", "", "", "no inference server lists models on this machine (ports 8000, "},
		{[]nearby.Server{ollama}, "", "http://localhost:11434", "llama", "found a server at http://localhost:11434, where Ollama usually listens", ""},
		{[]nearby.Server{vllm, ollama}, "", "http://localhost:8000", "a", "the first of 2 that the server lists", ""},
		{[]nearby.Server{vllm, ollama}, "mine", "http://localhost:8000", "mine", "another one: -u http://localhost:11434", ""},
		{[]nearby.Server{{Place: vllm.Place, Models: vllm.Models[:2]}}, "", "", "", "", "http://localhost:8000 lists no model"},
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
