//go:build unix

package plugin_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"aiperf.dev/aiperf/internal/plugin"
)

// BenchmarkExamples is one question to a program in Python, asked by several goroutines,
// with its CPU time; an endpoint is asked twice a request.
func BenchmarkExamples(b *testing.B) {
	if _, err := exec.LookPath("python3"); err != nil {
		b.Skip("no python3")
	}
	for name, question := range map[string]map[string]any{
		"close-enough": {"grade": map[string]any{"answer": "it is about 1600 metres", "truth": "1609"}},
		"own-api":      {"event": map[string]any{"data": `{"choices":[{"message":{"content":"Hello"}}]}`, "stream": false}},
	} {
		b.Run(name, func(b *testing.B) {
			m, err := plugin.Open(filepath.Join("..", "..", "examples", "plugins", name))
			if err != nil {
				b.Fatal(err)
			}
			p, err := plugin.Host{Allow: true}.Start(b.Context(), m)
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close() //nolint:errcheck // the calls say what is wrong
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := p.Call(question, new(json.RawMessage)); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
