package telemetry

import (
	"fmt"
	"strings"
	"testing"
)

// vllmPage is a page of 520 series, about what vLLM publishes of one engine, n steps on.
func vllmPage(n int) []byte {
	var s strings.Builder
	for f := range 20 {
		fmt.Fprintf(&s, "# HELP vllm:h%d_seconds Histogram of a time in seconds.\n# TYPE vllm:h%d_seconds histogram\n",
			f, f)
		for e := range 24 {
			fmt.Fprintf(&s, "vllm:h%d_seconds_bucket{engine=\"0\",model_name=\"meta/llama\",le=\"%d.0\"} %d.0\n", f, e,
				e*7+n)
		}
		fmt.Fprintf(&s, "vllm:h%d_seconds_count{engine=\"0\",model_name=\"meta/llama\"} %d.0\n"+
			"vllm:h%d_seconds_sum{engine=\"0\",model_name=\"meta/llama\"} 9.0\n", f, 200+n, f)
	}
	return []byte(s.String())
}

// BenchmarkParse reads a page that was not seen before.
func BenchmarkParse(b *testing.B) {
	body := vllmPage(0)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPages reads a page whose values alone are new: three times a second it is what
// a server's metrics cost the client.
func BenchmarkPages(b *testing.B) {
	bodies := [][]byte{vllmPage(0), vllmPage(1), vllmPage(2)}
	var p pages
	n := 0
	b.SetBytes(int64(len(bodies[0])))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.read(bodies[n%3]); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if p.shape == nil {
		b.Error("every page was read as if it was new")
	}
}
