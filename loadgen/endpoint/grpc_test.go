package endpoint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/schema"
)

func TestRPCSettings(t *testing.T) {
	t.Parallel()
	good := schema.RPC{Method: "a.B/C", Body: `{"p": {{ text|tojson }}}`, Text: "out.text", Done: "last"}
	for _, c := range []struct {
		change func(*schema.Endpoint)
		want   string
	}{
		{func(e *schema.Endpoint) { e.RPC = nil }, "it needs endpoint.rpc; hint: rpc: {method:"},
		{func(e *schema.Endpoint) { e.URLs = []string{"http://x"} }, "hint: write the address like grpc://localhost:8001"},
		{func(e *schema.Endpoint) { e.RPC.Body = "{{ text }" }, "endpoint.rpc.body: "},
		{func(e *schema.Endpoint) { e.RPC.Body = "hello {{ text }}" }, "endpoint.rpc.body: it does not make JSON but \"hello text\"; hint: write {{ text|tojson }} for a string"},
		{func(e *schema.Endpoint) { e.RPC.Body = "hello" }, "endpoint.rpc.body: no such file: hello; hint: it is the name of a file, or the template itself, which has braces"},
		{func(e *schema.Endpoint) { e.RPC.Text = "a[" }, `endpoint.rpc.text: "a[": `},
		{func(e *schema.Endpoint) { e.RPC.Text = "a[*].nofn(@)" }, `endpoint.rpc.text: "a[*].nofn(@)": there is no function nofn`},
		{func(e *schema.Endpoint) { e.RPC.Done = "b[" }, `endpoint.rpc.done: "b[": `},
		{func(e *schema.Endpoint) { e.RPC.Done = "length(b) && or(c)" }, `endpoint.rpc.done: "length(b) && or(c)": there is no function or`},
	} {
		rpc := good
		e := &schema.Endpoint{Type: "grpc", URLs: []string{"grpc://x:1", "grpcs://y:1"}, RPC: &rpc}
		if _, err := endpoint.Open(e); err != nil {
			t.Fatal(err)
		}
		c.change(e)
		if _, err := endpoint.Open(e); err == nil || !strings.Contains(diag.Line(err), c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
	spec, err := endpoint.Open(&schema.Endpoint{Type: "grpc", URLs: []string{"grpc://x:1"}, RPC: &good})
	if err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]endpoint.Chunk{
		`{"out":{"text":"a"},"last":false}`:   {Text: "a", Usage: claims.NoUsage},
		`{"out":{"text":"a"},"last":true}`:    {Text: "a", Finish: "done", Last: true, Usage: claims.NoUsage},
		`{"out":{"text":""},"last":"length"}`: {Empty: true, Finish: "done", Last: true, Usage: claims.NoUsage},
		`{}`:                                  {Empty: true, Usage: claims.NoUsage},
	} {
		c, err := spec.Read([]byte(data), true)
		if diff := cmp.Diff(want, c); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", data, err, diff)
		}
		if spec.HasContent([]byte(data)) == want.Empty {
			t.Errorf("HasContent(%s) = %v", data, want.Empty)
		}
	}
	if _, err := spec.Read([]byte(`{"other":1}`), false); err == nil ||
		!strings.Contains(err.Error(), `rpc.text out.text is not there: the answer begins "{\"other\":1}"`) {
		t.Errorf("a miss: %v", err)
	}
}

// Triton streams by gRPC alone, and marks the last answer of a decoupled model.
func TestTritonStream(t *testing.T) {
	t.Parallel()
	over := func(urls ...string) *endpoint.Spec {
		s, err := endpoint.Open(&schema.Endpoint{Type: "kserve_v2_infer", URLs: urls, Streaming: true})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := over("http://x"); s.CanStream || s.URLPath("m", false) != "/v2/models/m/infer" {
		t.Errorf("HTTP: streams %v, path %s", s.CanStream, s.URLPath("m", false))
	}
	s := over("grpc://x:1")
	if !s.CanStream || s.URLPath("m/n", true) != "/v2/models/m%2Fn/stream_infer" {
		t.Errorf("gRPC: streams %v, path %s", s.CanStream, s.URLPath("m/n", true))
	}
	for data, want := range map[string]endpoint.Chunk{
		`{"model_name":"m","outputs":[{"name":"text_output","datatype":"BYTES","shape":[1],"data":["a"]}]}`: {
			Text:  "a",
			Items: 1, Usage: claims.NoUsage,
		},
		`{"model_name":"m","parameters":{"triton_final_response":true},"outputs":[]}`: {
			Empty:  true,
			Finish: "final", Last: true, Usage: claims.NoUsage,
		},
		`{"model_name":"m","parameters":{"triton_final_response":false},"outputs":[{"name":"text_output","datatype":"BYTES","shape":[1],"data":["a"]}]}`: {
			Text:  "a",
			Items: 1, Usage: claims.NoUsage,
		},
		`{"error":"no such model"}`: {Empty: true, ErrKind: "error", ErrText: "no such model", Usage: claims.NoUsage},
	} {
		c, err := s.Read([]byte(data), true)
		if diff := cmp.Diff(want, c); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", data, err, diff)
		}
	}
}

// A path whose first name is no field of the answer is said before anything is
// sent; what only an answer can tell is not guessed.
func TestRPCLeads(t *testing.T) {
	t.Parallel()
	fields := []string{"token", "finished"}
	for _, c := range []struct{ text, done, want string }{
		{"token", "finished", ""},
		{"token.x[0].y", "", ""},
		{"tok", "finished", "endpoint.rpc.text: a.Token has no field tok; hint: its fields are token, finished"},
		{"tok[0].x", "", "endpoint.rpc.text: a.Token has no field tok; hint: its fields are token, finished"},
		{"token", "finish", "endpoint.rpc.done: a.Token has no field finish; hint: its fields are token, finished"},
		{"tok || token", "finished == null", ""},
		{"tok || toke", "", "endpoint.rpc.text: a.Token has no field tok; hint: its fields are token, finished"},
		{"length(tok)", "", "endpoint.rpc.text: a.Token has no field tok; hint: its fields are token, finished"},
		{"token[?x=='y'].z | a", "sort_by(token, &tok)", ""},
		{"join(' AST {', token[].x)", "\"finished\" && !token.tok", ""},
		{"@.tok", "", ""}, // not guessed
		{"[token, tok]", "", "endpoint.rpc.text: a.Token has no field tok; hint: its fields are token, finished"},
		{"{a: token, b: tok[0]}", "", "endpoint.rpc.text: a.Token has no field tok; hint: its fields are token, finished"},
		{"token", "finish == null", "endpoint.rpc.done: a.Token has no field finish; hint: its fields are token, finished"},
		{"token", "!finish", "endpoint.rpc.done: a.Token has no field finish; hint: its fields are token, finished"},
		{"token", "token == '' && finish", "endpoint.rpc.done: a.Token has no field finish; hint: its fields are token, finished"},
		{"token", "finished == true", "endpoint.rpc.done: a.Token has no field true; hint: in a JMESPath the value is written in backquotes: `true`"},
		{"token", "finished == `true`", ""},
	} {
		err := endpoint.RPCLeads(&schema.RPC{Text: c.text, Done: c.done}, "a.Token", fields)
		if (err != nil) != (c.want != "") || err != nil && diag.Line(err) != c.want {
			t.Errorf("%s, %s: %v, want %q", c.text, c.done, err, c.want)
		}
		if err := endpoint.RPCLeads(&schema.RPC{Text: c.text, Done: c.done}, "", nil); err != nil {
			t.Errorf("a message that nobody described: %v", err)
		}
	}
}

// What a function of JMESPath cannot take is said in JMESPath's words.
func TestPathOfAnotherKind(t *testing.T) {
	t.Parallel()
	spec, err := endpoint.Open(&schema.Endpoint{
		Type: "grpc", URLs: []string{"grpc://x:1"},
		RPC: &schema.RPC{Method: "a.B/C", Body: "{}", Text: "join(' ', out)"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `rpc.text join(' ', out): a function in it takes array[string], and gets something else: the answer begins "{\"out\":{\"a\":1}}"`
	if _, err := spec.Read([]byte(`{"out":{"a":1}}`), false); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// What a template makes of a turn is looked at before anything is sent.
func TestTemplateFits(t *testing.T) {
	t.Parallel()
	const long = `{"a": "012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789", "max_tokens": {{ max_tokens }}}`
	for _, c := range []struct {
		body string
		turn dataset.Turn
		want string
	}{
		{`{"n": {{ max_tokens }}}`, dataset.Turn{MaxTokens: 3}, ""},
		{`{"n": {{ max_tokens|tojson }}}`, dataset.Turn{}, ""},
		{`{"n": {{ max_tokens }}}`, dataset.Turn{}, `endpoint.template.body: it does not make JSON but "{\"n\": None}"; hint: None stands for a missing value, such as max_tokens without --osl`},
		{long, dataset.Turn{}, `endpoint.template.body: it does not make JSON: byte 115 of 119, in "78901234567890123456789\", \"max_tokens\": None}"; hint: None stands for`},
		{`{"s": {{ stream }}}`, dataset.Turn{}, "probe"},
		{`{"i": {{ images[0]|tojson }}}`, dataset.Turn{}, "endpoint.template.body: line 1: "},
		{`{"i": {{ images[0]|tojson }}}`, dataset.Turn{Images: []dataset.Media{{URL: "http://x"}}}, ""},
		{`{"n": {{ max_tokens }}}`, dataset.Turn{Raw: []byte("{}")}, ""},
	} {
		spec, err := endpoint.Open(&schema.Endpoint{Type: "template", Template: &schema.BodyTemplate{Body: c.body}})
		if c.want == "probe" {
			if err == nil || !strings.Contains(diag.Line(err), "hint: write {{ stream|tojson }} for true or false") {
				t.Errorf("%s: %v", c.body, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := spec.Fits(&c.turn); (err == nil) != (c.want == "") ||
			err != nil && !strings.HasPrefix(diag.Line(err), c.want) {
			t.Errorf("%s: %v\nwant %s", c.body, err, c.want)
		}
	}
	rank := lookup(t, "cohere_rankings")
	if err := rank.Fits(&dataset.Turn{Texts: []string{"x"}}); err == nil ||
		!strings.HasPrefix(diag.Line(err), "a turn without a query and passages; hint: ") {
		t.Errorf("a turn that ranks nothing: %v", err)
	}
}
