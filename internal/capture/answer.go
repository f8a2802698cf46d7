package capture

import (
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/loadgen/transport/wire"
)

// What is kept of an answer while it passes, in bytes.
const (
	mostText  = 1 << 20  // of its words
	mostEvent = 4 << 20  // of one event
	mostWhole = 8 << 20  // of one that is not a stream
	mostWords = 24 << 20 // of all that are coming or not written down yet
	mostParts = 4096     // whose numbers are remembered, where the API repeats parts
)

// answer is what an answer says, read piece by piece while it passes.
type answer struct {
	spec   *endpoint.Spec
	all    *atomic.Int64 // bytes that all answers of a capture keep
	mine   int64         // of them
	now    time.Duration // when the piece that is being read left
	decode *wire.Gunzip  // nil: it is not encoded
	feed   func(b []byte) error
	finish func() error

	streamed    bool
	plain       []byte
	usage       claims.Usage
	text, other strings.Builder // the words; reasoning and calls of tools
	cut         bool            // there were more of them than are kept
	first, last time.Duration   // of the content; record.None without any
	chunks      int64           // events with content
	reason      string          // why it stopped, in the server's word
	parts       map[int64]bool  // that came in pieces, where the API repeats them
	unread      string          // why it is not read any further
	errorInside bool            // the server reported an error inside it
}

func newAnswer(spec *endpoint.Spec, h http.Header, all *atomic.Int64) *answer {
	a := &answer{spec: spec, all: all, usage: claims.NoUsage, first: record.None, last: record.None}
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	switch {
	case kind == "text/event-stream":
		a.streamed = true
		sse := &wire.SSE{Limit: mostEvent, Event: func(data []byte, isError bool) error {
			if isError {
				a.errorInside = true
				return nil
			}
			a.event(data)
			return nil
		}}
		a.feed, a.finish = sse.Feed, func() error { return sse.EOF(func([]byte) bool { return true }) }
	case strings.Contains(kind, "ndjson") || strings.Contains(kind, "jsonl"):
		a.streamed = true
		lines := &wire.Lines{Limit: mostEvent, Event: func(l []byte) error { a.event(l); return nil }}
		a.feed, a.finish = lines.Feed, lines.EOF
	default:
		a.feed, a.finish = a.collect, func() error { a.event(a.plain); a.plain = nil; return nil }
	}
	switch strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding"))) {
	case "", "identity":
	case "gzip", "x-gzip":
		a.decode = wire.NewGunzip(a.feed)
	default:
		a.unread = otherEncoding
	}
	return a
}

// add takes a piece that left at at. What cannot be read passes all the same.
func (a *answer) add(b []byte, at time.Duration) {
	if a.unread != "" {
		return
	}
	a.now = at
	feed := a.feed
	if a.decode != nil {
		feed = a.decode.Feed
	}
	if err := feed(b); err != nil {
		a.giveUp()
	}
}

// giveUp reads no further.
func (a *answer) giveUp() {
	a.unread, a.plain = unreadable, nil
	if a.decode != nil {
		a.decode.Close()
		a.decode = nil
	}
}

// end is called once, when nothing comes any more; whole says that it passed to its end.
func (a *answer) end(whole bool) {
	if a.unread != "" {
		return
	}
	if a.decode != nil {
		if !whole {
			a.decode.Close()
		} else if err := a.decode.End(); err != nil {
			a.giveUp()
			return
		}
		a.decode = nil
	}
	if whole || a.streamed {
		if err := a.finish(); err != nil {
			a.giveUp()
		}
	}
	a.plain = nil
}

// collect keeps an answer that is not a stream: it is read as a whole.
func (a *answer) collect(b []byte) error {
	if len(a.plain)+len(b) > mostWhole || !a.hold(len(b)) {
		return wire.ErrTooLarge
	}
	if a.plain == nil {
		a.first = a.now
	}
	a.plain = append(a.plain, b...)
	return nil
}

// event reads one event, or the whole answer that is no stream. Some events carry nothing
// and are no part of the API; whatever they are, they passed.
func (a *answer) event(data []byte) {
	c, err := a.spec.Read(data, a.streamed)
	if err != nil {
		return
	}
	a.usage.Merge(&c.Usage)
	a.errorInside = a.errorInside || c.ErrKind != "" || c.ErrText != ""
	if c.Finish != "" {
		a.reason = words.Clip(c.Finish, 40)
	}
	if c.Empty || a.repeats(&c) {
		return
	}
	switch c.Kind {
	case record.Content, record.Reasoning, record.Tool:
	default:
		return
	}
	a.chunks++
	if a.first == record.None {
		a.first = a.now
	}
	a.last = a.now
	into := &a.text
	if c.Kind != record.Content || c.Choice != 0 {
		into = &a.other
	}
	a.say(into, c.Text)
	a.say(&a.other, c.Reasoning)
}

// say keeps words.
func (a *answer) say(into *strings.Builder, text string) {
	if room := mostText - a.text.Len() - a.other.Len(); len(text) > room {
		a.cut, text = true, text[:room]
	}
	if !a.hold(len(text)) {
		a.cut = true
		return
	}
	into.WriteString(text)
}

// hold takes n more bytes of what all answers may keep.
func (a *answer) hold(n int) bool {
	if a.all.Add(int64(n)) > mostWords {
		a.all.Add(-int64(n))
		return false
	}
	a.mine += int64(n)
	return true
}

// release gives them back.
func (a *answer) release() {
	a.all.Add(-a.mine)
	a.mine = 0
}

// repeats reports whether c brings once more what came in pieces.
func (a *answer) repeats(c *endpoint.Chunk) bool {
	if c.Final {
		return a.parts[c.Part]
	}
	if c.Part != 0 && len(a.parts) < mostParts {
		if a.parts == nil {
			a.parts = map[int64]bool{}
		}
		a.parts[c.Part] = true
	}
	return false
}
