package render

import (
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
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

// What is kept for people is what goes on the wire: the same bytes but for the
// answers, which nobody knows beforehand.
func TestBodiesAreWhatIsSent(t *testing.T) {
	t.Parallel()
	r := renderer(t, nil)
	k := NewKeys(7, 7, "profiling")
	s := r.Open(k, &talk, 3)
	shown := r.Bodies(k, &talk, 3)
	if len(shown) != 3 {
		t.Fatalf("%d bodies, want 3", len(shown))
	}
	for i := range talk.Turns {
		var x transport.Exchange
		if turn := r.Render(k, &s, i, &x); turn.Err != nil || turn.ISL != record.None {
			t.Fatalf("Render: %+v", turn)
		}
		sent := string(x.Body)
		for range i {
			sent = strings.Replace(sent, `,{"role":"assistant","content":"said"}`, "", 1)
		}
		if sent != string(shown[i]) {
			t.Errorf("turn %d:\nsent  %s\nshown %s", i, x.Body, shown[i])
		}
		s.Answered(i, "said", nil)
	}
	if last := string(shown[2]); !strings.Contains(last, `"include_usage":true`) || !strings.Contains(last, "one") || !strings.Contains(last, `"role":"tool"`) {
		t.Errorf("usage option, earlier texts or roles are missing: %s", last)
	}
}

func TestHeaderPlaceholders(t *testing.T) {
	t.Parallel()
	r := renderer(t, func(e *schema.Endpoint) {
		e.APIKey = "k{turn}"
		e.Headers = map[string]string{"X-A": "a {request_id}{turn} {", "X-B": "{unknown} {model}", "X-C": "{conversation_id}/{session_id}"}
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
		"Authorization: Bearer k{turn}\r\nX-Session-Affinity: " + s.ID + "\r\n"
	if got != want {
		t.Errorf("header\n%q\nwant\n%q", got, want)
	}
	if again, _, _ := header(3, 1); again != got {
		t.Error("the same request has another header")
	}
	r = renderer(t, func(e *schema.Endpoint) {
		e.Headers = map[string]string{"x-request-id": "mine", "X-Session-Affinity": "pod-1", "X-CORRELATION-ID": "c"}
	})
	if got, _, _ := header(3, 1); got != "X-CORRELATION-ID: c\r\nX-Session-Affinity: pod-1\r\nx-request-id: mine\r\n" {
		t.Errorf("the user's own: %q", got)
	}
	if other, _, _ := header(4, 1); other == got {
		t.Error("another session has the same header")
	}
	if got := Literal(&schema.Endpoint{Headers: map[string]string{"B": "{turns} {\"a\"}", "A": "{request_id} {x_y}{turns} {X}"}}); !slices.Equal(got, []string{"{x_y}", "{turns}"}) {
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
				s.Answered(turn, "said", nil)
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
