package capture_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/capture"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// proxy is a capture that runs for one test.
type proxy struct {
	url, file string
	end, hard context.CancelFunc
	over      chan struct{}
	sum       capture.Summary
	err       error
}

// start puts a capture in front of a server.
func start(t *testing.T, to string, change func(o *capture.Options)) *proxy {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Open("builtin")
	if err != nil {
		t.Fatal(err)
	}
	o := capture.Options{
		To: u, File: filepath.Join(t.TempDir(), "trace.jsonl"), Text: capture.Hash, Block: 16, Tokenizer: tok,
	}
	if change != nil {
		change(&o)
	}
	c, err := capture.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	issue, end := context.WithCancel(t.Context())
	hard, kill := context.WithCancel(t.Context())
	p := &proxy{url: "http://" + l.Addr().String(), file: o.File, end: end, hard: kill, over: make(chan struct{})}
	go func() {
		defer close(p.over)
		p.sum, p.err = c.Serve(issue, hard, l)
	}()
	t.Cleanup(func() { end(); kill(); <-p.over })
	return p
}

// stop ends it, once all answers are over, and reads what was recorded.
func (p *proxy) stop(t *testing.T) []line {
	t.Helper()
	p.end()
	<-p.over
	if p.err != nil {
		t.Fatalf("Serve: %v", p.err)
	}
	return p.lines(t)
}

// said is the summary as it is printed.
func (p *proxy) said() string {
	var b strings.Builder
	p.sum.Print(&b)
	return b.String()
}

type line struct {
	Timestamp float64
	Session   string  `json:"session_id"`
	In        int64   `json:"input_length"`
	Out       int64   `json:"output_length"`
	Blocks    []int64 `json:"hash_ids"`
	Text      string  `json:"text_input"`
	Messages  json.RawMessage
	Tools     json.RawMessage
	Payload   json.RawMessage
	Extra     json.RawMessage
	Capture   struct {
		API, Model, Broken string
		Stream             bool
		In                 int64   `json:"input_tokens"`
		Blocks             []int64 `json:"hash_ids"`
		Prompt             int64   `json:"prompt_tokens"`
		Output             int64   `json:"completion_tokens"`
		Status             int
		Finish             string   `json:"finish_reason"`
		First              *float64 `json:"ttft_ms"`
		Latency            float64  `json:"latency_ms"`
		Events             int64
	}
}

func (p *proxy) lines(t *testing.T) (out []line) {
	t.Helper()
	b, err := os.ReadFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	for text := range bytes.Lines(b) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		out = append(out, l)
	}
	return out
}

// post sends a chat and returns the status and the answer.
func post(t *testing.T, address, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

const chatPath = "/v1/chat/completions"

func chat(stream bool, said ...string) string {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var list []message
	for i, s := range said {
		list = append(list, message{[]string{"user", "assistant"}[i%2], s})
	}
	b, err := json.Marshal(map[string]any{"model": "demo", "messages": list, "stream": stream})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// serve is a server that answers every request of the API by h.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

const answerText = `{"choices":[{"index":0,"message":{"role":"assistant","content":"Good day to you"},"finish_reason":"stop"}]}`

func says(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, answerText)
}

func event(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return `data: {"choices":[{"index":0,"delta":{"content":` + string(b) + `}}]}` + "\n\n"
}

// What the built-in server counts is what the trace says, and the trace is read back.
func TestLengthsAreTheServers(t *testing.T) {
	t.Parallel()
	cfg, err := mockserver.ParseWords([]string{"ttft=1ms", "itl=0s", "usage=on", "cache=1000", "model=demo"})
	if err != nil {
		t.Fatal(err)
	}
	s := mockserver.New(cfg)
	to, err := s.Start(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	p := start(t, to, nil)
	long := strings.Repeat("The quiet river carried boats past the mill. ", 12)
	for _, stream := range []bool{true, false} {
		post(t, p.url+chatPath, chat(stream, long))
		post(t, p.url+chatPath, chat(stream, long, "Good day to you", "And what was in them?"))
	}
	post(t, p.url+"/v1/completions", `{"model":"demo","prompt":"Once upon a time","max_tokens":7}`)
	post(t, p.url+"/v1/embeddings", `{"model":"demo","input":"Once upon a time"}`)
	got := p.stop(t)
	if len(got) != 6 {
		t.Fatalf("%d lines, want 6", len(got))
	}
	for i, l := range got {
		if l.In == 0 || l.In != l.Capture.Prompt || l.Out != l.Capture.Output || l.Capture.Status != 200 {
			t.Errorf("line %d: %+v", i, l)
		}
		if want := (l.In + 15) / 16; int64(len(l.Blocks)) != want {
			t.Errorf("line %d: %d tokens in %d blocks, want %d", i, l.In, len(l.Blocks), want)
		}
		if l.Capture.Stream != (i < 2) {
			t.Errorf("line %d: stream %v", i, l.Capture.Stream)
		}
	}
	if got[4].Out != 7 || got[5].Out != 0 || got[5].Capture.API != "embeddings" {
		t.Errorf("completions and embeddings: %+v, %+v", got[4], got[5])
	}
	if first, later := got[0].Blocks, got[1].Blocks; !slices.Equal(first[:len(first)-1], later[:len(first)-1]) ||
		slices.Contains(later, first[len(first)-1]) {
		t.Errorf("blocks of a first turn %v, of the second %v: want all equal but the last, a part", first, later)
	}
	if n := got[1].Capture.First; n == nil || *n <= 0 || *n > got[1].Capture.Latency {
		t.Errorf("TTFT %v of a latency of %v ms", n, got[1].Capture.Latency)
	}
	trace, err := format.ReadTrace(t.Context(), p.file, "", 0)
	if err != nil || trace.Block != 16 || len(trace.Rows) != 6 || trace.Rows[1].In != got[1].In ||
		len(trace.Notes) > 0 {
		t.Errorf("read back: %+v, %v", trace, err)
	}
}

// A piece of an answer is at the client before the server has made the next one, encoded
// or not: nothing waits for more.
func TestNothingIsHeldBack(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"", "gzip"} {
		t.Run("encoding "+encoding, func(t *testing.T) {
			t.Parallel()
			more := make(chan struct{})
			to := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				var out io.Writer = w
				flush := func() {}
				if encoding != "" {
					w.Header().Set("Content-Encoding", encoding)
					z := gzip.NewWriter(w)
					defer z.Close()
					out, flush = z, func() { z.Flush() }
				}
				for _, piece := range []string{"Good ", "day ", "to you"} {
					io.WriteString(out, event(piece))
					flush()
					w.(http.Flusher).Flush()
					<-more
				}
				io.WriteString(out, "data: [DONE]\n\n")
			})
			p := start(t, to, nil)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+chatPath,
				strings.NewReader(chat(true, "Hello")))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Accept-Encoding", "gzip") // and it is not decoded on the way here
			r, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			if got := r.Header.Get("Content-Encoding"); got != encoding {
				t.Fatalf("Content-Encoding %q, want %q", got, encoding)
			}
			body := io.Reader(r.Body)
			if encoding != "" {
				if body, err = gzip.NewReader(r.Body); err != nil {
					t.Fatal(err)
				}
			}
			for _, piece := range []string{"Good ", "day ", "to you"} {
				buf := make([]byte, len(event(piece)))
				if _, err := io.ReadFull(body, buf); err != nil || string(buf) != event(piece) {
					t.Fatalf("%q, %v, want the event %q", buf, err, piece)
				}
				more <- struct{}{}
			}
			if rest, err := io.ReadAll(body); err != nil || string(rest) != "data: [DONE]\n\n" {
				t.Fatalf("%q, %v, want the end mark", rest, err)
			}
			if got := p.stop(t); len(got) != 1 || got[0].Out != 4 || got[0].Capture.Events != 3 {
				t.Errorf("%+v, want 4 tokens in 3 events", got)
			}
		})
	}
}

// Bytes, status and header lines pass unchanged in both directions.
func TestPassesUnchanged(t *testing.T) {
	t.Parallel()
	blob := make([]byte, 300<<10)
	rand.Read(blob)
	to := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", fmt.Sprintf("%s %s %v %v %s", r.Method, r.RequestURI, bytes.Equal(got, blob), err,
			r.Header.Get("Authorization")))
		w.Header().Set("X-Forwarded", r.Header.Get("X-Forwarded-For")+r.Header.Get("X-Forwarded-Host"))
		w.WriteHeader(http.StatusTeapot)
		w.Write(blob)
	})
	p := start(t, to+"/base", nil)
	for _, path := range []string{chatPath, "/elsewhere"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+path+"?a=b%20c&d", bytes.NewReader(blob))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer secret-of-a-client")
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || !bytes.Equal(got, blob) || r.StatusCode != http.StatusTeapot {
			t.Errorf("%s: status %d, %d bytes, %v", path, r.StatusCode, len(got), err)
		}
		if seen, want := r.Header.Get("X-Seen"), "POST /base"+path+"?a=b%20c&d true <nil> Bearer secret-of-a-client"; seen != want {
			t.Errorf("%s: the server saw %q, want %q", path, seen, want)
		}
		if added := r.Header.Get("X-Forwarded"); added != "" {
			t.Errorf("%s: the proxy added %q", path, added)
		}
	}
	if got := p.stop(t); len(got) != 0 {
		t.Errorf("recorded %+v, want nothing of what is not JSON", got)
	}
	if said := p.said(); !strings.Contains(said, "not recorded, body is not a JSON object: 1 request") ||
		!strings.Contains(said, "1 request of other pages passed") {
		t.Errorf("summary: %s", said)
	}
}

// What header lines, addresses and texts say that is a secret is in no file.
func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	const (
		token  = "tok-5d41402abc4b2a76b9719d911017c592"
		cookie = "session=9b74c9897bac770ffc029102a200c5de"
		pem    = "-----BEGIN RSA PRIVATE KEY----- MIIEpAIBAAKCAQEA7bq98 -----END RSA PRIVATE KEY-----"
		inURL  = "f2c9a1b07e6d4c38a5b1c2d3e4f50617"
		inText = "sk-abcdefghijklmnopqrstuvwx"
	)
	var warned strings.Builder
	for _, text := range []capture.Text{capture.Keep, capture.Hash, capture.Lengths} {
		p := start(t, serve(t, says), func(o *capture.Options) {
			o.Text = text
			o.Warn = func(l string) { warned.WriteString(l) }
		})
		body, err := json.Marshal(map[string]any{
			"model": "demo " + inText, "api_key": token, "user": "mallory@example.org",
			"messages": []any{map[string]any{
				"role": "user", "content": "My key is " + inText + ", the header " + token + ", the page " + pem + " and a plain word",
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		post(t, p.url+chatPath+"?api_key="+inURL, string(body), "Authorization", "Bearer "+token, "Cookie", cookie,
			"X-Client-Cert", pem, "X-Api-Key", inURL)
		if got := p.stop(t); len(got) != 1 {
			t.Fatalf("%s: %d lines, want 1", text, len(got))
		}
		b, err := os.ReadFile(p.file)
		if err != nil {
			t.Fatal(err)
		}
		all := string(b) + p.said() + warned.String()
		for _, s := range []string{token, "9b74c9897bac770ffc029102a200c5de", "MIIEpAIBAAKCAQEA7bq98", inURL, inText} {
			if strings.Contains(all, s) {
				t.Errorf("%s: %q is in %s", text, s, all)
			}
		}
		if kept := strings.Contains(all, "plain word"); kept != (text == capture.Keep) {
			t.Errorf("%s: texts kept: %v", text, kept)
		}
		if info, err := os.Stat(p.file); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v, %v: others may read it", text, info.Mode(), err)
		}
	}
}

// A request that begins with all that was said before goes on with that conversation.
func TestConversations(t *testing.T) {
	t.Parallel()
	answers := map[string]string{"Hi": "Hello", "Hi again": "Hello"}
	var n int
	to := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Messages []struct{ Content string } }
		json.NewDecoder(r.Body).Decode(&body)
		text := answers[body.Messages[len(body.Messages)-1].Content]
		if text == "" {
			n++
			text = fmt.Sprintf("Answer %d", n)
		}
		b, _ := json.Marshal(text)
		io.WriteString(w, strings.ReplaceAll(answerText, `"Good day to you"`, string(b)))
	})
	p := start(t, to, nil)
	for _, said := range [][]string{
		{"Tell me"},                                         // 1, answer 1
		{"Tell me"},                                         // 2, answer 2
		{"Tell me", "Answer 2", "More"},                     // goes on with 2
		{"Tell me", "Answer 1", "More"},                     // with 1
		{"Tell me", "Answer 1", "Another way"},              // 3: one goes on with 1 already
		{"Tell me", "Answer 2", "More", "Answer 3", "And?"}, // with 2
		{"Hi"},                               // 4
		{"Hi", "cut by the client", "Go on"}, // with 4: nothing else it could be
		{"Something else"},                   // 5
	} {
		post(t, p.url+chatPath, chat(false, said...))
	}
	var got []string
	for _, l := range p.stop(t) {
		got = append(got, strings.TrimPrefix(l.Session, "conversation-"))
	}
	if want := []string{"1", "2", "2", "1", "3", "2", "4", "4", "5"}; !slices.Equal(got, want) {
		t.Errorf("conversations %v, want %v", got, want)
	}
	if said := p.said(); !strings.Contains(said, "9 requests in 5 conversations") {
		t.Errorf("summary: %s", said)
	}
}

// With texts the trace holds what a replay sends, and what goes with it.
func TestKeptTexts(t *testing.T) {
	t.Parallel()
	p := start(t, serve(t, says), func(o *capture.Options) { o.Text = capture.Keep })
	post(t, p.url+chatPath, `{"model":"demo","messages":[{"role":"user","content":"What <b>is</b> it?"}],"temperature":0.5,`+
		`"max_tokens":9,"stream":false,"tools":[{"type":"function","function":{"name":"look"}}],"stop":null}`)
	post(t, p.url+"/v1/completions", `{"model":"demo","prompt":"Once upon","top_p":0.9}`)
	post(t, p.url+"/v1/messages", `{"model":"demo","max_tokens":5,"system":"Be brief","messages":[{"role":"user","content":"Well?"}]}`)
	got := p.stop(t)
	if len(got) != 3 {
		t.Fatalf("%d lines, want 3", len(got))
	}
	if l := got[0]; string(l.Messages) != `[{"role":"user","content":"What <b>is</b> it?"}]` ||
		string(l.Extra) != `{"temperature":0.5}` || string(l.Tools) != `[{"type":"function","function":{"name":"look"}}]` ||
		l.In != 0 || l.Blocks != nil || l.Capture.In == 0 || len(l.Capture.Blocks) != 1 || l.Out != 4 {
		t.Errorf("chat: %+v", l)
	}
	if l := got[1]; l.Text != "Once upon" || string(l.Extra) != `{"top_p":0.9}` || l.Messages != nil {
		t.Errorf("completions: %+v", l)
	}
	if l := got[2]; !strings.Contains(string(l.Payload), `"Be brief"`) || l.Capture.API != "messages" {
		t.Errorf("messages: %+v", l)
	}
}

// Whatever a server or a client does, the other one sees what it would see without a proxy,
// and the trace has the request.
func TestThingsThatGoWrong(t *testing.T) {
	t.Parallel()
	hang := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, event("Good day"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	closed := httptest.NewServer(http.HandlerFunc(says))
	closed.Close()
	for name, c := range map[string]struct {
		server http.HandlerFunc
		to     string
		client func(t *testing.T, p *proxy)
		want   func(l line) bool
		said   string
	}{
		"the server is not there": {
			to: closed.URL,
			client: func(t *testing.T, p *proxy) {
				if status, body := post(t, p.url+chatPath, chat(true, "Hello")); status != http.StatusBadGateway ||
					!strings.Contains(body, "aiperf capture: cannot reach the server: connection refused") {
					t.Errorf("status %d: %s", status, body)
				}
			},
			want: func(l line) bool { return l.Capture.Broken == "unreached" && l.In == 1 && l.Out == 1 },
			said: "1 broken off",
		},
		"the server dies": {
			server: func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, event("Good day"))
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			},
			client: func(t *testing.T, p *proxy) {
				r, err := http.Post(p.url+chatPath, "application/json", strings.NewReader(chat(true, "Hello")))
				if err != nil {
					t.Fatal(err)
				}
				defer r.Body.Close()
				if b, err := io.ReadAll(r.Body); string(b) != event("Good day") || err == nil {
					t.Errorf("%q, %v, want the event and a broken connection", b, err)
				}
			},
			want: func(l line) bool { return l.Capture.Broken == "server_gone" && l.Out == 2 },
			said: "1 broken off",
		},
		"the client goes away": {
			server: hang,
			client: func(t *testing.T, p *proxy) {
				r, err := http.Post(p.url+chatPath, "application/json", strings.NewReader(chat(true, "Hello")))
				if err != nil {
					t.Fatal(err)
				}
				io.ReadFull(r.Body, make([]byte, len(event("Good day"))))
				r.Body.Close()
			},
			want: func(l line) bool { return l.Capture.Broken == "client_gone" && l.Out == 2 },
			said: "1 broken off",
		},
		"the stream never ends": {
			server: hang,
			client: func(t *testing.T, p *proxy) {
				r, err := http.Post(p.url+chatPath, "application/json", strings.NewReader(chat(true, "Hello")))
				if err != nil {
					t.Fatal(err)
				}
				defer r.Body.Close()
				io.ReadFull(r.Body, make([]byte, len(event("Good day"))))
				p.end()
				p.hard() // the second Ctrl-C
				io.ReadAll(r.Body)
				<-p.over
			},
			want: func(l line) bool { return l.Capture.Broken != "" && l.Out == 2 },
			said: "1 broken off",
		},
		"an error": {
			server: func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, `{"error":{"message":"too many"}}`, http.StatusTooManyRequests)
			},
			client: func(t *testing.T, p *proxy) {
				if status, body := post(t, p.url+chatPath, chat(true, "Hello")); status != http.StatusTooManyRequests ||
					!strings.Contains(body, "too many") {
					t.Errorf("status %d: %s", status, body)
				}
			},
			want: func(l line) bool { return l.Capture.Status == 429 && l.Out == 1 && l.Capture.Broken == "" },
			said: "1 failed",
		},
		"an unknown encoding": {
			server: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "br")
				io.WriteString(w, "\x0b\x02\x80")
			},
			client: func(t *testing.T, p *proxy) { post(t, p.url+chatPath, chat(true, "Hello"), "Accept-Encoding", "br") },
			want:   func(l line) bool { return l.Out == 1 },
			said:   "output length unknown, answer in an encoding other than gzip: 1 request",
		},
		"gzip that is none": {
			server: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				io.WriteString(w, "plain words")
			},
			client: func(t *testing.T, p *proxy) {
				if _, body := post(t, p.url+chatPath, chat(true, "Hello"), "Accept-Encoding", "gzip"); body != "plain words" {
					t.Errorf("body %q", body)
				}
			},
			want: func(l line) bool { return l.Out == 1 },
			said: "output length unknown, answer could not be read to its end: 1 request",
		},
		"a WebSocket": {
			server: says,
			client: func(t *testing.T, p *proxy) {
				if status, body := post(t, p.url+chatPath, "", "Connection", "Upgrade", "Upgrade", "websocket"); status != http.StatusNotImplemented ||
					!strings.Contains(body, "aiperf capture passes HTTP requests on, not websocket connections") {
					t.Errorf("status %d: %s", status, body)
				}
			},
			said: "refused, asked for another protocol such as WebSocket: 1 request",
		},
		"a body that is too large": {
			server: func(w http.ResponseWriter, r *http.Request) {
				n, _ := io.Copy(io.Discard, r.Body)
				fmt.Fprint(w, n)
			},
			client: func(t *testing.T, p *proxy) {
				for _, known := range []bool{true, false} {
					body := io.Reader(strings.NewReader(`{"messages":"` + strings.Repeat("a", 17<<20) + `"}`))
					if !known {
						body = struct{ io.Reader }{body}
					}
					r, err := http.Post(p.url+chatPath, "application/json", body)
					if err != nil {
						t.Fatal(err)
					}
					defer r.Body.Close()
					if b, err := io.ReadAll(r.Body); string(b) != "17825807" || err != nil {
						t.Errorf("the server read %q bytes, %v", b, err)
					}
				}
			},
			said: "not recorded, body larger than 16 MiB: 2 requests",
		},
		"words without end": {
			server: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for range 40 {
					io.WriteString(w, event(strings.Repeat("a ", 16<<10)))
				}
			},
			client: func(t *testing.T, p *proxy) { post(t, p.url+chatPath, chat(true, "Hello")) },
			want:   func(l line) bool { return l.Out > 100_000 && l.Capture.Events == 40 },
			said:   "output length that of the beginning, answer too long to keep: 1 request",
		},
		"an event without end": {
			server: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, event("Good day")+"data: "+strings.Repeat("a", 5<<20))
			},
			client: func(t *testing.T, p *proxy) {
				if _, body := post(t, p.url+chatPath, chat(true, "Hello")); len(body) != 5<<20+len(event("Good day"))+6 {
					t.Errorf("%d bytes passed", len(body))
				}
			},
			want: func(l line) bool { return l.Out == 2 },
			said: "output length unknown, answer could not be read to its end: 1 request",
		},
		"no text at all": {
			server: says,
			client: func(t *testing.T, p *proxy) { post(t, p.url+chatPath, `{"messages":[]}`) },
			said:   "not recorded, no text to count: 1 request",
		},
		"values of the wrong kinds": {
			server: says,
			client: func(t *testing.T, p *proxy) {
				post(t, p.url+chatPath, `{"model":[1],"stream":"yes","messages":[{"role":5,"content":"Hello"},7,null]}`)
			},
			want: func(l line) bool { return l.In == 2 && l.Blocks == nil && l.Capture.Model == "" },
			said: "1 request in 1 conversation",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := c.to
			if to == "" {
				to = serve(t, c.server)
			}
			p := start(t, to, nil)
			c.client(t, p)
			got := p.stop(t)
			switch {
			case c.want == nil && len(got) > 0:
				t.Errorf("recorded %+v, want nothing", got)
			case c.want != nil && (len(got) != 1 || !c.want(got[0])):
				t.Errorf("recorded %+v", got)
			}
			if said := p.said(); !strings.Contains(said, c.said) {
				t.Errorf("summary %q, want %q in it", said, c.said)
			}
		})
	}
}

// What is written is on disk before the capture ends, each line whole, and in the order of
// arrival once it has ended.
func TestLinesAreWrittenAtOnce(t *testing.T) {
	t.Parallel()
	slow, arrived := make(chan struct{}), make(chan struct{})
	to := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if bytes.Contains(b, []byte("slow")) {
			close(arrived)
			<-slow
		}
		says(w, r)
	})
	p := start(t, to, nil)
	done := make(chan struct{})
	go func() { defer close(done); post(t, p.url+chatPath, chat(false, "slow")) }()
	<-arrived
	post(t, p.url+chatPath, chat(false, "fast fast"))
	for len(p.lines(t)) == 0 { // it is written once the answer has passed
		runtime.Gosched()
	}
	if got := p.lines(t); len(got) != 1 || got[0].In != 2 {
		t.Errorf("while it runs: %+v, want the one request that is over", got)
	}
	close(slow)
	<-done
	if got := p.stop(t); len(got) != 2 || got[0].In != 1 || got[1].In != 2 || got[0].Timestamp > got[1].Timestamp {
		t.Errorf("at the end: %+v, want both in the order of arrival", got)
	}
}

// A limit ends the capture; what is being answered then still ends.
func TestLimits(t *testing.T) {
	t.Parallel()
	p := start(t, serve(t, says), func(o *capture.Options) { o.Requests = 3 })
	for range 3 {
		post(t, p.url+chatPath, chat(false, "Hello"))
	}
	<-p.over
	if got := p.lines(t); len(got) != 3 || p.sum.Requests() != 3 {
		t.Errorf("%d lines, %d requests, want 3", len(got), p.sum.Requests())
	}
	p = start(t, serve(t, says), func(o *capture.Options) { o.Bytes = 1 })
	post(t, p.url+chatPath, chat(false, "Hello"))
	<-p.over
	if got := p.lines(t); len(got) != 1 {
		t.Errorf("%d lines beyond the size", len(got))
	}
	p = start(t, serve(t, says), func(o *capture.Options) { o.Duration = time.Nanosecond })
	<-p.over
	if p.err != nil || p.sum.Requests() != 0 {
		t.Errorf("after no time: %+v, %v", p.sum, p.err)
	}
}
