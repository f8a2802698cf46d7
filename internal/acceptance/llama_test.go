package acceptance

import (
	"math"
	"path/filepath"
	"testing"
)

// The counters of llama.cpp's own server are those of our requests, to the token, and its
// times are those that its answers report, which are the split of a request's time.
// The server was started with --metrics, and has no other clients.
func TestLlamaCounts(t *testing.T) {
	llama := llamaServer(t)
	dir := filepath.Join(t.TempDir(), "out")
	measure(t, "profile", "-m", "any", "-u", llama, "--streaming", "--tokenizer", "server", "--warmup-request-count", "4",
		"--request-count", "40", "--concurrency", "3", "--isl", "70", "--isl-stddev", "20", "--osl", "24", "--osl-stddev", "6",
		"--artifact-dir", dir)
	want := map[string]float64{}
	for _, row := range table(t, dir, "requests") {
		if row["phase"] != "profiling" {
			continue
		}
		if row["status"] != "ok" || row["usage_prompt_tokens"] != row["isl"] || row["usage_completion_tokens"] != row["osl"] {
			t.Errorf("%s: %s, %s tokens in and %s out, the server says %s and %s", row["request_id"], row["status"], row["isl"], row["osl"],
				row["usage_prompt_tokens"], row["usage_completion_tokens"])
		}
		cached := number(row["cached_tokens"])
		if math.IsNaN(cached) {
			cached = 0
		}
		want["server_generated_tokens"] += number(row["osl"])
		want["server_prefix_hits"] += cached
		want["server_prompt_tokens"] += number(row["isl"]) - cached
		want["server_prefill_time"] += number(row["server_prefill_ms"]) / 1e3
		want["server_decode_time"] += number(row["server_decode_ms"]) / 1e3
		if split := number(row["server_prefill_ms"]) + number(row["server_decode_ms"]); !(split > 0) || split > number(row["latency_ms"])+1 {
			t.Errorf("%s: the server worked %.3f ms on it, and it took %s ms", row["request_id"], split, row["latency_ms"])
		}
	}
	got := map[string]float64{}
	for _, row := range table(t, dir, "metrics") {
		if row["level"] == "run" && row["span"] == "full" && row["stat"] == "sum" && row["part"] == llama+"/metrics" {
			got[row["metric"]] = number(row["value"])
		}
	}
	for name, w := range want {
		g, ok := got[name]
		agrees := g == w
		switch name {
		case "server_decode_time": // the page has six digits, answers µs
			agrees = math.Abs(g-w) <= 1e-4*w+1e-4
		case "server_prefill_time": // what prompts take together counts for each of them, and once on the page
			agrees = g > 0 && g <= w*1.001
		}
		if !ok || !agrees {
			t.Errorf("%s: the server counted %v, the requests have %v", name, g, w)
		}
	}
	t.Logf("server: %v; requests: %v", got, want)
}
