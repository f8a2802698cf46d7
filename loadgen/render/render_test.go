package render

import (
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

func renderer(t *testing.T, change func(*schema.Endpoint)) *Renderer {
	t.Helper()
	spec, ok := endpoint.Lookup("chat")
	if !ok {
		t.Fatal("no chat endpoint")
	}
	e := schema.Endpoint{Type: "chat", Streaming: true}
	if change != nil {
		change(&e)
	}
	r, err := New(&e, schema.Models{Items: []schema.Model{{Name: "m"}}}, spec, nil)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return r
}

var talk = dataset.Conversation{ID: "c1", System: "be kind", Turns: []dataset.Turn{
	{Texts: []string{"one", "more"}}, {Role: "tool", Texts: []string{"two"}}, {Texts: []string{"three"}},
}}

// What is kept for people is what goes on the wire, but for the turns before it,
// whose answers nobody knows beforehand: one message a turn, as in AIPerf's file.
func TestBodiesAreWhatIsSent(t *testing.T) {
	t.Parallel()
	r := renderer(t, nil)
	k := NewKeys(7, 7, "profiling")
	s := r.Open(k, &talk, 3)
	shown := r.Bodies(k, &talk, 3)
	if len(shown) != 3 {
		t.Fatalf("%d bodies, want 3", len(shown))
	}
	history := ""
	for i := range talk.Turns {
		var x transport.Exchange
		if turn := r.Render(k, &s, i, &x); turn.Err != nil || turn.ISL != record.None {
			t.Fatalf("Render: %+v", turn)
		}
		sent := string(x.Body)
		sent = strings.Replace(sent, history, "", 1)
		if sent != string(shown[i]) {
			t.Errorf("turn %d:\nsent  %s\nshown %s", i, x.Body, shown[i])
		}
		s.Answered(i, endpoint.Message{Role: "assistant", Content: "said"})
		history += []string{
			`{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"more"}]},`,
			`{"role":"tool","content":"two"},`, "",
		}[i] +
			`{"role":"assistant","content":"said"},`
	}
	if last := string(shown[2]); !strings.Contains(last, `"include_usage":true`) ||
		!strings.Contains(last, "be kind") || strings.Contains(last, "one") || strings.Contains(last, "two") {
		t.Errorf("usage option or system prompt are missing, or earlier turns are there: %s", last)
	}
}

func TestHeaderPlaceholders(t *testing.T) {
	t.Parallel()
	r := renderer(t, func(e *schema.Endpoint) {
		e.APIKey = "k{turn}"
		e.Headers = schema.Headers{
			{Name: "X-A", Value: "a {request_id}{turn} {"}, {Name: "X-B", Value: "{unknown} {model}"}, {Name: "X-C", Value: "{conversation_id}/{session_id}"},
		}
	})
	k := NewKeys(7, 7, "profiling")
	header := func(index int64, turn int) (string, Turn, Session) {
		c := talk
		c.ID = "c\r\nX-Evil: 1"
		s := r.Open(k, &c, index)
		var x transport.Exchange
		got := r.Render(k, &s, turn, &x)
		return string(x.Header), got, s
	}
	got, turn, s := header(3, 1)
	want := "X-Request-ID: " + turn.RequestID + "\r\nX-Correlation-ID: " + s.ID + "\r\n" +
		"X-A: a " + turn.RequestID + "1 {\r\nX-B: {unknown} m\r\nX-C: cX-Evil: 1/" + s.ID + "\r\n" +
		"Authorization: Bearer k{turn}\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nX-Session-Affinity: " + s.ID + "\r\n"
	if got != want {
		t.Errorf("header\n%q\nwant\n%q", got, want)
	}
	if again, _, _ := header(3, 1); again != got {
		t.Error("the same request has another header")
	}
	r = renderer(t, func(e *schema.Endpoint) {
		e.Headers = schema.Headers{
			{Name: "x-request-id", Value: "mine"},
			{Name: "X-Session-Affinity", Value: "pod-1"},
			{Name: "X-CORRELATION-ID", Value: "c"},
		}
	})
	if got, _, _ := header(3, 1); got != "x-request-id: mine\r\nX-Session-Affinity: pod-1\r\nX-CORRELATION-ID: c\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\n" {
		t.Errorf("the user's own: %q", got)
	}
	if other, _, _ := header(4, 1); other == got {
		t.Error("another session has the same header")
	}
	if got := Literal(&schema.Endpoint{Headers: schema.Headers{
		{Name: "B", Value: "{turns} {\"a\"}"},
		{Name: "A", Value: "{request_id} {x_y}{turns} {X}"},
	}}); !slices.Equal(got, []string{"{turns}", "{x_y}"}) {
		t.Errorf("sent as they stand: %q", got)
	}
	if len(Placeholders()) != len(placeholders) {
		t.Error("Placeholders does not list all")
	}
}

// A session keeps its model, whichever way models are chosen, and the shares
// are those that were asked for.
func TestModelsBySession(t *testing.T) {
	t.Parallel()
	weight := func(w float64) *float64 { return &w }
	items := []schema.Model{{Name: "a", Weight: weight(3)}, {Name: "b", Weight: weight(1)}}
	for strategy, share := range map[string]float64{"round_robin": 0.5, "random": 0.5, "weighted": 0.75} {
		spec, _ := endpoint.Lookup("chat")
		r, err := New(&schema.Endpoint{Type: "chat"}, schema.Models{Items: items, Strategy: strategy}, spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		k := NewKeys(7, 7, "profiling")
		const sessions = 4000
		ofA := 0
		for i := range int64(sessions) {
			s := r.Open(k, &talk, i)
			var x transport.Exchange
			for turn := range talk.Turns {
				if got := r.Render(k, &s, turn, &x); got.Model != s.Model {
					t.Fatalf("%s: session %d, turn %d: model %s after %s", strategy, i, turn, got.Model, s.Model)
				}
				s.Answered(turn, endpoint.Message{Role: "assistant", Content: "said"})
			}
			if s.Model == "a" {
				ofA++
			}
		}
		if got := float64(ofA) / sessions; got < share-0.03 || got > share+0.03 { // over 4 standard deviations
			t.Errorf("%s: %.3f of the sessions have model a, want %v", strategy, got, share)
		}
	}
}

// A user's own path goes out as a request line may hold it.
func TestPathIsVisible(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"/p?x=1#part": "/p?x=1", "/a%2Fb/ü?k=é": "/a%2Fb/%C3%BC?k=%C3%A9", "no/slash/": "/no/slash/", "/e/{model}/i": "/e/m/i",
	} {
		r := renderer(t, func(e *schema.Endpoint) { e.Path = said })
		if got := r.Path("m", true); got != want {
			t.Errorf("Path of %q: %q, want %q", said, got, want)
		}
	}
}

// What the server has to read is counted in bodies that the dataset holds ready,
// too, and nothing where there is no text.
func TestTokensOfReadyBodies(t *testing.T) {
	t.Parallel()
	r := renderer(t, nil)
	r.Tokenizer = datasettest.Bytes{}
	k := NewKeys(7, 7, "profiling")
	for _, c := range []struct {
		turn dataset.Turn
		want int64 // bytes
	}{
		{dataset.Turn{Raw: []byte(`{"model":"m","messages":[{"role":"system","content":"be kind"},{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"http://h/a.png"}}]}]}`)}, 10},
		{dataset.Turn{Raw: []byte(`{"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type": "object"}}}],"messages":[{"role":"user","content":"u"}]}`)}, int64(len(`u f d {"type":"object"}`))},
		{dataset.Turn{Raw: []byte(`{"messages":[{"role":"user","content":"u"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}]}`)}, int64(len(`u f {} r`))},
		{dataset.Turn{Raw: []byte(`{"prompt":["a","bc"],"model":"m"}`)}, 4},
		{dataset.Turn{Raw: []byte(`{"input":"abc","instructions":"do"}`)}, 6},
		{dataset.Turn{Raw: []byte(`{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"abc"}]}]}`)}, 3},
		{dataset.Turn{Raw: []byte(`{"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"u"}]}`)}, 3},
		{dataset.Turn{Raw: []byte(`{"query":{"text":"q"},"passages":[{"text":"p"},{"text":"r"}]}`)}, 5},
		{dataset.Turn{Raw: []byte(`{"query":"q","documents":["p"]}`)}, 3},
		{dataset.Turn{Raw: []byte(`{"inputs":"abc","parameters":{"stop":["x"]}}`)}, 3},
		{dataset.Turn{Raw: []byte(`{"input":[[1,2,3],[4]]}`)}, 4},
		{dataset.Turn{Raw: []byte(`{"prompt":[1,2,3]}`)}, 3},
		{dataset.Turn{Raw: []byte(`{"model":"m","n":3}`)}, record.None},
		{dataset.Turn{Raw: []byte("\x00\x01 no JSON")}, record.None},
		{dataset.Turn{Images: []dataset.Media{{URL: "http://h/a.png"}}}, record.None},
		{dataset.Turn{Complete: true, Messages: []byte(`[{"role":"system","content":"a"},{"role":"user","content":"u"}]`)}, 3},
	} {
		conversation := dataset.Conversation{Turns: []dataset.Turn{c.turn, c.turn}}
		s := r.Open(k, &conversation, 0)
		for i := range conversation.Turns {
			var x transport.Exchange
			if got := r.Render(k, &s, i, &x); got.ISL != c.want {
				t.Errorf("turn %d of %s: %d tokens (%v), want %d", i, c.turn.Raw, got.ISL, got.Err, c.want)
			}
		}
	}
}
