package endpoint_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/schema"
)

// says is a program that answers everything alike.
func says(line string) func(question map[string]any, answer any) error {
	return func(_ map[string]any, answer any) error { return json.Unmarshal([]byte(line), answer) }
}

func opened(t *testing.T, ask func(question map[string]any, answer any) error) *endpoint.Spec {
	t.Helper()
	s, err := endpoint.Open(&schema.Endpoint{Type: "plugin", Plugin: "testdata/plugin", Streaming: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Ask = ask
	return s
}

func TestProgramReads(t *testing.T) {
	t.Parallel()
	usage := claims.NoUsage
	usage.Prompt, usage.Completion = 3, 2
	for said, want := range map[string]endpoint.Chunk{
		`{"text": "a", "reasoning": "r"}`:  {Text: "a", Reasoning: "r", Usage: claims.NoUsage},
		`{"reasoning": "r"}`:               {Kind: record.Reasoning, Text: "r", Usage: claims.NoUsage},
		`{"finish": "stop", "last": true}`: {Empty: true, Finish: "stop", Last: true, Usage: claims.NoUsage},
		`{"usage": {"prompt_tokens": 3, "completion_tokens": 2}}`: {
			Kind: record.Usage, Empty: true, Usage: usage,
		},
		`{"failed": "out of memory"}`: {Empty: true, ErrKind: "server", ErrText: "out of memory", Usage: claims.NoUsage},
		`{}`:                          {Empty: true, Usage: claims.NoUsage},
	} {
		got, err := opened(t, says(said)).Read([]byte(`{"x":1}`), true)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", said, err, diff)
		}
	}
	none := func(map[string]any, any) error { return errors.New("plug-in echo: its program ended") }
	if c, err := opened(t, none).Read([]byte(" [DONE] "), true); err != nil || c.Kind != record.Done {
		t.Errorf("the usual end mark: %+v, %v", c, err)
	}
	for ask, want := range map[*endpoint.Spec]string{
		opened(t, none):       "plug-in echo: its program ended",
		opened(t, nil):        "no program runs",
		opened(t, says(`{}`)): "the program found no text: the answer begins",
	} {
		if c, err := ask.Read([]byte(`{"x":1}`), false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v, %v; want %s", c, err, want)
		}
	}
}

func TestProgramMakesBodies(t *testing.T) {
	t.Parallel()
	in := func() *endpoint.Input {
		return &endpoint.Input{Model: "m", Turn: &dataset.Turn{Texts: []string{"a"}}, Extra: schema.MembersOf("k", 1)}
	}
	got, err := opened(t, says(`{"body": {"q": "a"}}`)).Request([]byte("x"), in())
	if err != nil || string(got) != `x{"q":"a","k":1}` {
		t.Errorf("%s, %v", got, err)
	}
	for ask, want := range map[*endpoint.Spec]string{
		opened(t, nil):                   "no program runs",
		opened(t, says(`{}`)):            "the program made no body",
		opened(t, says(`{"body": [1]}`)): "extra inputs need a body that is an object",
	} {
		if _, err := ask.Request(nil, in()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

func TestProgramIsConfigured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e    schema.Endpoint
		want string
	}{
		{schema.Endpoint{Type: "plugin"}, "it needs endpoint.plugin"},
		{schema.Endpoint{Type: "plugin", Plugin: "testdata/nothing"}, "no such plug-in"},
		{
			schema.Endpoint{Type: "plugin", Plugin: "../../examples/plugins/close-enough"},
			"is of kind grader, and kind endpoint is wanted",
		},
		{
			schema.Endpoint{Type: "plugin", Plugin: "testdata/whole", Streaming: true},
			"plug-in whole reads no streams",
		},
	} {
		_, err := endpoint.Open(&c.e)
		if err == nil || !strings.Contains(err.Error(), c.want) || diag.Of(err).Hint == "" {
			t.Errorf("%+v: %v, want %s", c.e, err, c.want)
		}
	}
	s, err := endpoint.Open(&schema.Endpoint{Type: "plugin", Plugin: "testdata/whole"})
	if err != nil || s.CanStream || s.Path != "/v1/whole" {
		t.Fatalf("%+v, %v", s, err)
	}
	s.Ask = func(map[string]any, any) error { return errors.New("asked") } // it reads here
	if c, err := s.Read([]byte(`{"out": {"said": "a"}}`), false); err != nil || c.Text != "a" {
		t.Errorf("%+v, %v", c, err)
	}
}
