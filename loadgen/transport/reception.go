package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport/wire"
)

const (
	defaultMaxBody = 64 << 20
	maxErrorBody   = 64 << 10 // bytes kept of the body of an answer that is not 2xx
	maxErrorText   = 1 << 10  // bytes of it that become ErrorText
	maxBelieved    = 64       // room made for an answer, as a multiple of what has come of it
	maxRecycled    = 1 << 20  // a larger payload buffer is left to the garbage collector
)

// buffers is what an exchange borrows to hold an answer.
type buffers struct {
	body   []byte // of an answer in one piece
	packed packed // of a stream
	events []Event
}

type mode uint8

const (
	plain   mode = iota // the body is one event
	events              // text/event-stream
	lines               // newline-delimited JSON
	frames              // AWS's framing of either
	failure             // not 2xx: the body is the error's text
)

// Reasons to stop reading an answer before its end.
var (
	errEnough = errors.New("enough of the error body was read")
)

// reception turns the parts of one answer into an exchange's fields, with
// stamps. It is a wire.Sink and belongs to one goroutine at a time.
type reception struct {
	x      *Exchange
	most   int64 // bytes of this answer: more where all of it was asked for
	gunzip *wire.Gunzip
	framed *framed // of mode frames

	mode       mode
	sifts      bool // the answer goes through bulk
	opaque     bool // nothing of the answer is for reading
	recognised bool // what the body begins with was compared with what its type says
	isOdd      bool
	json       bool // its header says that it is JSON, or nothing
	loose      bool // JSON came as a stream: its lines may be events, or all of it one value

	stamp  stamp // of the read that is being parsed
	low    int64 // the stamp before it: nothing of this read came earlier
	mark   int64 // the stamp of the mark that ends a stream's answer; record.None before it
	timed  bool  // the end of the body is waited for since then, for afterMark at most
	inRead int   // events of this delivery so far
	bodyAt stamp // of the last read that had body bytes
	bodyLo int64 // the stamp before that
	lag    int64 // ns, largest of the exchange; −1 unknown
	sse    wire.SSE
	lines  wire.Lines

	bulk    *wire.Bulk // for what passes by (sift.go); one that was made is used again
	media   int64      // bytes of an answer that is opaque
	left    int64      // of bulk.Left, what belongs to events that have come
	length  int64      // of the body as its header says, −1 unknown
	odd     []byte     // of a body labelled as a stream that does not begin like one, its beginning
	maxBody int64
	free    *sync.Pool // of *buffers
}

// begin makes r ready for the answer to x, which is being sent.
func (r *reception) begin(x *Exchange) {
	r.x = x
	r.mode, r.framed = plain, nil
	r.sifts, r.opaque, r.left, r.media = false, false, 0, 0
	r.recognised, r.loose, r.isOdd, r.length, r.json = false, false, false, -1, false
	r.sse.Release()
	r.lines.Reset()
	r.gunzip = nil
	r.stamp = stamp{at: x.Sent, whole: true}
	r.bodyAt, r.inRead, r.lag = stamp{}, 0, -1
	r.mark, r.timed = record.None, false
	if r.sse.Event == nil {
		r.sse.Event, r.lines.Event = r.sseEvent, r.lineEvent
	}
	r.most = r.maxBody
	if x.Detailed && (len(x.Bulk) > 0 || x.Opaque || x.SizeOnly) {
		r.most = math.MaxInt32
	}
	r.sse.Limit, r.lines.Limit = int(r.most), int(r.most)
}

// arrive says that bytes of a read with stamp s follow.
func (r *reception) arrive(s stamp) {
	if s.seq == r.stamp.seq && r.stamp.seq != 0 {
		r.stamp.whole = r.stamp.whole && s.whole
		return
	}
	if r.stamp.whole { // else some of what is read now may have come with the read before
		r.low = r.stamp.at
	}
	if !s.kernel || s.at != r.stamp.at { // else it is the rest of one delivery
		r.inRead = 0
	}
	r.stamp = s
}

// depart says that all bytes fed since arrive were parsed. An event is exact
// if it is the only one of its read and the read ended with it; the kernel
// keeps one stamp per read, that of the newest bytes.
func (r *reception) depart() {
	if r.inRead == 0 {
		return
	}
	if r.stamp.kernel {
		r.lag = max(r.lag, r.stamp.now-r.stamp.at)
		partial := r.sse.Partial() || r.lines.Partial() || r.framed != nil && r.framed.wire.Partial()
		if e := &r.x.Events[len(r.x.Events)-1]; partial || !r.stamp.whole {
			e.Low = r.low
		}
	}
}

// Begin is called at the first byte of a response header.
func (r *reception) Begin() { r.x.FirstByte = r.stamp.at }

// Head takes a complete response header.
func (r *reception) Head(h *wire.Head) error {
	x := r.x
	x.HTTPStatus = int64(h.Status)
	x.Reason = intern(h.Reason)
	r.length = h.Length
	x.ContentType = intern(h.ContentType)
	x.RetryAfter, x.Location = intern(h.RetryAfter), string(h.Location)
	if h.Timed {
		x.TimeLines = bytes.Clone(h.Lines)
	}
	if x.Detailed {
		x.ResponseHeader = bytes.Clone(h.Lines)
	}
	x.buffers = r.free.Get().(*buffers)
	x.Payload, x.Events = x.buffers.body[:0], x.buffers.events[:0]
	x.buffers.packed.reset()
	switch media, _, _ := strings.Cut(x.ContentType, ";"); {
	case h.Status/100 != 2:
		r.mode = failure
	case strings.EqualFold(strings.TrimSpace(media), "text/event-stream"):
		r.mode, x.Streamed = events, true
	case isLines(strings.TrimSpace(media)):
		r.mode, x.Streamed = lines, true
	case strings.EqualFold(strings.TrimSpace(media), "application/vnd.amazon.eventstream"):
		r.mode, x.Streamed = frames, true
		r.framed = newFramed(r)
	default:
		media = strings.TrimSpace(media)
		r.json = media == "" || strings.EqualFold(media, "application/json")
	}
	switch coding := strings.ToLower(string(h.ContentEncoding)); coding {
	case "", "identity":
	case "gzip", "x-gzip":
		r.gunzip = wire.NewGunzip(r.decoded)
	default:
		if r.mode != failure {
			return fmt.Errorf("%w %q, which was not asked for", wire.ErrEncoding, coding)
		}
	}
	r.sift()
	return nil
}

func isLines(media string) bool {
	switch strings.ToLower(media) {
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
		"application/jsonlines":
		return true
	}
	return false
}

// intern is string(b) without an allocation for what nearly every answer says.
func intern(b []byte) string {
	switch string(b) {
	case "":
		return ""
	case "OK":
		return "OK"
	case "application/json":
		return "application/json"
	case "text/event-stream":
		return "text/event-stream"
	case "text/event-stream; charset=utf-8":
		return "text/event-stream; charset=utf-8"
	}
	return string(b)
}

// Body takes body bytes as they were sent.
func (r *reception) Body(b []byte) error {
	r.bodyAt, r.bodyLo = r.stamp, r.low
	if r.gunzip != nil {
		return r.gunzip.Feed(b)
	}
	return r.decoded(b)
}

// plain takes what is to be read of the body.
func (r *reception) plain(b []byte) error {
	if !r.recognised {
		b = r.recognise(b)
	}
	switch r.mode {
	case events:
		if r.isOdd && len(r.x.Events) == 0 {
			r.odd = append(r.odd, b[:min(len(b), maxErrorText-len(r.odd))]...)
		}
		return r.sse.Feed(b)
	case lines:
		return r.lines.Feed(b)
	case frames:
		return r.framed.wire.Feed(b)
	case failure:
		room := maxErrorBody - len(r.x.Payload)
		r.x.Payload = append(r.x.Payload, b[:min(room, len(b))]...)
		if len(b) > room {
			return errEnough
		}
		return nil
	}
	return r.keep(b)
}

// streamFields begin the lines of an event stream; the first two tell one from a text.
var streamFields = [][]byte{[]byte("data:"), []byte("event:"), []byte(":"), []byte("id:"), []byte("retry:")}

// byteOrderMark may stand before any text.
var byteOrderMark = []byte("\xEF\xBB\xBF")

// recognise holds the first bytes of a body against its content type, which is
// often wrong: JSON comes labelled as a stream, and a stream as JSON. It returns
// what is to be parsed now: less than it got while too little is there to tell.
func (r *reception) recognise(b []byte) []byte {
	switch r.mode {
	case events:
		start := bytes.TrimLeft(bytes.TrimPrefix(b, byteOrderMark), " \t\r\n")
		if r.recognised = len(start) > 0; r.recognised && (start[0] == '{' || start[0] == '[') {
			r.mode, r.loose = lines, true
		} else if r.recognised {
			r.isOdd = !slices.ContainsFunc(streamFields, func(field []byte) bool {
				n := min(len(start), len(field))
				return bytes.Equal(start[:n], field[:n])
			})
		}
		return b
	case plain:
		all := b
		if n := len(r.x.Payload); n > 0 {
			all = append(r.x.Payload[:n:n], b...)
		}
		start := bytes.TrimLeft(bytes.TrimPrefix(all, byteOrderMark), " \t\r\n")
		fields := streamFields[:2]
		if r.json { // which begins with none of them
			fields = streamFields
		}
		for _, field := range fields {
			if bytes.HasPrefix(start, field) {
				r.mode, r.recognised, r.x.Streamed = events, true, true
				r.x.Payload = r.x.Payload[:0]
				return all
			}
			if bytes.HasPrefix(field, start) { // as far as it goes
				return b
			}
		}
	}
	r.recognised = true
	return b
}

// wholeEvent reports whether the data of a stream's last event, which no blank
// line follows, is all there.
func wholeEvent(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && (data[0] == '{' || data[0] == '[') && (json.Valid(data) || string(data) == "[DONE]")
}

// oneValue makes one answer of JSON that came labelled as a stream, unless its
// first line is a value by itself and others follow.
func (r *reception) oneValue() {
	x := r.x
	if len(x.Events) == 0 {
		return
	}
	all := x.Unpack()
	if len(x.Events) > 1 && json.Valid(bytes.TrimPrefix(all[x.Events[0].Start:x.Events[0].End], byteOrderMark)) {
		return
	}
	x.Streamed = false
	x.Payload = append(x.buffers.body[:0], all...)
	x.buffers.packed.reset()
	x.unpacked = nil
	x.Events = x.Events[:0]
	r.inRead, r.left = 0, 0
	r.event(Event{End: int32(len(x.Payload))}, r.bodyAt, r.bodyLo)
}

// keep appends to the payload, within the limit.
func (r *reception) keep(b []byte) error {
	if err := r.fits(len(r.x.Payload) + len(b)); err != nil {
		return err
	}
	r.x.Payload = append(r.room(len(b)), b...)
	return nil
}

// room is the payload with room for n bytes more. That of a large answer is made
// once, for all of it, where its header says how much that is: growing step by
// step would hold it twice. No header makes us hold more than maxBelieved times
// what has come. Without one it doubles, up to what an answer may have: all that
// is allocated is then at most four times the answer; append, which grows by a
// quarter, took five times 20 MB.
func (r *reception) room(n int) []byte {
	p := r.x.Payload
	need := int64(len(p) + n)
	if need <= int64(cap(p)) || len(p) < maxRecycled/2 {
		return p
	}
	all := max(need, min(2*int64(cap(p)), r.most))
	if r.length > need && r.length <= r.most {
		all = min(r.length, maxBelieved*need)
	}
	return append(make([]byte, 0, all), p...)
}

// fits says whether an answer may have so many bytes.
func (r *reception) fits(n int) error {
	if int64(n) > r.most {
		return fmt.Errorf("answer: %w of %d bytes", wire.ErrTooLarge, r.most)
	}
	return nil
}

func (r *reception) lineEvent(data []byte) error { return r.sseEvent(data, false) }

// sseEvent takes one event of the stream.
func (r *reception) sseEvent(data []byte, isError bool) error {
	p := &r.x.buffers.packed
	start := p.size
	if err := r.fits(start + len(data)); err != nil {
		return err
	}
	p.add(data)
	if r.mark == record.None && r.ends(data) {
		r.mark = r.stamp.at
	}
	r.event(Event{Start: int32(start), End: int32(p.size), Error: isError}, r.stamp, r.low)
	if r.x.OnEvent != nil {
		r.x.OnEvent(data)
	}
	return nil
}

// ends reports whether an event is the mark of a stream's end: nothing after it
// belongs to the answer.
func (r *reception) ends(data []byte) bool {
	return r.mode == events && string(bytes.TrimSpace(data)) == "[DONE]" || r.x.Ends != nil && r.x.Ends(data)
}

// event notes e, which came with stamp s.
func (r *reception) event(e Event, s stamp, low int64) {
	x := r.x
	e.At, e.Low = s.at, s.at
	if r.sifts {
		e.Left = r.bulk.Left - r.left
		r.left = r.bulk.Left
	}
	if r.inRead++; r.inRead > 1 {
		e.SameRead, e.Low = true, low
		x.Events[len(x.Events)-1].Low = low
	}
	x.Events = append(x.Events, e)
}

// end completes an answer whose bytes have all come, and says how it ended.
func (r *reception) end() ending {
	x := r.x
	if r.gunzip != nil {
		if err := r.gunzip.End(); err != nil && r.mode != failure {
			return r.broken(err)
		}
	}
	x.End = r.stamp.at
	switch r.mode {
	case failure:
		return r.refused()
	case plain:
		if len(x.Payload) > 0 || r.media > 0 {
			r.wholeBody()
		}
	case lines:
		if err := r.lines.EOF(); err != nil {
			return r.broken(err)
		}
		if r.loose {
			r.oneValue()
		}
	case events:
		if err := r.sse.EOF(wholeEvent); err != nil {
			return r.broken(err)
		}
		x.Unfinished = r.sse.Partial()
		if len(r.odd) > 0 && len(x.Events) == 0 && !x.Unfinished {
			if err := r.sseEvent(r.odd, true); err != nil { // what it says in place of a stream
				return r.broken(err)
			}
		}
	case frames:
		x.Unfinished = r.framed.wire.Partial() || r.sse.Partial()
		if err := r.lines.EOF(); err != nil {
			return r.broken(err)
		}
	}
	return ending{status: record.OK, asked: record.None}
}

// endAtMark completes an answer whose mark has come and whose body did not end: at its
// mark, or when nobody waited any longer, for until then it kept a slot.
func (r *reception) endAtMark(at int64) ending {
	r.x.End = max(r.mark, at)
	return ending{status: record.OK, asked: record.None}
}

// wholeBody notes the body as one event. It arrived with its last byte, which
// the end of the framing may follow in a later read.
func (r *reception) wholeBody() {
	r.inRead = 0
	e := Event{End: int32(len(r.x.Payload))}
	if r.opaque {
		e.Left = r.media - int64(len(r.x.Payload))
	}
	r.event(e, r.bodyAt, r.bodyLo)
	if r.x.OnEvent != nil {
		r.x.OnEvent(r.x.Payload)
	}
	if r.bodyAt.kernel {
		r.lag = max(r.lag, r.bodyAt.now-r.bodyAt.at)
		if !r.bodyAt.whole {
			r.x.Events[0].Low = r.bodyLo
		}
	}
}

// refused is the end of an answer that is not 2xx.
func (r *reception) refused() ending {
	x := r.x
	text := excerpt(x.Payload)
	if text == "" {
		text = x.Reason
	}
	return ending{status: record.HTTPError, kind: fmt.Sprintf("http_%d", x.HTTPStatus), text: text, asked: record.None}
}

// excerpt is the beginning of a body as text.
func excerpt(b []byte) string {
	s := strings.TrimSpace(strings.ToValidUTF8(string(b[:min(len(b), maxErrorText)]), "\uFFFD"))
	for len(s) > maxErrorText {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}

// broken is the end of an answer that could not be read on because of err.
func (r *reception) broken(err error) ending {
	e := ending{status: record.ParseError, kind: "http", text: err.Error(), asked: record.None}
	switch {
	case errors.Is(err, errEnough):
		return r.refused()
	case errors.Is(err, wire.ErrTooLarge):
		e.kind = "too_large"
	case errors.Is(err, wire.ErrEncoding):
		e.kind = "encoding"
	}
	return e
}

// cut is the end of an answer after whose first bytes the connection broke.
func (r *reception) cut(err error) ending {
	if r.x.HTTPStatus >= 300 {
		return r.refused()
	}
	e := ending{
		status: record.Truncated, kind: "truncated",
		text: "the connection was closed before the end of the answer", asked: record.None,
	}
	if !errors.Is(err, io.EOF) {
		e.kind, _ = classify(err)
		e.text = "the connection broke before the end of the answer: " + reason(err)
	}
	return e
}

// fill moves what r gathered to the exchange, which another goroutine may
// own from now on.
func (r *reception) fill() {
	if r.lag >= 0 {
		r.x.ReceiveLag = float64(r.lag) / 1e3
	}
	if r.gunzip != nil {
		r.gunzip.Close()
		r.gunzip = nil
	}
	r.weigh()
	r.sse.Release()
	r.lines.Reset()
	r.x, r.framed, r.odd = nil, nil, nil
}

// reset clears what a Client fills in.
func (x *Exchange) reset() {
	const none = record.None
	x.Sent, x.WriteEnd, x.FirstByte, x.End, x.CancelAsked = none, none, none, none, none
	x.DNS, x.Dial, x.TLS, x.Connecting, x.HTTPStatus, x.Connected = none, none, none, none, none, none
	x.Reused, x.Streamed, x.Unfinished, x.OwnEnd = false, false, false, false
	x.Status, x.Reason, x.ContentType, x.RetryAfter, x.Location, x.ErrorKind, x.ErrorText = "", "", "", "", "", "", ""
	x.BytesSent, x.BytesReceived, x.Media, x.MediaSHA, x.AllMedia = 0, 0, 0, "", false
	x.ReceiveLag = math.NaN()
	x.Hear(0)
	x.Payload, x.Events, x.buffers, x.unpacked = nil, nil, nil, nil
	x.ResponseHeader, x.TimeLines, x.Local, x.Remote = nil, nil, "", ""
}
