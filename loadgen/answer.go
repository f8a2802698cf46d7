package loadgen

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/loadgen/transport"
)

// answer is what the events of one response said.
type answer struct {
	text, reasoning, tool []byte
	chunks                []record.Chunk
	usage                 claims.Usage
	finish                string
	model                 string // what it names as its model
	choice                int64  // the answer that counts, of several to one request; None before its content
	first, firstOutput    int64  // content's arrival, None without any
	last                  int64
	ended                 bool // an end mark or a finish reason came
	marked                bool // it must end with a mark, though its endpoint type does not say so
	done                  bool // the end mark came, or a last message
	content               int  // events that carried content
	items, dims, places   int64
	thing                 string // what the items are, where the answer says so
	media                 bool   // it is bytes, and no text at all
	timings               claims.Timings
	parts                 map[int64]bool // parts of the answer that came in pieces, where the API repeats them

	named string // the model of an earlier answer: nearly all name the same

	errKind, errText string // what is wrong with it, "" when nothing is
}

// readAnswer reads all events of x. Its buffers may be those of an answer that
// is not needed any more.
func readAnswer(a *answer, x *transport.Exchange, spec *endpoint.Spec) {
	*a = answer{
		text: a.text[:0], reasoning: a.reasoning[:0], tool: a.tool[:0], chunks: a.chunks[:0],
		usage: claims.NoUsage, choice: record.None, first: record.None, firstOutput: record.None, last: record.None,
		parts: a.parts, timings: claims.NoTimings, named: a.named,
	}
	clear(a.parts)
	if t := claims.HeaderTimings(x.TimeLines); t != nil {
		a.timings = *t
	}
	if a.media = x.AllMedia; a.media {
		a.add(&x.Events[0], &endpoint.Chunk{Kind: record.Content, Items: 1, Usage: claims.NoUsage}, 0)
		return
	}
	for i := range x.Events {
		ev := &x.Events[i]
		data := x.Data(i)
		if i == 0 {
			data = bytes.TrimPrefix(data, byteOrderMark)
		}
		if x.Streamed && !ev.Error && len(bytes.TrimSpace(data)) == 0 {
			continue // keeps the connection alive
		}
		c, err := spec.Read(data, x.Streamed)
		switch {
		case c.ErrKind != "" || c.ErrText != "":
			a.fail("server_error", strings.TrimPrefix(c.ErrKind+": "+c.ErrText, "error: "))
		case ev.Error:
			a.fail(saidKind(data), string(bytes.TrimSpace(data)))
		case err != nil:
			text := err.Error()
			if x.Streamed {
				text = fmt.Sprintf("event %d of the stream: %s", i+1, text)
			}
			kind := unreadableKind(data)
			if errors.Is(err, endpoint.ErrMissed) {
				kind = missedKind
			}
			a.fail(kind, text)
		}
		if err == nil && !ev.Error {
			a.add(ev, &c, len(data))
		}
		if a.done {
			return // nothing after an end mark counts
		}
	}
}

// byteOrderMark begins texts of some servers, and says nothing.
var byteOrderMark = []byte("\xEF\xBB\xBF")

// fail keeps the first thing that is wrong.
func (a *answer) fail(kind, text string) {
	if a.errKind == "" {
		a.errKind, a.errText = kind, text
	}
}

// saidKind names what a server says in place of an answer.
func saidKind(data []byte) string {
	if unreadableKind(data) == "html" {
		return "html"
	}
	return "server_error"
}

// unreadableKind names what came instead of an answer.
func unreadableKind(data []byte) string {
	head := bytes.ToLower(bytes.TrimSpace(data[:min(len(data), 64)]))
	if bytes.HasPrefix(head, []byte("<!doctype")) || bytes.HasPrefix(head, []byte("<html")) {
		return "html"
	}
	return "bad_json"
}

// add takes in one event.
func (a *answer) add(ev *transport.Event, c *endpoint.Chunk, size int) {
	a.usage.Merge(&c.Usage)
	a.items += c.Items
	a.thing = cmp.Or(c.Thing, a.thing)
	a.dims, a.places = max(a.dims, c.Dims), max(a.places, c.Places)
	if c.Timings != nil {
		a.timings.Merge(*c.Timings)
	}
	a.marked = a.marked || c.Marked
	if c.Model != "" && a.model == "" {
		if c.Model != a.named {
			a.named = strings.Clone(words.Line(c.Model))
		}
		a.model = a.named
	}
	if a.choice != record.None && c.Choice != a.choice && (!c.Empty || c.Finish != "") {
		return // of another answer to the same request
	}
	if c.Finish != "" {
		a.finish, a.ended = c.Finish, true
	}
	if c.Kind == record.Done || c.Last {
		a.ended, a.done = true, true
	}
	if c.Empty && carries(c.Kind) {
		return // a role, a keep-alive, a finish reason
	}
	if a.repeats(c) {
		return
	}
	a.chunks = append(a.chunks, record.Chunk{
		At: ev.At, Low: ev.Low, Bytes: int32(min(int64(size)+ev.Left, math.MaxInt32)),
		Tokens: int32(c.Tokens), Kind: c.Kind, SameRead: ev.SameRead,
	})
	if c.Empty || !carries(c.Kind) {
		return
	}
	a.content++
	a.choice = c.Choice
	if a.first == record.None {
		a.first = ev.At
	}
	if c.Kind != record.Reasoning && a.firstOutput == record.None {
		a.firstOutput = ev.At
	}
	a.last = ev.At
	a.reasoning = append(a.reasoning, c.Reasoning...)
	switch c.Kind {
	case record.Reasoning:
		a.reasoning = append(a.reasoning, c.Text...)
	case record.Tool:
		a.tool = append(a.tool, c.Text...)
	default:
		a.text = append(a.text, c.Text...)
	}
}

// repeats reports whether c brings once more what came in pieces.
func (a *answer) repeats(c *endpoint.Chunk) bool {
	if c.Final {
		return a.parts[c.Part]
	}
	if c.Part != 0 && !a.parts[c.Part] {
		if a.parts == nil {
			a.parts = map[int64]bool{}
		}
		a.parts[c.Part] = true
	}
	return false
}

// verdict is how a request that went well over HTTP really ended.
func (a *answer) verdict(x *transport.Exchange, spec *endpoint.Spec) (status record.Status, kind, text string) {
	switch {
	case a.errKind != "":
		return record.ParseError, a.errKind, a.errText
	case x.Unfinished && !a.done:
		return record.Truncated, "unfinished_event", "the stream ended inside an event"
	case x.Streamed && spec.ProducesTokens && (!spec.NoEnd || a.marked) && !a.ended && a.content > 0:
		return record.Truncated, "no_end", noEnd(spec)
	case x.Streamed && spec.Items != "" && spec.CanStream && !a.ended && a.items == 0 &&
		a.content > 0: // partial images
		return record.Truncated, "no_end", noEnd(spec)
	case a.content == 0 && spec.TextAt != "" && len(x.Payload) > 0:
		return record.ParseError, missedKind, noContent(x, spec)
	case a.content == 0:
		return record.ParseError, "no_content", noContent(x, spec)
	}
	return record.OK, "", ""
}

// missedKind is the error of an answer without what a setting names as its text.
const missedKind = "no_field"

func noEnd(spec *endpoint.Spec) string {
	if spec.EndAt != "" {
		return "the stream ended, and " + spec.EndAt + " was true of none of its messages"
	}
	return "the stream ended without a finish reason or an end mark"
}

func noContent(x *transport.Exchange, spec *endpoint.Spec) string {
	all := x.Payload
	if x.OwnEnd {
		all = all[:x.Events[len(x.Events)-1].Start]
	}
	switch begins := strings.ToValidUTF8(string(all[:min(len(all), 80)]), "?"); {
	case begins == "":
		return "the answer is empty"
	case spec.TextAt != "":
		return spec.TextAt + " finds nothing in the answer, which begins " + begins
	default:
		return "the answer carries no content: it begins " + begins
	}
}

// output is all text but the reasoning, as AIPerf counts it: prose, and of each
// tool call its name and arguments, encoded together. What a server counts of a
// call may be more, such as the marks of its template, or less.
func (a *answer) output() []byte {
	switch {
	case len(a.tool) == 0:
		return a.text
	case len(a.text) == 0:
		return a.tool
	}
	return slices.Concat(a.text, a.tool)
}

// said is what goes into the history as the assistant's turn: its reasoning only
// where there is nothing else.
func (a *answer) said() string {
	for _, said := range [][]byte{a.text, a.tool} {
		if len(said) > 0 {
			return string(said)
		}
	}
	return string(a.reasoning)
}

// dataOf is what the events of an answer say.
func dataOf(x *transport.Exchange) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := range x.Events {
			if !yield(x.Data(i)) {
				return
			}
		}
	}
}

// carries reports whether events of the kind bring content.
func carries(k record.Kind) bool { return record.Chunk{Kind: k}.IsContent() }
