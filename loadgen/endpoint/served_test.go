package endpoint_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint"
)

func FuzzParseCall(f *testing.F) {
	for _, s := range []string{
		`{"model":"m","messages":[{"role":"user","content":"a b"}],"max_tokens":3}`,
		`{"input":["a",[1,2,3]],"encoding_format":"base64"}`, `{"messages":[{"content":[{"type":"text","text":"x"}]}]}`,
		`[]`, `{"prompt":{"content":{"content":"x"}}}`,
	} {
		f.Add([]byte(s), "application/json")
	}
	f.Add([]byte("--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--x--\r\n"),
		"multipart/form-data; boundary=x")
	f.Fuzz(func(t *testing.T, raw []byte, contentType string) {
		for _, spec := range endpoint.Catalogue() {
			c, err := spec.Served.Parse(raw, contentType)
			if err == nil && (c.Asked < 0 || c.Asked > endpoint.MaxTokens || c.Items < 0) {
				t.Errorf("%s: Parse(%q) = %+v", spec.Type, raw, c)
			}
		}
	})
}

func TestParseCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ, body string
		want      endpoint.Call
	}{
		{
			"chat", `{"model":"m","messages":[{"role":"system","content":"a"},{"role":"user","content":[{"type":"text","text":"b c"},{"type":"image_url","image_url":{"url":"x"}}]}],"max_completion_tokens":5,"max_tokens":9,"min_tokens":2,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
			endpoint.Call{
				Model: "m", Text: "a b c", Asked: 5, Least: 2, Stream: true,
				IncludeUsage: true, UsageEach: true, Media: 1,
			},
		},
		{"completions", `{"prompt":"x"}`, endpoint.Call{Text: "x"}},
		{"completions", `{"prompt":[1,2,3]}`, endpoint.Call{IDs: []int{1, 2, 3}}},
		{"embeddings", `{"input":["x","y"],"encoding_format":"base64"}`, endpoint.Call{Text: "x y", Items: 2, Base64: true}},
		{"embeddings", `{"input":[[1,2],[3]]}`, endpoint.Call{IDs: []int{1, 2, 3}, Items: 2}},
		{"embeddings", `{"input":[4,5]}`, endpoint.Call{IDs: []int{4, 5}, Items: 1}},
		{"responses", `{"instructions":"be","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"z"}]}],"max_output_tokens":4}`, endpoint.Call{Text: "be z", Asked: 4}},
		{"kserve_v2_infer", `{"inputs":[{"name":"text_input","shape":[2,1],"datatype":"BYTES","data":["a b","c"]},{"name":"n","datatype":"INT32","data":[5]}],"parameters":{"max_tokens":4}}`, endpoint.Call{Text: "a b c", Asked: 4, Items: 2}},
		{"kserve_v2_embeddings", `{"inputs":[{"name":"text_input","shape":[2,1],"datatype":"BYTES","data":["a b","c"]}]}`, endpoint.Call{Text: "a b c", Items: 2}},
		{"nim_rankings", `{"query":{"text":"q"},"passages":[{"text":"p1"},{"text":"p2"}]}`, endpoint.Call{Text: "q p1 p2", Items: 2}},
		{"cohere_rankings", `{"query":"q","documents":["d1","d2","d3"]}`, endpoint.Call{Text: "q d1 d2 d3", Items: 3}},
	} {
		got, err := lookup(t, c.typ).Served.Parse([]byte(c.body), "application/json")
		if err != nil {
			t.Errorf("%s: Parse(%s): %v", c.typ, c.body, err)
		} else if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(endpoint.Call{}, "Fields")); diff != "" {
			t.Errorf("%s: Parse(%s) (-want +got):\n%s", c.typ, c.body, diff)
		}
	}
	for _, bad := range []string{`{`, `[]`, `{"max_tokens":-1}`, `{"max_tokens":1e12}`, `{"model":7}`} {
		if _, err := lookup(t, "chat").Served.Parse([]byte(bad), ""); err == nil {
			t.Errorf("Parse(%s) is accepted", bad)
		}
	}
}

// Every API's answers on the built-in server are read as what was written: all
// its words, its end and its usage, whole and in a stream.
func TestServedIsRead(t *testing.T) {
	t.Parallel()
	for _, spec := range endpoint.Catalogue() {
		if spec.Served.Whole == nil {
			continue // not HTTP: it has a server of its own in its test
		}
		call := endpoint.Call{Model: "m", Stream: true, IncludeUsage: true, Asked: 5, Items: 2}
		s := &endpoint.Script{
			ID: "id", N: 3, Created: 1, Call: &call, In: 4, Out: 5, Made: 5, Dims: 4,
			Usage: true, Lie: 1, Rng: rand.New(rand.NewPCG(1, 2)),
			Times: func() (float64, float64) { return 1.5, 20 },
			Words: func(b []byte, from, to int) []byte { return append(b, " a b c d e"[2*from:2*to]...) },
		}
		whole, err := spec.Read(spec.Served.Whole(nil, s), false)
		if err != nil || whole.Empty && spec.Next == nil || whole.ErrText != "" {
			t.Errorf("%s: whole answer: %+v, %v", spec.Type, whole, err)
		}
		if !spec.CanStream {
			continue
		}
		text, ended, claimed := "", false, int64(0)
		for _, data := range servedStream(spec, s) {
			c, err := spec.Read([]byte(data), true)
			if err != nil || c.ErrText != "" {
				t.Errorf("%s: event %s: %+v, %v", spec.Type, data, c, err)
			}
			if text += c.Text; c.Kind == record.Done || c.Finish != "" {
				ended = true
			}
			claimed = max(claimed, c.Usage.Completion)
		}
		if !spec.ProducesTokens {
			if !ended {
				t.Errorf("%s: the stream has no end", spec.Type)
			}
			continue
		}
		if text != " a b c d e" || whole.Text != text || !ended || claimed != 5 || whole.Usage.Completion != 5 {
			t.Errorf("%s: stream %q, ended %v, usage %d; whole %q, usage %+v", spec.Type,
				text, ended, claimed, whole.Text, whole.Usage)
		}
	}
}

// servedStream is the data of the events of a stream of single tokens.
func servedStream(spec *endpoint.Spec, s *endpoint.Script) (out []string) {
	var b []byte
	if spec.Served.Begin != nil {
		b = spec.Served.Begin(b, s)
	}
	for i := range s.Out {
		b = spec.Served.Token(b, s, i, i+1)
	}
	for line := range strings.Lines(string(spec.Served.End(b, s))) {
		if data, ok := strings.CutPrefix(line, "data:"); ok || spec.Served.Lines {
			out = append(out, strings.TrimSpace(data))
		}
	}
	return out
}
