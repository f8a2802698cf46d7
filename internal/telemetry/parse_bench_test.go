package telemetry_test

import (
	"fmt"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/telemetry"
)

// BenchmarkParse reads a page of 520 series, about what vLLM publishes of one engine.
// Three times a second it is what the server's metrics cost the client.
func BenchmarkParse(b *testing.B) {
	var s strings.Builder
	for f := range 20 {
		fmt.Fprintf(&s, "# HELP vllm:h%d_seconds Histogram of a time in seconds.\n# TYPE vllm:h%d_seconds histogram\n",
			f, f)
		for e := range 24 {
			fmt.Fprintf(&s, "vllm:h%d_seconds_bucket{engine=\"0\",model_name=\"meta/llama\",le=\"%d.0\"} %d.0\n", f, e,
				e*7)
		}
		fmt.Fprintf(&s, "vllm:h%d_seconds_count{engine=\"0\",model_name=\"meta/llama\"} 9.0\nvllm:h%d_seconds_sum{engine=\"0\",model_name=\"meta/llama\"} 9.0\n", f, f)
	}
	body := []byte(s.String())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := telemetry.Parse(body); err != nil {
			b.Fatal(err)
		}
	}
}
