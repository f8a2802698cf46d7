//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lengths is an adaptive search all of whose figures follow from the requests, so that two of them have the same
// history to the last byte.
const lengths = `random_seed: 5
benchmark:
  model: demo
  endpoint: {url: "mock:?ttft=2ms&itl=1ms", type: chat, streaming: true}
  tokenizer: {name: builtin}
  dataset: {type: synthetic, entries: 8, prompts: {isl: 16, osl: 4}}
  phases: {type: concurrency, concurrency: 2, requests: 8}
sweep:
  type: adaptive_search
  planner: monotonic_sla
  search_space: [{path: dataset.prompts.osl, lo: 1, hi: 64, kind: int}]
  objectives: [{metric: output_sequence_length, direction: maximize}]
  sla_filters: [{metric_tag: output_sequence_length, stat: avg, op: lt, threshold: 20}]
  max_iterations: 30
`

// queued is a search for users of a server that takes four at a time and rejects the others at once: with five some
// request is rejected, however busy the machine is, and that is all that is asked.
const queued = `random_seed: 5
benchmark:
  model: demo
  endpoint: {url: "mock:?ttft=20ms&itl=1ms&workers=2&queue=2", type: chat, streaming: true}
  tokenizer: {name: builtin}
  dataset: {type: synthetic, entries: 8, prompts: {isl: 16, osl: 2}}
  phases: {type: concurrency, requests: 40}
allow_invalid: true
search: {path: concurrency, range: [1, 16], also: ["error_rate < 0.001"], budget: {probes: 20}}
`

// TestSearchKilledAnywhere: a search that is killed at a drawn moment, and continued, has the history and the
// answer of one that was left alone, and makes no more than one probe twice. Moments are bytes of the journal, which
// grows with each step of a probe, and of files: of the history, while it is written, or of the tables.
func TestSearchKilledAnywhere(t *testing.T) {
	t.Parallel()
	for _, s := range []struct {
		name, text string
		args       []string
		said       func(t *testing.T, out string) string // what may not differ
		files      []string                              // at whose appearance it is killed, too
	}{
		{
			"adaptive", lengths,
			[]string{"profile", "-f", "search.yaml", "--artifact-dir", "out", "--allow-invalid"},
			func(t *testing.T, out string) string { return read(t, filepath.Join(out, "search_history.json")) },
			[]string{"search_history.json", "*search_history.json?*", "cells.parquet"},
		},
		{
			"bracket", queued,
			[]string{"run", "search.yaml", "--artifact-dir", "out", "--report", "none"},
			func(t *testing.T, out string) string {
				return strings.Join(rows(t, out, "runs", "cell", "probe", "search", "decision", "sent"), "\n")
			},
			[]string{"summary.json", "cells.parquet"},
		},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			whole := t.TempDir()
			write(t, whole, "search.yaml", s.text)
			p := aiperf(t, whole, s.args...)
			p.wants(0)
			answer, begun := answerOf(p.out.String()), starts(whole)
			want := s.said(t, filepath.Join(whole, "out"))
			size := sizeOf(whole)
			if answer == "" || size == 0 || begun < 8 {
				t.Fatalf("%d probes, a journal of %d bytes, %q", begun, size, answer)
			}
			rng := rand.New(rand.NewPCG(24, uint64(len(s.name))))
			moments := map[string]func(dir string) bool{}
			for range 4 {
				at := 1 + rng.Int64N(size)
				moments[fmt.Sprintf("journal of %d bytes", at)] = func(dir string) bool { return sizeOf(dir) >= at }
			}
			for _, name := range s.files {
				moments[name] = func(dir string) bool {
					found, _ := filepath.Glob(filepath.Join(dir, "out", name))
					return len(found) > 0
				}
			}
			for name, seen := range moments {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					write(t, dir, "search.yaml", s.text)
					p := aiperf(t, dir, s.args...)
					p.until(name, func() bool { return seen(dir) })
					_ = p.cmd.Process.Kill() // or it has ended
					p.code()
					p = aiperf(t, dir, append(s.args, "--resume")...)
					p.wants(0)
					if d := cmp.Diff(want, s.said(t, filepath.Join(dir, "out"))); d != "" {
						t.Errorf("(-left alone +killed and resumed):\n%s", d)
					}
					if got := answerOf(p.out.String()); got != answer {
						t.Errorf("says %q, left alone %q", got, answer)
					}
					if n := starts(dir); n > begun+1 {
						t.Errorf("%d probes were begun, %d left alone", n, begun)
					}
				})
			}
		})
	}
}

// answerOf is the sentence of a search: what holds and what fails.
func answerOf(screen string) string {
	for line := range strings.Lines(screen) {
		if strings.Contains(line, "keeps the limits") || strings.Contains(line, "within the limits") {
			said, _, _ := strings.Cut(line, "  ") // before how long it took
			return said
		}
	}
	return ""
}

func journalOf(dir string) string { return filepath.Join(dir, "out", "journal.jsonl") }

// sizeOf is how many bytes the journal of a search has.
func sizeOf(dir string) int64 {
	i, err := os.Stat(journalOf(dir))
	if err != nil {
		return 0
	}
	return i.Size()
}

// starts is how often a probe was begun.
func starts(dir string) int {
	b, err := os.ReadFile(journalOf(dir))
	if err != nil {
		return 0
	}
	return strings.Count(string(b), `"event":"start"`)
}
