package endpoint_test

import (
	"testing"

	"aiperf.dev/aiperf/internal/race"
	"aiperf.dev/aiperf/internal/record"
)

// Reading a piece of text out of a stream takes no memory, whatever the API.
func TestReadAllocatesNothing(t *testing.T) { // not parallel: counts the process's allocations
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	seen := map[string]bool{}
	for _, c := range readCases {
		spec := lookup(t, c.typ)
		piece := c.stream && !c.want.Empty && c.want.Kind == record.Content && c.want.Finish == ""
		if !spec.ProducesTokens || seen[c.typ] || !piece {
			continue
		}
		seen[c.typ] = true
		data := []byte(c.data)
		if n := testing.AllocsPerRun(100, func() {
			if _, err := spec.Read(data, true); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s, %s: %v allocations", c.typ, c.name, n)
		}
	}
	for _, typ := range []string{
		"chat", "completions", "responses", "messages", "huggingface_generate",
		"llamacpp_completion", "ollama_generate", "solido_rag",
	} {
		if !seen[typ] {
			t.Errorf("%s: no piece of its text was read", typ)
		}
	}
}
