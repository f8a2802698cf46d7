package faults

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint"
)

var randomFaults = flag.Int("random-faults", 12, "random faults per family of endpoint types")

// family is an API as a server answers it: a stream's messages, of which the last
// ends the answer, or one document.
type family struct {
	typ      string
	messages []string
	media    string // of a document or of lines; streams are text/event-stream
	document string
}

func families() []family {
	const js = "application/json"
	chat := []string{content("Hello"), content(" world"), finish, "[DONE]"}
	text := func(t string) string { return `{"choices":[{"index":0,"text":"` + t + `","finish_reason":null}]}` }
	return []family{
		{typ: "chat", messages: chat},
		{typ: "chat", media: js, document: `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello \u0000 world"},"finish_reason":"stop"}]}`},
		{typ: "completions", messages: []string{text("Hello"), text(" world"), `{"choices":[{"index":0,"text":"","finish_reason":"stop"}]}`, "[DONE]"}},
		{typ: "messages", messages: []string{
			`{"type":"message_start","message":{"id":"a","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`,
			`{"type":"message_stop"}`,
		}},
		{typ: "responses", messages: []string{
			`{"type":"response.created","response":{"id":"r","status":"in_progress"}}`,
			`{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"Hello"}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}`,
		}},
		{typ: "llamacpp_completion", messages: []string{`{"content":"Hello","stop":false}`, `{"content":"","stop":true,"stop_type":"eos"}`}},
		{typ: "huggingface_generate", messages: []string{`{"token":{"text":"Hello"},"generated_text":null}`, `{"token":{"text":"!"},"generated_text":"Hello!","details":{"finish_reason":"length"}}`}},
		{typ: "raw", messages: chat},
		{typ: "embeddings", media: js, document: `{"data":[{"object":"embedding","index":0,"embedding":[0.5,0.25]}]}`},
		{typ: "solido_rag", media: js, document: `{"content":"Hello world","sources":[]}`},
	}
}

// scenario is what a server sends, and how the request must end.
type scenario struct {
	name   string
	pieces []string
	end    fs.Step // nil: the connection is closed in the orderly way
	keeps  bool    // the connection may carry another request
	status []record.Status
	kind   string // where there is one way only
}

// ending is the truth about a fault.
func (s *scenario) ending(kind string, status ...record.Status) { s.kind, s.status = kind, status }

// draw makes a scenario: an answer that is right, in one of the forms that HTTP
// allows, and perhaps something wrong with it.
func draw(rng *rand.Rand, f *family) *scenario {
	s := &scenario{keeps: true}
	s.ending("", record.OK)
	note := func(what string, args ...any) { s.name += fmt.Sprintf(" "+what, args...) }
	if f.messages == nil {
		note("document")
	} else {
		note("stream")
	}
	harm := rng.IntN(16)
	if harm == 0 { // an answer that says no
		status := []string{"429 Too Many", "503 Busy", "500 Oops", "400 Bad", "404 None"}[rng.IntN(5)]
		note(status)
		s.pieces = split(rng, fs.Answer(status, "application/json", `{"error":{"message":"no"}}`, "Retry-After: 3"))
		s.ending("http_"+status[:3], record.HTTPError)
		if status[:3] == "429" {
			s.kind = "rate_limited"
		}
		return s
	}
	parts := f.body(rng, s, harm, note)
	var lines []string
	media := f.media
	if f.messages != nil {
		media = "text/event-stream"
	}
	if rng.IntN(6) == 0 {
		media = []string{
			"application/json", "text/plain", "application/octet-stream", "text/event-stream",
			"",
		}[rng.IntN(5)]
		if f.messages != nil && (media == "application/octet-stream" || media == "text/plain") { // which say what it is
			media = "application/json"
		}
		note("as %q", media)
	}
	if rng.IntN(8) == 0 {
		note("gzip")
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write([]byte(strings.Join(parts, ""))) //nolint:errcheck // a buffer takes everything
		z.Close()                                //nolint:errcheck // a buffer takes everything
		parts = []string{b.String()}
		lines = append(lines, "Content-Encoding: gzip")
	}
	return s.frame(rng, f.messages != nil, parts, media, lines, harm, note)
}

// body is the answer's, in parts.
func (f *family) body(rng *rand.Rand, s *scenario, harm int, note func(string, ...any)) (parts []string) {
	if f.messages == nil {
		body := f.document
		switch harm {
		case 1:
			note("HTML page")
			body = "<!DOCTYPE html><html>no</html>"
			s.ending("html", record.ParseError)
		case 2:
			note("error in it")
			body = `{"error":{"message":"boom","type":"server_error"}}`
			s.ending("server_error", record.ParseError)
		case 3:
			note("nothing in it")
			body = ""
			s.ending("no_content", record.ParseError)
		case 4:
			note("torn JSON")
			body = body[:len(body)/2]
			s.ending("bad_json", record.ParseError)
		}
		return []string{body}
	}
	messages := append([]string(nil), f.messages...)
	last := len(messages) - 1
	switch harm {
	case 1:
		note("error message")
		messages[rng.IntN(last)] = `{"error":{"message":"boom","code":500}}`
		s.ending("server_error", record.ParseError)
	case 2:
		at := rng.IntN(last)
		note("torn message %d", at)
		messages[at] = messages[at][:len(messages[at])/2]
		s.ending("bad_json", record.ParseError)
	case 3:
		note("only its end")
		messages = messages[last:]
		s.ending("", record.ParseError, record.OK) // some ends repeat the answer
	case 4:
		note("no messages")
		messages = nil
		s.ending("no_content", record.ParseError)
	}
	eol := []string{"\n", "\r\n", "\r"}[rng.IntN(3)]
	space := []string{" ", ""}[rng.IntN(2)]
	for i, m := range messages {
		part := ""
		switch rng.IntN(8) {
		case 0:
			word := "\x00keep-alive "
			if f.typ == "raw" { // which takes such bytes of an unknown type for a picture or a sound
				word = word[1:]
			}
			part = ": " + strings.Repeat(word, 1+rng.IntN(20_000)) + eol + eol
			note("comment of %d bytes", len(part))
		case 1:
			part = "id: 7" + eol + "retry: 10" + eol
			note("same id")
		case 2:
			part = "data:" + eol + eol
			note("empty event")
		}
		if i > 0 && i < len(messages)-1 && rng.IntN(10) == 0 && f.typ != "responses" && f.typ != "messages" {
			note("twice")
			part += "data:" + space + m + eol + eol
		}
		parts = append(parts, part+"data:"+space+m+eol+eol)
	}
	return parts
}

// frame puts the body into HTTP, and may break that.
func (s *scenario) frame(
	rng *rand.Rand, stream bool, parts []string, media string, lines []string, harm int, note func(string, ...any),
) *scenario {
	body := strings.Join(parts, "")
	before := ""
	if rng.IntN(5) == 0 {
		note("100 and 103 first")
		before = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
	}
	how := rng.IntN(3)
	if harm == 9 { // of chunks only
		how = 0
	}
	if harm == 7 || harm == 8 {
		how = 1
	}
	head, framed := "", ""
	markAt := 0 // bytes after which what is cut off was not needed
	switch how {
	case 0:
		note("chunked")
		head = fs.Head("200 OK", media, append(lines, "Transfer-Encoding: chunked")...)
		for i, p := range parts {
			if p == "" {
				continue
			}
			c := fs.Chunk(p)
			if rng.IntN(4) == 0 {
				c = strings.Replace(c, "\r\n", ";name=\"v\"\r\n", 1)
			}
			if harm == 9 && i == len(parts)/2 {
				note("chunk size that is none")
				c = "xyz" + c
				s.keeps = false
				s.ending("", record.ParseError, record.Truncated)
			}
			framed += c
		}
		markAt = len(framed)
		framed += "0\r\n"
		if rng.IntN(3) == 0 {
			note("trailers")
			framed += "X-Sum: 1\r\nServer-Timing: a\r\n"
		}
		framed += "\r\n"
	case 1:
		length := len(body)
		switch harm {
		case 7:
			note("content length too large")
			length += 10
			s.keeps = false
			s.ending("", record.Truncated)
			if stream {
				s.ending("", record.OK) // its end mark has come
			}
		case 8:
			if length > 4 {
				note("content length too small")
				length /= 2
				s.keeps = false
				s.ending("", record.ParseError, record.Truncated)
				if stream { // the reason for its end may have come, and only the mark is missing
					s.ending("", record.ParseError, record.Truncated, record.OK)
				}
			}
		}
		head = fs.Head("200 OK", media, append(lines, fmt.Sprintf("Content-Length: %d", length))...)
		framed, markAt = body, len(body)
	case 2:
		note("until it closes")
		head = strings.Replace(fs.Head("200 OK", media, append(lines, "Connection: close")...), "HTTP/1.1",
			[]string{"HTTP/1.0", "HTTP/1.1"}[rng.IntN(2)], 1)
		framed, markAt = body, len(body)
		s.keeps = false
	}
	all := before + head + framed
	if (harm == 5 || harm == 6) && how != 2 && len(s.status) == 1 && s.status[0] == record.OK {
		cut := rng.IntN(len(all))
		s.keeps = false
		needed := len(before) + len(head) + markAt
		switch {
		case cut == 0:
			s.ending("reset", record.Connection)
		case cut <= len(before): // before the answer itself
			s.ending("", record.Connection, record.Truncated)
		case stream && cut >= needed:
		case stream && cut >= needed-tail: // what is missing may be framing
			s.ending("", record.Truncated, record.OK)
		default:
			s.ending("", record.Truncated)
		}
		all = all[:cut]
		if s.end = nil; harm == 6 {
			note("reset after %d of %d", cut, needed)
			s.end = fs.Reset()
			if !slices.Contains(s.status, record.OK) { // what the kernel had may be lost with it
				s.ending("", record.Connection, record.Truncated)
			} else {
				s.ending("", record.OK, record.Connection, record.Truncated)
			}
		} else {
			note("closed after %d of %d", cut, needed)
			if rng.IntN(2) == 0 {
				s.end = fs.CloseWrite()
			}
		}
	}
	if s.keeps && rng.IntN(8) == 0 {
		note("second answer")
		s.keeps = false // as far as the server knows
		all += fs.JSON(`{"of":"nobody"}`)
		s.end = fs.UntilClosed()
	}
	s.pieces = split(rng, all)
	return s
}

// tail is how many bytes at the end of an answer may be framing: of gzip, of a chunk,
// of the blank line behind a message.
const tail = 16

// split cuts text into pieces that are sent one by one.
func split(rng *rand.Rand, text string) (pieces []string) {
	for range rng.IntN(6) {
		if len(text) < 2 {
			break
		}
		n := 1 + rng.IntN(len(text)-1)
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return append(pieces, text)
}

// Whatever a server does to an answer, in whichever form of HTTP it comes, each
// request ends as its script says. With -random-faults 100 -run TestRandomFaults
// there are a thousand scripts.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	for n, f := range families() {
		for seed := range uint64(*randomFaults) {
			rng := rand.New(rand.NewPCG(seed, uint64(n)))
			s := draw(rng, &f)
			t.Run(fmt.Sprintf("%s %d", f.typ, seed), func(t *testing.T) {
				t.Parallel()
				steps := []fs.Step{fs.Read()}
				for _, p := range s.pieces {
					steps = append(steps, fs.Send(p))
				}
				script := fs.Script{fs.Loop(steps...)}
				if !s.keeps {
					script = steps
					if s.end != nil {
						script = append(script, s.end)
					}
				}
				srv := fs.Start(t, script)
				j := newJob(t, srv.URL())
				j.Spec, _ = endpoint.Lookup(f.typ)
				j.Endpoint.Type, j.Endpoint.Streaming = f.typ, f.messages != nil
				if f.typ == "raw" { // it sends what a file holds; here a chat
					spec := *j.Spec
					chat, _ := endpoint.Lookup("chat")
					spec.Body, spec.Ready = chat.Body, false
					j.Spec = &spec
				}
				j.run(t)
				for _, r := range j.records {
					if !slices.Contains(s.status, r.Status) || s.kind != "" && r.ErrorKind != s.kind {
						t.Errorf("%s:\nrequest %d ended as %s %s %q, want %v %s; resent %v", s.name, r.RequestID,
							r.Status, r.ErrorKind, r.ErrorMessage, s.status, s.kind, r.Resent)
					}
				}
			})
		}
	}
}
