package capture

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// Why a request is not recorded, or not all of it.
const (
	upgraded       = "refused, asked for another protocol such as WebSocket"
	bodyTooLarge   = "not recorded, body larger than 16 MiB"
	bodiesTooLarge = "not recorded, more than 48 MiB of bodies at once"
	bodyCut        = "not recorded, body did not arrive whole"
	tooFast        = "not recorded, came faster than they could be written down"
	notJSON        = "not recorded, body is not a JSON object"
	withoutText    = "not recorded, no text to count"
	uncounted      = "not recorded, the tokenizer could not count them"
	notWritten     = "not recorded, the trace could not be written"
	behindLimit    = "not recorded, came behind the limit"

	otherEncoding = "output length unknown, answer in an encoding other than gzip"
	unreadable    = "output length unknown, answer could not be read to its end"
	longAnswer    = "output length that of the beginning, answer too long to keep"
	withMedia     = "text lengths only, with pictures, sounds or videos"
)

// row is one line of the trace. What other readers of the format do not know stands in
// one member.
type row struct {
	Timestamp float64         `json:"timestamp"` // ms since the first request
	Session   string          `json:"session_id"`
	Text      string          `json:"text_input,omitempty"`
	Messages  json.RawMessage `json:"messages,omitempty"`
	Tools     json.RawMessage `json:"tools,omitempty"`
	Payload   json.RawMessage `json:"payload,omitempty"`
	Extra     json.RawMessage `json:"extra,omitempty"`
	In        int64           `json:"input_length,omitempty"`
	Out       int64           `json:"output_length,omitempty"`
	Blocks    []uint64        `json:"hash_ids,omitempty"`
	Capture   seen            `json:"capture"`
}

// seen is what a capture knows beside what a trace has.
type seen struct {
	API     string   `json:"api"`
	Model   string   `json:"model,omitempty"`
	Stream  bool     `json:"stream,omitempty"`
	Block   int      `json:"block_size,omitempty"`
	In      int64    `json:"input_tokens,omitempty"`  // counted here, where the row has texts
	Blocks  []uint64 `json:"hash_ids,omitempty"`      // the same
	Prompt  *int64   `json:"prompt_tokens,omitempty"` // the server's own counts
	Output  *int64   `json:"completion_tokens,omitempty"`
	Cached  *int64   `json:"cached_tokens,omitempty"`
	Status  int      `json:"status,omitempty"`
	Broken  string   `json:"broken,omitempty"`
	Finish  string   `json:"finish_reason,omitempty"`
	First   *float64 `json:"ttft_ms,omitempty"`
	Latency float64  `json:"latency_ms"`
	Events  int64    `json:"events,omitempty"` // that carried content
}

// recorder writes exchanges down, one after another, in the order in which they were over.
type recorder struct {
	c      *Capture
	hasher hasher
	joiner *joiner
	ids    []int
	buf    bytes.Buffer
}

func newRecorder(c *Capture) *recorder {
	r := &recorder{c: c, hasher: hasher{key: c.key}}
	r.joiner = newJoiner(&r.hasher)
	return r
}

func (r *recorder) run() {
	for e := range r.c.done {
		if why := r.record(e); why != "" {
			r.c.lose(why)
		}
		e.release()
	}
}

// record writes one line, or says why it does not.
func (r *recorder) record(e *exchange) (why string) {
	switch {
	case e.lost != "":
		return e.lost
	case !e.complete:
		return bodyCut
	case r.c.limited():
		return behindLimit
	}
	var body map[string]json.RawMessage
	if json.Unmarshal(e.body, &body) != nil {
		return notJSON
	}
	tools, texts, ids := endpoint.Texts(e.body)
	prompt := strings.Join(slices.Concat(tools, texts), " ")
	r.ids = r.c.o.Tokenizer.Encode(r.ids[:0], prompt)
	if tokenizer.Err(r.c.o.Tokenizer) != nil {
		return uncounted
	}
	out := row{Timestamp: millis(r.c.since(e.arrived)), Capture: r.seen(e, body)}
	in := int64(len(r.ids)) + ids
	if in == 0 && r.c.o.Text != Keep {
		return withoutText
	}
	var blocks []uint64
	if r.c.o.Text != Lengths && ids == 0 {
		blocks = r.hasher.names(r.ids, r.c.o.Block)
		out.Capture.Block = r.c.o.Block
	}
	if r.c.o.Text == Keep {
		r.keep(&out, e, body)
		out.Capture.In, out.Capture.Blocks = in, blocks
	} else {
		out.In, out.Blocks = in, blocks
		if media(e.body) {
			r.c.lose(withMedia)
		}
	}
	var later bool
	said := ""
	if e.answer != nil {
		said = e.answer.text.String()
	}
	out.Session, later = r.joiner.join(messages(body), said)
	out.Out = r.output(e)
	return r.write(e, &out, in, later)
}

// seen is what was seen of an exchange beside its lengths.
func (r *recorder) seen(e *exchange, body map[string]json.RawMessage) seen {
	s := seen{
		API: e.spec.Type, Status: e.status, Broken: e.broken, Stream: string(body["stream"]) == "true",
		Latency: millis(e.ended - e.arrived),
	}
	var model string
	if json.Unmarshal(body["model"], &model) == nil {
		s.Model = words.Clip(secret.Shapes(model), 200)
	}
	a := e.answer
	if a == nil {
		return s
	}
	s.Finish, s.Events, s.Stream = a.reason, a.chunks, s.Stream || a.streamed
	for _, f := range []struct {
		to   **int64
		from int64
	}{{&s.Prompt, a.usage.Prompt}, {&s.Output, a.usage.Completion}, {&s.Cached, a.usage.Cached}} {
		if n := f.from; n != record.None {
			*f.to = &n
		}
	}
	if a.first != record.None && a.chunks > 0 {
		first := millis(a.first - e.arrived)
		s.First = &first
	}
	return s
}

// output is the length of the answer: the server's count where it says one, else that of
// its text. A request that failed asks for something, too.
func (r *recorder) output(e *exchange) int64 {
	a := e.answer
	if !e.spec.ProducesTokens {
		return 0
	}
	if a == nil {
		return 1
	}
	if a.unread != "" {
		r.c.lose(a.unread)
	}
	if n := a.usage.Completion; n > 0 {
		return n
	}
	if a.cut {
		r.c.lose(longAnswer)
	}
	tok := r.c.o.Tokenizer
	return max(1, int64(tok.Count(a.text.String())+tok.Count(a.other.String())))
}

// write is the end of record.
func (r *recorder) write(e *exchange, out *row, in int64, later bool) string {
	r.buf.Reset()
	enc := json.NewEncoder(&r.buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(out) != nil {
		return notJSON
	}
	if err := r.c.out.append(e.arrived, r.buf.Bytes()); err != nil {
		r.c.reached()
		return notWritten
	}
	r.c.count(out, in, later)
	return ""
}

// millis is a time in ms, to the microsecond.
func millis(d time.Duration) float64 { return math.Round(float64(d)/1e3) / 1e3 }
