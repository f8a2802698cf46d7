package endpoint_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/schema"
)

// capture is a request as AIPerf 0.13 sent it (scenario "documented": as the
// API's own page shows it), and the input that leads to it.
type capture struct {
	Scenario string
	Path     string
	Input    struct {
		Model, System         string
		Texts                 []string
		Query                 string
		Passages              []string
		Images, Audios        []dataset.Media
		Raw, Messages, Tools  json.RawMessage // of the turn; messages are complete
		History               []endpoint.Message
		Stream, Usage, Legacy bool
		Counts, Each          bool
		MaxTokens             int64 `json:"max_tokens"`
		Extra                 schema.Members
		RPC                   *schema.RPC
		URLs                  []string
		Plugin                string // a folder; its program sends what it is asked
	}
	Body  json.RawMessage
	Text  string // the body where it is not JSON
	Bytes int    // of the body on the wire
}

func (c *capture) input() *endpoint.Input {
	in := c.Input
	messages := compact(in.Messages)
	return &endpoint.Input{
		Model: in.Model, System: in.System, History: in.History, Stream: in.Stream, Usage: in.Usage, Counts: in.Counts,
		Each:   in.Each,
		Legacy: in.Legacy, Extra: in.Extra, Turn: &dataset.Turn{
			Texts: in.Texts, MaxTokens: in.MaxTokens,
			Query: in.Query, Passages: in.Passages, Images: in.Images, Audios: in.Audios, Raw: in.Raw,
			Messages: messages, Complete: messages != nil, Tools: compact(in.Tools),
		},
	}
}

// compact is JSON without blanks, as datasets have it.
func compact(data []byte) []byte {
	var b bytes.Buffer
	_ = json.Compact(&b, data) // nothing stays nothing
	return b.Bytes()
}

func captures(t *testing.T, typ string) (list []capture) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "wire", typ+".jsonl"))
	if err != nil {
		t.Fatalf("endpoint type %s has no wire fixture: %v", typ, err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c capture
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// TestWire walks the catalogue: every type sends what AIPerf sent, in its order.
func TestWire(t *testing.T) {
	t.Parallel()
	for _, spec := range endpoint.Catalogue() {
		t.Run(spec.Type, func(t *testing.T) {
			t.Parallel()
			list := captures(t, spec.Type)
			if len(list) == 0 {
				t.Fatal("the wire fixture is empty")
			}
			for _, c := range list {
				open, err := endpoint.Open(&schema.Endpoint{
					Type: spec.Type, Extra: c.Input.Extra, RPC: c.Input.RPC,
					URLs: c.Input.URLs, Plugin: c.Input.Plugin,
				})
				if err != nil {
					t.Fatalf("%s: %v", c.Scenario, err)
				}
				open.Ask = func(question map[string]any, answer any) error {
					b, err := json.Marshal(map[string]any{"body": question["request"]})
					if err != nil {
						return err
					}
					return json.Unmarshal(b, answer)
				}
				got, err := open.Request(nil, c.input())
				if err != nil {
					t.Fatalf("%s: %v", c.Scenario, err)
				}
				if c.Text != "" {
					if diff := cmp.Diff(c.Text, string(got)); diff != "" {
						t.Errorf("%s (-want +got):\n%s", c.Scenario, diff)
					}
				} else if diff := cmp.Diff(tokens(t, c.Body), tokens(t, got)); diff != "" {
					t.Errorf("%s (-AIPerf +ours):\n%s", c.Scenario, diff)
				}
				if len(got) != c.Bytes {
					t.Errorf("%s: body of %d bytes, AIPerf's has %d:\n%s", c.Scenario, len(got), c.Bytes, got)
				}
				if path := open.URLPath(c.Input.Model, c.Input.Stream); path != c.Path {
					t.Errorf("%s: path %s, want %s", c.Scenario, path, c.Path)
				}
			}
		})
	}
}

// tokens are the words of a JSON text in its order, numbers as they are written.
func tokens(t testing.TB, data []byte) (list []json.Token) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatalf("body is not JSON: %v\n%s", err, data)
		}
		list = append(list, token)
	}
}

func decode(t testing.TB, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("body is not JSON: %v\n%s", err, data)
	}
	return v
}

func TestCatalogue(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, spec := range endpoint.Catalogue() {
		if found, ok := endpoint.Lookup(spec.Type); !ok || found != spec || seen[spec.Type] {
			t.Errorf("Lookup(%q) = %v, %v", spec.Type, found, ok)
		}
		seen[spec.Type] = true
		if spec.Title == "" || spec.Doc == "" || spec.Path != "" && spec.Path[0] != '/' ||
			spec.Body == nil || spec.Read == nil || spec.HasContent == nil {
			t.Errorf("row %s is incomplete: %+v", spec.Type, spec)
		}
		for _, data := range []string{
			"", "<html><body>502 Bad Gateway</body></html>", "null", "[]", `{"a":`,
			"\xff\xfe",
		} {
			if c, err := spec.Read([]byte(data), false); err == nil {
				t.Errorf("%s: Read(%q) = %+v, want an error", spec.Type, data, c)
			} else if strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: Read(%q): error of several lines: %v", spec.Type, data, err)
			}
		}
	}
	if spec, ok := endpoint.Lookup("telepathy"); ok {
		t.Errorf("Lookup(telepathy) = %v", spec)
	}
}

func lookup(t testing.TB, typ string) *endpoint.Spec {
	t.Helper()
	spec, ok := endpoint.Lookup(typ)
	if !ok {
		t.Fatalf("no endpoint type %s", typ)
	}
	return spec
}

func TestBody(t *testing.T) {
	t.Parallel()
	turn := func(texts ...string) *dataset.Turn { return &dataset.Turn{Texts: texts} }
	for _, c := range []struct {
		typ, name string
		in        endpoint.Input
		want      string // the exact body, or the error
	}{
		{"chat", "role, context, system", endpoint.Input{
			Model: "m", System: "S", Turn: &dataset.Turn{Texts: []string{"t"}, Role: "tool", Context: "C"},
			History: []endpoint.Message{{Role: "assistant", Content: "h"}},
		}, `{"messages":[{"role":"system","content":"S"},{"role":"user","content":"C"},{"role":"assistant","content":"h"},{"role":"tool","content":"t"}],"model":"m","stream":false}`},
		{"chat", "no text", endpoint.Input{Model: "m", Turn: turn()}, `{"messages":[{"role":"user","content":""}],"model":"m","stream":false}`},
		{"chat", "escapes", endpoint.Input{Model: "m", Turn: turn("\"\\/\n\r\t\x01<\u2028>é\xff")}, `{"messages":[{"role":"user","content":"\"\\/\n\r\t\u0001<` + "\u2028" + `>é` + "\ufffd" + `"}],"model":"m","stream":false}`},
		{"chat", "the turn's extra beats the endpoint's, both beat ours", endpoint.Input{
			Model: "m", Stream: true, Extra: schema.MembersOf("model", "x", "a", 1, "b", nil),
			Turn: &dataset.Turn{Texts: []string{"t"}, Extra: schema.MembersOf("a", []any{true, 1.5}, "stream", false)},
		}, `{"messages":[{"role":"user","content":"t"}],"model":"x","stream":false,"a":[true,1.5],"b":null}`},
		{"chat", "messages replaced", endpoint.Input{Model: "m", Turn: turn("t"), Extra: schema.MembersOf("messages", []any{})}, `{"messages":[],"model":"m","stream":false}`},
		{"chat", "stream by extra", endpoint.Input{Model: "m", Usage: true, Turn: turn("t"), Extra: schema.MembersOf("stream", true)}, `{"messages":[{"role":"user","content":"t"}],"model":"m","stream":true,"stream_options":{"include_usage":true}}`},
		{"chat", "author's include_usage stays", endpoint.Input{Model: "m", Stream: true, Usage: true, Turn: turn("t"), Extra: schema.MembersOf("stream_options", map[string]any{"include_usage": false})}, `{"messages":[{"role":"user","content":"t"}],"model":"m","stream":true,"stream_options":{"include_usage":false}}`},
		{"chat", "null is not said", endpoint.Input{Model: "m", Stream: true, Usage: true, Turn: turn("t"), Extra: schema.MembersOf("stream_options", nil)}, `{"messages":[{"role":"user","content":"t"}],"model":"m","stream":true,"stream_options":{"include_usage":true}}`},
		{"chat", "not an object", endpoint.Input{Model: "m", Stream: true, Usage: true, Turn: turn("t"), Extra: schema.MembersOf("stream_options", 3)}, `{"messages":[{"role":"user","content":"t"}],"model":"m","stream":true,"stream_options":3}`},
		{"chat", "usage not asked for", endpoint.Input{Model: "m", Stream: true, Turn: turn("t")}, `{"messages":[{"role":"user","content":"t"}],"model":"m","stream":true}`},
		{"chat", "messages of a turn follow the history", endpoint.Input{
			Model: "m", System: "S", Turn: &dataset.Turn{Messages: []byte(`[{"role":"tool","content":"r"}]`)},
			History: []endpoint.Message{{
				Role: "user",
				Turn: &dataset.Turn{Messages: []byte(` [ {"role":"user","content":"a"} ] `)},
			}, {
				Role:    "assistant",
				Content: "b",
			}},
		}, `{"messages":[{"role":"system","content":"S"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"tool","content":"r"}],"model":"m","stream":false}`},
		{"chat", "complete messages replace the history", endpoint.Input{
			Model: "m", History: []endpoint.Message{{Role: "assistant", Content: "b"}},
			Turn: &dataset.Turn{
				Messages: []byte(`[{"role":"user","content":"a"}]`),
				Complete: true, Tools: []byte(`[{"type":"function"}]`),
			},
		}, `{"messages":[{"role":"user","content":"a"}],"model":"m","stream":false,"tools":[{"type":"function"}]}`},
		{"chat", "a system prompt before complete messages", endpoint.Input{
			Model: "m", System: "S", Turn: &dataset.Turn{
				Messages: []byte(`[{"role":"user","content":"a"}]`),
				Complete: true,
			},
		}, `{"messages":[{"role":"system","content":"S"},{"role":"user","content":"a"}],"model":"m","stream":false}`},
		{"chat", "two system prompts are one", endpoint.Input{
			Model: "m", System: "S", Turn: &dataset.Turn{Messages: []byte(`[{"content":"a\n","role":"system"},{"role":"user","content":"b"}]`), Complete: true},
		}, `{"messages":[{"content":"S\n\na\n","role":"system"},{"role":"user","content":"b"}],"model":"m","stream":false}`},
		{"chat", "an empty system prompt", endpoint.Input{
			Model: "m", System: "S", Turn: &dataset.Turn{
				Messages: []byte(`[{"role":"system","content":""}]`),
				Complete: true,
			},
		}, `{"messages":[{"role":"system","content":"S"}],"model":"m","stream":false}`},
		{"chat", "a system prompt in parts", endpoint.Input{
			Model: "m", System: "S", Turn: &dataset.Turn{Messages: []byte(`[{"role":"system","content":[{"type":"text","text":"a"}]}]`), Complete: true},
		}, `{"messages":[{"role":"system","content":[{"type":"text","text":"S"},{"type":"text","text":"a"}]}],"model":"m","stream":false}`},
		{"responses", "a system prompt beside complete messages", endpoint.Input{
			Model: "m", System: "S", Turn: &dataset.Turn{
				Messages: []byte(`[{"role":"system","content":"a"}]`),
				Complete: true,
			},
		}, `{"input":[{"role":"system","content":"a"}],"model":"m","stream":false,"instructions":"S"}`},
		{"messages", "a system prompt beside complete messages", endpoint.Input{
			Model: "m", System: "S", Stream: true,
			Turn: &dataset.Turn{
				Messages: []byte(`[{"role":"user","content":"a"}]`),
				Complete: true, Tools: []byte(`[{"name":"f"}]`),
			},
		}, `{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":1024,"stream":true,"system":"S","tools":[{"name":"f"}]}`},
		{"responses", "what the server stores is named", endpoint.Input{
			Model: "m", System: "S", Extra: schema.MembersOf("store", true), Turn: turn("c"),
			History: []endpoint.Message{
				{Role: "user", Turn: turn("a")},
				{Role: "assistant", Content: "b", Stored: "resp_1"},
			},
		}, `{"input":[{"role":"user","content":"c","type":"message"}],"model":"m","stream":false,"previous_response_id":"resp_1","instructions":"S","store":true}`},
		{"responses", "what the server does not store is sent", endpoint.Input{
			Model: "m", Turn: turn("c"), History: []endpoint.Message{
				{Role: "user", Turn: turn("a")},
				{Role: "assistant", Content: "b", Stored: "resp_1"},
			},
		}, `{"input":[{"role":"user","content":"a","type":"message"},{"role":"assistant","content":"b","type":"message"},{"role":"user","content":"c","type":"message"}],"model":"m","stream":false}`},
		{"chat", "author's null of one option stays", endpoint.Input{Model: "m", Stream: true, Usage: true, Turn: turn("t"), Extra: schema.MembersOf("stream_options", map[string]any{"include_usage": nil})}, `{"messages":[{"role":"user","content":"t"}],"model":"m","stream":true,"stream_options":{"include_usage":null}}`},
		{"chat", "usage with every event", endpoint.Input{Model: "m", Stream: true, Usage: true, Each: true, Turn: turn("t")}, `{"messages":[{"role":"user","content":"t"}],"model":"m","stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`},
		{"embeddings", "image", endpoint.Input{Turn: &dataset.Turn{Texts: []string{"a"}, Images: make([]dataset.Media, 1)}}, "embeddings: no place for the dataset's images; hint: chat, responses, messages, nim_embeddings"},
		{"embeddings", "stream", endpoint.Input{Turn: &dataset.Turn{Texts: []string{"a"}, Extra: schema.MembersOf("stream", true)}}, "embeddings: it cannot stream"},
		{"image_edit", "no image", endpoint.Input{Turn: turn("a")}, "image_edit: a turn without the image"},
		{"image_edit", "no such image", endpoint.Input{Turn: &dataset.Turn{Texts: []string{"a"}, Images: []dataset.Media{{Base64: "QUJD"}}}}, "a file that is not an image"},
		{"nim_embeddings", "uneven", endpoint.Input{Turn: &dataset.Turn{Texts: []string{"a", "b"}, Images: []dataset.Media{{URL: "u"}}}}, "nim_embeddings: 2 texts and 1 images"},
		{"raw", "nothing", endpoint.Input{Turn: turn("a")}, "raw: the dataset holds no bodies"},
		{"hf_tei_rankings", "no query", endpoint.Input{Turn: turn("a")}, "hf_tei_rankings: a turn without a query"},
		{"chat", "raw", endpoint.Input{Model: "m", Turn: &dataset.Turn{Raw: []byte(`{ "z": 1 }`)}}, `{ "z": 1 }`},
		{"completions", "batch", endpoint.Input{Model: "m", Turn: turn("a", "b")}, `{"prompt":["a","b"],"model":"m","stream":false}`},
		{"completions", "system", endpoint.Input{Model: "m", System: "s", Turn: turn("a")}, "completions: no place for a system prompt or a user context"},
		{"completions", "history", endpoint.Input{Model: "m", History: []endpoint.Message{{}}, Turn: turn("a")}, "completions: conversations of one turn only"},
		{"completions", "no text", endpoint.Input{Model: "m", Turn: turn()}, "completions: a turn without text"},
		{"embeddings", "one", endpoint.Input{Model: "m", Turn: turn("a"), Extra: schema.MembersOf("encoding_format", "base64")}, `{"model":"m","input":["a"],"encoding_format":"base64"}`},
		{"embeddings", "context", endpoint.Input{Turn: &dataset.Turn{Texts: []string{"a"}, Context: "c"}}, "embeddings: no place for a system prompt or a user context"},
	} {
		before := []byte("kept")
		got, err := lookup(t, c.typ).Request(before, &c.in)
		if err != nil {
			if !strings.HasPrefix(diag.Line(err), c.want) {
				t.Errorf("%s, %s: error %v, want %s", c.typ, c.name, err, c.want)
			}
			continue
		}
		if string(got) != "kept"+c.want {
			t.Errorf("%s, %s:\n got %s\nwant kept%s", c.typ, c.name, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	in := endpoint.Input{
		Turn: &dataset.Turn{Texts: []string{"d", "e"}, Context: "b"}, System: "a",
		History: []endpoint.Message{{Role: "user", Content: "c"}},
	}
	if got := in.Text(); got != "a b c d e" {
		t.Errorf("Text = %q", got)
	}
	in = endpoint.Input{
		Turn: &dataset.Turn{Texts: []string{"z"}},
		History: []endpoint.Message{{
			Role: "assistant", Content: "see",
			Elements: []byte(`{"role":"assistant","content":"see","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`),
		}},
	}
	if got := in.Text(); got != "see f {} z" {
		t.Errorf("Text = %q", got)
	}
	in = endpoint.Input{Turn: &dataset.Turn{Texts: []string{"only"}}}
	if got := in.Text(); got != "only" {
		t.Errorf("Text = %q", got)
	}
}

// FuzzBody checks that any text reaches the server as it is, up to bytes that
// are not UTF-8.
func FuzzBody(f *testing.F) {
	f.Add("m", "system", "text", "key", `value "`)
	f.Add("", "", "\x00\u2028\xc0", "messages", "\\u0000")
	f.Fuzz(func(t *testing.T, model, system, text, key, value string) {
		in := &endpoint.Input{
			Model: model, System: system, Turn: &dataset.Turn{Texts: []string{text}, MaxTokens: 5},
			Extra: schema.MembersOf(key, value),
		}
		got, err := lookup(t, "chat").Request(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		messages := []any{map[string]any{"role": "user", "content": valid(text)}}
		if system != "" {
			messages = append([]any{map[string]any{"role": "system", "content": valid(system)}}, messages...)
		}
		want := map[string]any{
			"messages": messages, "model": valid(model),
			"stream": false, "max_completion_tokens": 5.0,
		}
		want[valid(key)] = valid(value)
		if diff := cmp.Diff(any(want), decode(t, got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// valid is s as a reader of UTF-8 sees it: each stray byte is U+FFFD.
func valid(s string) string { return string([]rune(s)) }

func BenchmarkBody(b *testing.B) {
	in := &endpoint.Input{
		Model: "demo", Stream: true, Usage: true,
		Turn: &dataset.Turn{Texts: []string{strings.Repeat("The quiet river carried boats. ", 80)}, MaxTokens: 64},
	}
	spec := lookup(b, "chat")
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = spec.Body(dst[:0], in)
	}
	b.SetBytes(int64(len(dst)))
}

// The numbers of a template and of extra inputs go out digit for digit.
func TestTemplateKeepsDigits(t *testing.T) {
	t.Parallel()
	extra := schema.MembersOf("seed", int64(9007199254740995))
	spec, err := endpoint.Open(&schema.Endpoint{
		Type: "template", Extra: extra,
		Template: &schema.BodyTemplate{Body: `{"id": 9007199254740993, "at": [1.10, 18446744073709551615], "t": {{ text|tojson }}}`},
	})
	if err != nil {
		t.Fatal(err)
	}
	in := endpoint.Input{Turn: &dataset.Turn{Texts: []string{"a"}}, Extra: extra}
	got, err := spec.Request(nil, &in)
	if want := `{"id":9007199254740993,"at":[1.10,18446744073709551615],"t":"a","seed":9007199254740995}`; err != nil ||
		string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
