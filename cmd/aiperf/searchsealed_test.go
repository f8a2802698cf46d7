package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/seal"
	"aiperf.dev/aiperf/sinks"
)

// The answer of a sealed search is made again of its runs, and one that somebody turned around
// is found, although all digests fit.
func TestASealedSearchIsMadeAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	experiment := `
benchmark:
  model: m
  endpoint: {type: chat, url: 'mock:?step=4ms&batch=2', streaming: true}
  tokenizer: {name: builtin}
  dataset: {type: synthetic, prompts: {isl: 16, osl: 4}}
  phases: {type: concurrency, requests: 40, concurrency: 1}
search: {path: concurrency, range: [1, 16], where: ["request_latency < 60"], resolution: 1, budget: {probes: 6}}
allow_invalid: true
`
	if err := os.WriteFile(filepath.Join(root, "x.yaml"), []byte(experiment), 0o644); err != nil {
		t.Fatal(err)
	}
	aiperf(t, root, "run", "x.yaml", "--artifact-dir", "a").wants(diag.OK, diag.Invalid, diag.Missed)
	aiperf(t, root, "bundle", "a", "-o", "a.aiperf").wants(diag.OK)
	whole := aiperf(t, root, "verify", "a.aiperf", "--recompute", "--unpack", "a.out")
	whole.wants(diag.OK, diag.Invalid)
	if !strings.Contains(whole.out.String(), "made again from") || strings.Contains(whole.out.String(), "cannot be") {
		t.Fatalf("the search is not made again:\n%s", whole.out.String())
	}

	f := &forger{t: t, dir: filepath.Join(root, "forged")}
	f.must(os.CopyFS(f.dir, os.DirFS(filepath.Join(root, "a.out"))))
	a, err := seal.Open(filepath.Join(root, "a.aiperf"))
	f.must(err)
	f.statement = *a.Statement()
	said := map[string]string{"holds": "fails", "fails": "holds", "undecided": "holds"}
	f.must(sinks.RewriteTable(filepath.Join(root, "a.out"), f.dir, "cells", func(column, s string) string {
		if by := said[s]; column == "decision" && by != "" {
			return by
		}
		return s
	}))
	f.pack(filepath.Join(root, "forged.aiperf"), "")
	forged := aiperf(t, root, "verify", "forged.aiperf", "--recompute")
	forged.wants(diag.Failed)
	if !strings.Contains(forged.out.String(), "decision is") {
		t.Errorf("the decisions were forged, and verify does not say so:\n%s", forged.out.String())
	}
}
