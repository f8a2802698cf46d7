package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// The other APIs of servers that nobody here wrote: whatever each of them
// spells in its own way is read, streamed and whole.
func TestAPIsOfServersNobodyHereWrote(t *testing.T) {
	t.Parallel()
	py := python(t, "servers")
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
			askAll(t, serve(t, py, s.name, s.args...).url, "gpt-4o", s.apis)
		})
	}
}

// A server that is no part of a Python environment: the npm package aimock, run
// by node from the folder that AIPERF_AIMOCK names.
func TestAPIsOfAimock(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("AIPERF_AIMOCK")
	if folder == "" {
		t.Skip("AIPERF_AIMOCK does not name a folder in which npm install @copilotkit/aimock was run")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node")
	}
	script, err := os.ReadFile(filepath.Join("testdata", "aimock.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(folder, "aiperf-"+strconv.Itoa(os.Getpid())+".mjs") // where node finds the package
	if err := os.WriteFile(own, script, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(own) })
	text := map[string]string{"osl": "10", "finish_reason": "*"}
	streamed := map[string]string{"osl": "10", "finish_reason": "*", "ttft_ms": "*"}
	image := map[string]string{"osl": "", "items": "1", "item_kind": "images"}
	askAll(t, serve(t, node, "node", own).url, "gpt-4o", []api{
		{typ: "chat", want: text},
		{typ: "chat", stream: true, want: streamed},
		{typ: "responses", want: text},
		{typ: "responses", stream: true, want: streamed},
		{typ: "messages", more: []string{"--api-key", "k"}, want: text},
		{typ: "messages", stream: true, more: []string{"--api-key", "k"}, want: streamed},
		{typ: "embeddings", more: []string{"--batch-size", "3"}, want: map[string]string{"items": "3", "item_kind": "vectors", "dimensions": "4"}},
		{typ: "cohere_rankings", more: []string{"--rankings-passages-mean", "2"}, want: map[string]string{"items": "2", "item_kind": "passages"}},
		{typ: "image_generation", want: image},
		{typ: "video_generation", want: map[string]string{"items": "1", "item_kind": "videos", "finish_reason": "completed"}},
	})
}

// llama.cpp's own server, by the address that AIPERF_LLAMA_SERVER names: its
// figures of its own work must agree with ours.
func TestAPIsOfLlamaServer(t *testing.T) {
	t.Parallel()
	url := llamaServer(t)
	text := map[string]string{"osl": "*", "finish_reason": "*"}
	streamed := map[string]string{"osl": "*", "finish_reason": "*", "ttft_ms": "*"}
	timed := map[string]string{"osl": "*", "ttft_ms": "*", "server_prefill_ms": "*", "server_decode_ms": "*"}
	osl := []string{"--osl", "8"}
	askAll(t, url, "tiny", []api{
		{typ: "chat", more: osl, want: text},
		{typ: "chat", stream: true, more: osl, want: timed},
		{typ: "completions", stream: true, more: osl, want: streamed},
		{typ: "responses", stream: true, more: osl, want: streamed},
		{typ: "messages", stream: true, more: osl, want: streamed},
		{typ: "llamacpp_completion", stream: true, more: osl, want: map[string]string{"osl": "*", "ttft_ms": "*", "server_prefill_ms": "*", "server_decode_ms": "*", "cached_tokens": "*"}},
		{typ: "llamacpp_completion", more: osl, want: map[string]string{"osl": "*", "server_prefill_ms": "*", "server_decode_ms": "*"}},
	})
}

// api is an API of a server, and what the rows of its requests must hold.
type api struct {
	typ    string
	stream bool
	more   []string
	want   map[string]string // of every row; "*": anything
}

// askAll sends three requests to each API of the server at url.
func askAll(t *testing.T, url, model string, apis []api) {
	t.Helper()
	for _, a := range apis {
		name, dir := a.typ, filepath.Join(t.TempDir(), "out")
		args := append([]string{
			"profile", "-m", model, "-u", url, "--tokenizer", "builtin", "--artifact-dir", dir, "--endpoint-type", a.typ,
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
}

// llamaServer is the address of llama.cpp's own server, where there is one.
func llamaServer(t *testing.T) string {
	t.Helper()
	url := os.Getenv("AIPERF_LLAMA_SERVER")
	if url == "" {
		t.Skip("AIPERF_LLAMA_SERVER does not name the address of a running llama-server")
	}
	return url
}
