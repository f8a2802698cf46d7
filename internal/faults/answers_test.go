package faults

import (
	"math"
	"strings"
	"testing"

	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/record"
)

// answerCase is a server that answers every request in the same way, and the
// record that must come of it.
type answerCase struct {
	name   string
	script fs.Script // for each connection
	plain  bool      // streaming is not asked for
	limit  float64   // s a request may take; 0: a minute
	status record.Status
	kind   string
	text   string // part of the error
	check  func(*testing.T, *record.Record)
}

// each answers every request with text over one connection.
func each(name string, status record.Status, kind, part, text string) answerCase {
	return answerCase{name: name, script: again(text), status: status, kind: kind, text: part}
}

// last answers one request with text and closes.
func last(name string, status record.Status, kind, part, text string, then ...fs.Step) answerCase {
	return answerCase{
		name: name, script: append(fs.Script{fs.Read(), fs.Send(text)}, then...), status: status,
		kind: kind, text: part,
	}
}

// fine answers every request with a stream that is a success, and looks at it.
func fine(name, text string, check func(*testing.T, *record.Record)) answerCase {
	return answerCase{name: name, script: again(text), status: record.OK, check: check}
}

func answerCases() []answerCase {
	long := strings.Repeat("x", 5<<20)
	cut := fs.StreamHead() + fs.Event(content("Hello"))
	return []answerCase{
		each("429", record.HTTPError, "rate_limited", "slow down (Retry-After: 7)", fs.Answer("429 Too Many Requests",
			"application/json", `{"error":{"message":"slow down"}}`, "Retry-After: 7")),
		each("500", record.HTTPError, "http_500", "CUDA", fs.Answer("500 Internal Server Error",
			"application/json", `{"error":{"message":"CUDA error"}}`)),
		each("503 with a long page", record.HTTPError, "http_503", "xxx", fs.Answer("503 Busy", "text/html", long)),
		each("error that repeats the key", record.HTTPError, "http_401", "***",
			fs.Answer("401 No", "application/json", `{"error":{"message":"bad key Bearer `+secret+`"}}`)),
		each("error with invalid UTF-8", record.HTTPError, "http_500", "\uFFFD",
			fs.Answer("500 No", "text/plain", "a\xff\xfe\x00b")),
		each("redirect", record.HTTPError, "http_307", "", fs.Answer("307 Temporary Redirect",
			"text/plain", "", "Location: http://127.0.0.1:1/v1")),
		{name: "reset before an answer", script: fs.Script{fs.Read(), fs.Reset()}, status: record.Connection, kind: "reset"},
		{name: "reset in a stream", script: fs.Script{fs.Read(), fs.Send(cut), fs.Reset()}, status: record.Truncated, kind: "reset", check: anyContent},
		last("no chunk of length 0", record.Truncated, "truncated", "", cut),
		last("short body", record.Truncated, "truncated", "",
			fs.Head("200 OK", "application/json", "Content-Length: 99")+"{}"),
		each("stream without an end mark", record.Truncated, "no_end", "", fs.Stream(content("Hello"))),
		each("nothing but [DONE]", record.ParseError, "no_content", "", fs.Stream("[DONE]")),
		each("malformed chunk", record.ParseError, "bad_json", "event 2 of the stream: ",
			fs.Stream(content("a"), `{"choices":[{"del`, finish, "[DONE]")),
		each("error event", record.ParseError, "server_error", "gone", fs.StreamHead()+fs.Event(content("a"))+
			fs.Chunk("event: error\ndata: {\"detail\":\"gone\"}\n\n")+fs.LastChunk),
		each("error in a stream", record.ParseError, "server_error", "out of memory",
			fs.Stream(content("a"), `{"error":{"message":"out of memory, `+secret+`"}}`, "[DONE]")),
		each("error that repeats the key where it is cut", record.ParseError, "server_error", "xxx",
			fs.Stream(`{"error":{"message":"`+strings.Repeat("x", 1010)+secret+`"}}`, "[DONE]")),
		each("no content, the key at the cut", record.ParseError, "no_content", "begins",
			fs.Stream(`{"id":"`+strings.Repeat("x", 60)+secret+`","choices":[]}`, "[DONE]")),
		each("no JSON, the key at the cut", record.ParseError, "bad_json", "begins",
			fs.Stream(strings.Repeat("x", 66)+secret, "[DONE]")),
		each("page instead of an answer", record.ParseError, "html", "Sign in",
			fs.Answer("200 OK", "text/html", "<!DOCTYPE html><p>Sign in</p>")),
		each("error field in a stream", record.ParseError, "server_error", "out of slots", fs.StreamHead()+
			fs.Chunk("data: "+content("a")+"\n\nerror: {\"message\":\"out of slots\"}\n\n")+fs.LastChunk),
		each("error field at the start", record.ParseError, "server_error", "out of slots",
			fs.StreamHead()+fs.Chunk("error: {\"message\":\"out of slots\"}\n")+fs.LastChunk),
		{name: "stream nobody asked for", plain: true, script: again(good()), status: record.OK},
		{name: "header never sent", script: fs.Script{fs.Read(), fs.UntilClosed()}, limit: 0.3, status: record.Timeout, kind: "header_timeout"},
		{name: "header that does not end", script: fs.Script{fs.Read(), fs.Send("HTTP/1.1 200"), fs.UntilClosed()}, limit: 0.3, status: record.Timeout, kind: "header_timeout"},
		{name: "stall in a stream", script: fs.Script{fs.Read(), fs.Send(cut), fs.UntilClosed()}, limit: 0.3, status: record.Timeout, kind: "stall_timeout"},

		fine("data without a space, CRLF, BOM, comments",
			fs.StreamHead()+fs.Chunk("\xEF\xBB\xBF: ping\r\n\r\n: ping\r\ndata:"+content("Hello")+"\r\n\r\ndata:\t"+
				finish+"\r\r: ping\n\ndata: [DONE]\n\n")+fs.LastChunk, oneContent),
		fine("data over several lines",
			fs.StreamHead()+fs.Chunk("data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"Hello\"}}]}\n\ndata: [DONE]\n\n")+fs.LastChunk, oneContent),
		fine("5 MB in one line", fs.Stream(content(strings.Repeat("word ", 1<<20)), finish, "[DONE]"),
			func(t *testing.T, r *record.Record) {
				oneContent(t, r)
				if r.Chunks[0].Bytes < 5<<20 || r.OSL < 1000 {
					t.Errorf("%d bytes, %d tokens", r.Chunks[0].Bytes, r.OSL)
				}
			}),
		fine("1,000 events in one segment", fs.Stream(append(repeat(content("a "), 1000), finish, "[DONE]")...),
			func(t *testing.T, r *record.Record) {
				shared := 0
				for _, c := range r.Chunks {
					if c.SameRead {
						shared++
					}
				}
				if n := contents(r); n != 1000 || shared < 900 {
					t.Errorf("%d content events, %d shared a read", n, shared)
				}
			}),
		fine("UTF-8 cut between chunks", fs.StreamHead()+fs.Chunk("data: "+content("é😀")[:44])+
			fs.Chunk(content("é😀")[44:]+"\n\n")+fs.Event("[DONE]")+fs.LastChunk, oneContent),
		fine("invalid UTF-8", fs.Stream("{\"choices\":[{\"delta\":{\"content\":\"a\xffb\"}}]}", finish, "[DONE]"),
			oneContent),
		fine("role first", fs.Stream(delta(`"role":"assistant","content":""`), content("Hello"), finish, "[DONE]"),
			oneContent),
		fine("nulls and empty choices", fs.Stream(delta(`"content":null`), `{"choices":[]}`,
			`{"choices":[{"index":0}]}`, content("Hello"), finish, "[DONE]"), oneContent),
		fine("tool calls only", fs.Stream(delta(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]`),
			finish, "[DONE]"), func(t *testing.T, r *record.Record) {
			oneContent(t, r)
			if r.Chunks[0].Kind != record.Tool || r.OutputTokens < 1 {
				t.Errorf("%s, %d tokens", r.Chunks[0].Kind, r.OutputTokens)
			}
		}),
		fine("usage absent", fs.Stream(content("Hello"), finish, "[DONE]"), func(t *testing.T, r *record.Record) {
			if r.UsageCompletion != record.None || r.OSL < 1 {
				t.Errorf("usage %d, %d tokens", r.UsageCompletion, r.OSL)
			}
		}),
		fine("usage grows with every event",
			fs.Stream(`{"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":1}}`,
				`{"choices":[{"delta":{"content":"b"}}],"usage":{"completion_tokens":2}}`, finish,
				"[DONE]"), func(t *testing.T, r *record.Record) {
				if r.UsageCompletion != 2 {
					t.Errorf("usage %d, want the last one, 2", r.UsageCompletion)
				}
			}),
		fine("usage that lies", fs.Stream(content("Hello"), finish, usage(`"completion_tokens":900`), "[DONE]"),
			func(t *testing.T, r *record.Record) {
				if r.UsageCompletion != 900 || r.OSL < 1 || r.OSL > 10 {
					t.Errorf("server says %d, we count %d; want both as they are", r.UsageCompletion, r.OSL)
				}
			}),
		fine("usage that is not a number", fs.Stream(content("Hello"), finish,
			usage(`"completion_tokens":-3,"prompt_tokens":1e300,"total_tokens":"7"`),
			"[DONE]"), func(t *testing.T, r *record.Record) {
			if r.UsageCompletion != record.None || r.UsagePrompt != record.None || r.UsageTotal != record.None {
				t.Errorf("usage %d, %d, %d; want none", r.UsagePrompt, r.UsageCompletion, r.UsageTotal)
			}
		}),
		fine("two choices", fs.Stream(content("a"), `{"choices":[{"index":1,"delta":{"content":"b"}}]}`, content("c"),
			finish, "[DONE]"), func(t *testing.T, r *record.Record) {
			if contents(r) == 0 || r.FirstToken == record.None || r.LastToken < r.FirstToken {
				t.Errorf("%d content events from %d to %d", contents(r), r.FirstToken, r.LastToken)
			}
		}),
		fine("one token", fs.Stream(content("a"), finish, "[DONE]"), func(t *testing.T, r *record.Record) {
			if r.OSL != 1 || !math.IsNaN(r.ITL()) {
				t.Errorf("%d tokens, inter-token latency %v", r.OSL, r.ITL())
			}
		}),
	}
}

func repeat(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

func contents(r *record.Record) (n int) {
	for _, c := range r.Chunks {
		if c.IsContent() {
			n++
		}
	}
	return n
}

// oneContent: one event carried content, and its stamp is TTFT and latency.
func oneContent(t *testing.T, r *record.Record) {
	t.Helper()
	if n := contents(r); n != 1 || r.FirstToken != r.LastToken || !(r.TTFT() >= 0) {
		t.Errorf("%d content events, first at %d, last at %d", n, r.FirstToken, r.LastToken)
	}
}

// anyContent: what came before the failure is kept with it.
func anyContent(t *testing.T, r *record.Record) {
	t.Helper()
	if n := contents(r); n > 1 || n == 1 && r.FirstToken == record.None {
		t.Errorf("%d content events, first at %d", n, r.FirstToken)
	}
}

// Whatever a server answers, the run ends, every request is counted once, and
// the server got each of them once.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range answerCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fs.Start(t, c.script)
			j := newJob(t, s.URL())
			j.Endpoint.Streaming = !c.plain
			if c.limit > 0 {
				j.Endpoint.Timeout = c.limit
			}
			j.run(t)
			r := j.one(t)
			if r.Status != c.status || r.ErrorKind != c.kind || !strings.Contains(r.ErrorMessage, c.text) {
				t.Errorf("%s, kind %q, %q; want %s, %q, …%s…", r.Status, r.ErrorKind, r.ErrorMessage, c.status, c.kind,
					c.text)
			}
			if n := len(s.Requests()); n != 4 || len(j.records) != 4 {
				t.Errorf("the server read %d requests, %d records; want 4", n, len(j.records))
			}
			if c.check != nil {
				c.check(t, r)
			}
		})
	}
}
