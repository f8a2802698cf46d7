package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/chat"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// talk starts a chat with a server whose chats are answered by h.
func talk(t *testing.T, h http.HandlerFunc, change func(*chat.Config)) *chat.Chat {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Open("builtin")
	if err != nil {
		t.Fatal(err)
	}
	cfg := chat.Config{Server: at, Model: "demo", Tokenizer: tok}
	if change != nil {
		change(&cfg)
	}
	return chat.New(cfg)
}

func delta(member, text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return `data: {"choices":[{"index":0,"delta":{"` + member + `":` + string(b) + `}}]}` + "\n\n"
}

func stream(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		io.WriteString(w, e)
		w.(http.Flusher).Flush()
	}
}

// Each message goes out behind all that was said, and each answer has its figures.
func TestConversation(t *testing.T) {
	t.Parallel()
	var got []string
	h := func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(b))
		stream(w, delta("reasoning_content", "Well"), delta("content", "Good "), delta("content", "day"),
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n",
			`data: {"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":16},`+
				`"completion_tokens_details":{"reasoning_tokens":3}}}`+"\n\n", "data: [DONE]\n\n")
	}
	for _, forgets := range []bool{false, true} {
		got = nil
		c := talk(t, h, func(c *chat.Config) { c.System, c.Key, c.Forgets = "Be brief", "key-of-a-person", forgets })
		var shown strings.Builder
		for _, text := range []string{"Hello", "And?"} {
			a, err := c.Say(t.Context(), text, func(p string) { shown.WriteString(p) })
			if err != nil {
				t.Fatal(err)
			}
			if a.Text != "Good day" || a.Tokens != 5 || a.Reasoning != 3 || a.Prompt != 20 || a.Cached != 16 || a.Cut ||
				a.First <= 0 || a.Latency < a.First {
				t.Errorf("answer %+v", a)
			}
			if line := a.Line(); !strings.HasPrefix(line, "TTFT ") ||
				!strings.HasSuffix(line, " · 5 tokens, 3 of them reasoning · 20 tokens in, 16 of them cached") {
				t.Errorf("line %q", line)
			}
		}
		if shown.String() != "Well\n\nGood dayWell\n\nGood day" {
			t.Errorf("shown %q", &shown)
		}
		system, first := `{"role":"system","content":"Be brief"}`, `{"role":"user","content":"Hello"},{"role":"assistant","content":"Good day"},`
		if forgets {
			first = ""
		}
		want := `/v1/chat/completions Bearer key-of-a-person {"messages":[` + system + "," + first +
			`{"role":"user","content":"And?"}],"model":"demo","stream":true,"stream_options":{"include_usage":true}}`
		if len(got) != 2 || got[1] != want {
			t.Errorf("the second request is %s, want %s", got[1], want)
		}
		line, err := format.Line(c.Conversation("x"))
		if want := `{"session_id":"x","system":"Be brief","turns":[{"texts":["Hello"],"output_length":5},{"texts":["And?"],"output_length":5}]}`; err != nil ||
			string(line) != want {
			t.Errorf("kept as %s, %v, want %s", line, err, want)
		}
	}
}

// Nothing that moves a cursor, changes a title or turns the direction of writing reaches the
// terminal, in one piece or in several.
func TestControlSequencesStayOut(t *testing.T) {
	t.Parallel()
	evil := "a\x1b[2Jb\x1b]0;title\x07c\x9b31md\re\u202ef\bg\x00h\x1bPq\x1b\\i"
	var pieces []string
	for _, r := range evil {
		pieces = append(pieces, delta("content", string(r)))
	}
	for name, events := range map[string][]string{"whole": {delta("content", evil)}, "a character each": pieces} {
		c := talk(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, append(events, "data: [DONE]\n\n")...) }, nil)
		var shown strings.Builder
		if _, err := c.Say(t.Context(), "Hello", func(p string) { shown.WriteString(p) }); err != nil {
			t.Fatal(err)
		}
		for _, r := range shown.String() {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u202e' {
				t.Errorf("%s: %q reaches the terminal", name, shown.String())
			}
		}
	}
	c := talk(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, "{\"error\":{\"message\":\"no\x1b[2J way\\u001b[31m\"}}")
	}, nil)
	if _, err := c.Say(t.Context(), "Hello", nil); err == nil || strings.ContainsRune(err.Error(), '\x1b') {
		t.Errorf("error %q", err)
	}
}

// What goes wrong is one line, without the key; the conversation stays as it was.
func TestThingsThatGoWrong(t *testing.T) {
	t.Parallel()
	const key = "key-5d41402abc4b2a76b9719d911017c592"
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"refused": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, `{"error":{"message":"bad key `+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+`"}}`, http.StatusUnauthorized)
		}, "the server answered 401: bad key ***"},
		"a page": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }, "the answer begins"},
		"moved": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusTemporaryRedirect)
		}, "the server answered 307"},
		"nothing": {func(w http.ResponseWriter, _ *http.Request) { stream(w, "data: [DONE]\n\n") }, "the answer has no text"},
		"an error": {func(w http.ResponseWriter, _ *http.Request) {
			stream(w, delta("content", "a"), "data: {\"error\":{\"message\":\"out of memory\"}}\n\n")
		}, "the server broke the answer off: out of memory"},
		"broken off": {func(w http.ResponseWriter, _ *http.Request) {
			stream(w, delta("content", "a"))
			panic(http.ErrAbortHandler)
		}, "closed before the end"},
		"an event without end": {func(w http.ResponseWriter, _ *http.Request) {
			stream(w, "data: "+strings.Repeat("a", 5<<20))
		}, "longer than the limit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fails := true
			var last string
			ch := talk(t, func(w http.ResponseWriter, r *http.Request) {
				if fails {
					c.h(w, r)
					return
				}
				b, _ := io.ReadAll(r.Body)
				last = string(b)
				stream(w, delta("content", "Fine"), "data: [DONE]\n\n")
			}, func(c *chat.Config) { c.Key = key })
			_, err := ch.Say(t.Context(), "Hello", func(string) {})
			if said := fmt.Sprint(err); !strings.Contains(said, c.want) || strings.Contains(said, key) ||
				strings.Contains(said, "\n") {
				t.Errorf("%s, want %q in it", said, c.want)
			}
			fails = false
			if _, err := ch.Say(t.Context(), "Again", func(string) {}); err != nil || strings.Contains(last, "Hello") {
				t.Errorf("%v; then sent %s", err, last)
			}
		})
	}
}

// An answer that is ended is one as far as it came.
func TestEndedEarly(t *testing.T) {
	t.Parallel()
	c := talk(t, func(w http.ResponseWriter, r *http.Request) {
		stream(w, delta("content", "Good"))
		<-r.Context().Done()
	}, nil)
	ctx, end := context.WithCancel(t.Context())
	a, err := c.Say(ctx, "Hello", func(string) { end() })
	if err != nil || a.Text != "Good" || !a.Cut || !strings.HasSuffix(a.Line(), "ended early") {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := c.Say(ctx, "Hello", func(string) {}); err == nil {
		t.Error("an answer that had not begun is one")
	}
}

// The server's address may end with /v1 or with the page of the API.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, tail := range []string{"", "/", "/v1", "/v1/", "/v1/chat/completions", "/base/v1"} {
		var paths []string
		c := talk(t, func(w http.ResponseWriter, r *http.Request) {
			paths = append(paths, strings.TrimPrefix(r.URL.Path, "/base"))
			if r.Method == http.MethodGet {
				io.WriteString(w, `{"data":[{"id":"one"},{"id":""},{"id":"two"}]}`)
				return
			}
			stream(w, delta("content", "Good"), "data: [DONE]\n\n")
		}, func(c *chat.Config) { c.Server = c.Server.JoinPath(tail) })
		models, err := c.Models(t.Context())
		if err != nil || strings.Join(models, " ") != "one two" {
			t.Errorf("%s: models %q, %v", tail, models, err)
		}
		if _, err := c.Say(t.Context(), "Hello", func(string) {}); err != nil {
			t.Errorf("%s: %v", tail, err)
		}
		if strings.Join(paths, " ") != "/v1/models /v1/chat/completions" {
			t.Errorf("%s: asked %q", tail, paths)
		}
	}
}
