package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/tokenizer/remote"
)

// words counts as the servers below do: by words.
func words(s string) []int {
	ids := make([]int, len(strings.Fields(s)))
	for i := range ids {
		ids[i] = 100 + i
	}
	return ids
}

// speak is a server that knows one form only; others it answers as the real
// one does.
func speak(t *testing.T, form string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var in struct {
			Model, Prompt, Content, Inputs *string
			Special                        *bool `json:"add_special_tokens"`
		}
		if json.Unmarshal(raw, &in) != nil || r.URL.Path != "/tokenize" || r.Method != http.MethodPost ||
			r.Header.Get("Authorization") != "Bearer k" {
			http.Error(w, "no", http.StatusNotFound)
			return
		}
		switch {
		case form == "vllm" && in.Prompt != nil && *in.Model == "m" && in.Special != nil && !*in.Special:
			_ = json.NewEncoder(w).Encode(map[string]any{
				"count":         len(words(*in.Prompt)),
				"max_model_len": 9, "tokens": words(*in.Prompt),
			})
		case form == "llama" && in.Content == nil:
			fmt.Fprint(w, `{"tokens":[]}`)
		case form == "llama":
			_ = json.NewEncoder(w).Encode(map[string]any{"tokens": words(*in.Content)})
		case form == "tgi" && in.Inputs != nil:
			list := []map[string]any{{"id": 1, "text": "<s>", "start": 0, "stop": 0}}
			for i, id := range words(*in.Inputs) {
				list = append(list, map[string]any{"id": id, "text": "x", "start": i, "stop": i + 1})
			}
			_ = json.NewEncoder(w).Encode(list)
		default:
			http.Error(w, "unprocessable", http.StatusUnprocessableEntity)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

var key = http.Header{"Authorization": {"Bearer k"}}

// Each family of servers is asked in its own way, and counts alike.
func TestForms(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"vllm", "llama", "tgi"} {
		s := speak(t, form)
		tok, err := remote.Open(context.Background(), s.Client(), s.URL+"/v1/", key, "m")
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		for text, want := range map[string]int{"one two three": 3, "": 0, "one": 1} {
			if got := tok.Count(text); got != want || len(tok.Encode(nil, text)) != want {
				t.Errorf("%s: Count(%q) = %d, want %d", form, text, got, want)
			}
		}
		if said := tok.Compare("mine", func(s string) int { return len(strings.Fields(s)) }); said != "" {
			t.Errorf("%s: agreeing counts: %q", form, said)
		}
		if said := tok.Compare("mine", func(string) int { return 7 }); !strings.HasPrefix(said,
			"tokens counted with mine, not the server's tokenizer: one text has 7 tokens by the first, 14 by the server") {
			t.Errorf("%s: disagreeing counts: %q", form, said)
		}
		s.Close()
		if tok.Count("never asked before"); tok.Err() == nil {
			t.Errorf("%s: a server that is gone counts", form)
		}
	}
}

// A server without the route, and one that answers nonsense, say so.
func TestNone(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"an object": `{"a":1}`, "a page": `<html>`, "texts": `{"tokens":["a"]}`,
		"nothing": ``,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w,
				answer)
		}))
		_, err := remote.Open(context.Background(), s.Client(), s.URL, http.Header{}, "m")
		s.Close()
		if !errors.Is(err, remote.ErrNone) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	if _, err := remote.Open(context.Background(), s.Client(), s.URL, http.Header{}, "m"); !errors.Is(err,
		remote.ErrNone) || !strings.Contains(err.Error(), "HTTP 404") {
		t.Errorf("not found: %v", err)
	}
	if _, err := remote.Open(context.Background(), s.Client(), "http://", http.Header{}, "m"); err == nil {
		t.Error("an address without a host was taken")
	}
}
