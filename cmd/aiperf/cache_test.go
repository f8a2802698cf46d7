package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/mockserver"
)

// TestHitRatesAreReached: a replayed trace finds on a server with a cache the
// share of its tokens that was predicted, and prompts with a declared hit rate
// find theirs.
func TestHitRatesAreReached(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "trace.jsonl", conversations(40))
	write(t, dir, "declared.yaml", `
models: [demo]
endpoint: {url: "mock:?cache=1000000&log=true&ttft=0s&osl=1", streaming: true}
datasets: [{name: main, type: synthetic, entries: 40, prompts: {isl: {mean: 600, stddev: 100}, osl: 1}, prefix_prompts: {hit_rate: 0.7}}]
phases: [{name: profiling, type: concurrency, concurrency: 2, requests: 40}]
`)
	p := aiperf(t, dir, "profile", "-m", "demo", "-u", "mock:?cache=1000000&log=true&ttft=0s",
		"--streaming", "--input-file", "trace.jsonl",
		"--custom-dataset-type", "mooncake_trace", "--fixed-schedule", "--artifact-dir", "replayed", "--random-seed", "3")
	p.wants(diag.OK, diag.Invalid) // a busy machine may make a run INVALID
	predicted := hitRate(t, filepath.Join(dir, "replayed"), "prefix_hit_rate_trace")
	told := hitRate(t, filepath.Join(dir, "replayed"), "prefix_hit_rate_server")
	known, requests := logged(t, filepath.Join(dir, "replayed"))
	t.Logf("replay: predicted %.4f, the server knew %.4f", predicted, known)
	if requests != 40 || predicted < 0.3 || math.Abs(known-predicted) > 0.01 || math.Abs(told-known) > 1e-9 {
		t.Errorf("%d requests: the trace predicts %.4f, the server knew %.4f and said %.4f", requests, predicted, known,
			told)
	}
	p = aiperf(t, dir, "profile", "-f", "declared.yaml", "--artifact-dir", "declared", "--random-seed", "3")
	p.wants(diag.OK, diag.Invalid) // a busy machine may make a run INVALID
	known, requests = logged(t, filepath.Join(dir, "declared"))
	t.Logf("declared: asked for 0.7, the server knew %.4f", known)
	if requests != 40 || math.Abs(known-0.7) > 0.01 {
		t.Errorf("%d requests: asked for a hit rate of 0.7, the server knew %.4f", requests, known)
	}
}

// conversations is a trace of n requests of conversations that grow.
func conversations(n int) string {
	r := rand.New(rand.NewPCG(5, 7))
	var b strings.Builder
	next, histories := 100, [][]int{{1, 2}, {1, 3}, {4}, {5, 6, 7}}
	for i := range n {
		k := r.IntN(len(histories))
		blocks := append(append([]int{}, histories[k]...), next, next+1)
		if next += 2; len(blocks) < 8 {
			histories[k] = blocks[:len(blocks)-1] // whole blocks only
		}
		ids, _ := json.Marshal(blocks)
		fmt.Fprintf(&b, `{"timestamp":%d,"input_length":%d,"output_length":1,"hash_ids":%s}`+"\n", i*10,
			len(blocks)*512-16*r.IntN(20), ids)
	}
	return b.String()
}

// hitRate finds a number in run.json.
func hitRate(t *testing.T, dir, name string) float64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), `"`+name+`":`)
	var v float64
	if _, err := fmt.Sscan(strings.TrimSpace(rest), &v); err != nil {
		t.Fatalf("%s in run.json: %v", name, err)
	}
	return v
}

// logged is the share of the input tokens that the server's log says were
// cached.
func logged(t *testing.T, dir string) (share float64, requests int) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "server_log_*.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("logs of the server: %v %v", logs, err)
	}
	f, err := os.Open(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, cached := 0, 0
	for d := json.NewDecoder(f); d.More(); requests++ {
		var e mockserver.Entry
		if err := d.Decode(&e); err != nil {
			t.Fatal(err)
		}
		in, cached = in+e.InTokens, cached+e.Cached
	}
	return float64(cached) / float64(in), requests
}
