package acceptance

import (
	"path/filepath"
	"testing"
)

// The other APIs of servers that nobody here wrote: whatever each of them
// spells in its own way is read, streamed and whole.
func TestAPIsOfServersNobodyHereWrote(t *testing.T) {
	t.Parallel()
	py := python(t, "servers")
	type api struct {
		typ    string
		stream bool
		more   []string
		want   map[string]string // of every row; "*": anything
	}
	text := map[string]string{"osl": "*", "finish_reason": "*"}
	streamed := map[string]string{"osl": "*", "finish_reason": "*", "ttft_ms": "*", "itl_ms": "*"}
	for _, s := range []struct {
		name string
		args []string
		apis []api
	}{
		{"llmock", []string{"serve", "--port", "0"}, []api{
			{typ: "messages", more: []string{"--custom-endpoint", "/anthropic/v1/messages", "--api-key", "k"}, want: text},
			{typ: "messages", stream: true, more: []string{"--custom-endpoint", "/anthropic/v1/messages", "--api-key", "k"}, want: streamed},
			{typ: "responses", want: map[string]string{"osl": "*"}},
			{typ: "responses", stream: true, want: map[string]string{"osl": "*", "ttft_ms": "*"}},
			{typ: "embeddings", want: map[string]string{"osl": "", "items": "1", "item_kind": "vectors", "dimensions": "*"}},
			{typ: "image_generation", want: map[string]string{"osl": "", "items": "1", "item_kind": "images"}},
		}},
		{"fakellm", []string{"serve", "--port", "0"}, []api{
			{typ: "messages", more: []string{"--api-key", "k"}, want: text},
			{typ: "messages", stream: true, more: []string{"--api-key", "k"}, want: map[string]string{"osl": "*", "finish_reason": "*", "ttft_ms": "*"}},
		}},
		{"llm-mock-api", []string{"start", "--port", "0", "--latency", "1", "--log-level", "info"}, []api{
			{typ: "messages", more: []string{"--api-key", "k"}, want: text},
			{typ: "messages", stream: true, more: []string{"--api-key", "k"}, want: map[string]string{"osl": "*", "finish_reason": "*", "ttft_ms": "*"}},
			{typ: "responses", want: map[string]string{"osl": "*"}},
			{typ: "responses", stream: true, want: map[string]string{"osl": "*", "ttft_ms": "*"}},
		}},
	} {
		t.Run(s.name, func(t *testing.T) {
			server := serve(t, py, s.name, s.args...)
			for _, a := range s.apis {
				name, dir := a.typ, filepath.Join(t.TempDir(), "out")
				args := append([]string{
					"profile", "-m", "gpt-4o", "-u", server.url, "--tokenizer", "builtin", "--artifact-dir", dir, "--endpoint-type", a.typ,
					"--request-count", "3", "--isl", "8", "--report", "none",
				}, a.more...)
				if a.stream {
					name, args = name+" streamed", append(args, "--streaming")
				}
				measure(t, args...)
				rows := table(t, dir, "requests")
				if len(rows) != 3 {
					t.Errorf("%s: %d requests, want 3", name, len(rows))
				}
				for _, row := range rows {
					if row["status"] != "ok" || row["http_status"] != "200" {
						t.Errorf("%s: %s %s %s", name, row["status"], row["http_status"], row["error_message"])
					}
					for column, v := range a.want {
						if got := row[column]; got != v && (v != "*" || got == "") {
							t.Errorf("%s: %s = %q, want %q", name, column, got, v)
						}
					}
				}
			}
		})
	}
}
