// Package transport moves bytes: it sends pre-rendered requests over
// connections it owns and stamps what comes back. In goes an Exchange, out
// comes the same Exchange, filled. It knows HTTP and event-stream framing and
// nothing of what bodies mean.
//
// The steps: Start takes an idle connection (pool.go) or dials one (dial.go)
// and writes the request on the caller's goroutine (conn.go). One goroutine
// lives with each connection: resident in a single raw read on Linux
// (raw_linux.go), in plain reads for TLS and elsewhere (pull.go). It feeds what
// it reads to the parsers of package wire and collects events with their
// stamps (reception.go). The same goroutine calls Done. Deadlines and
// cancellations wait in one heap with one goroutine (flight.go). HTTP/2 and
// proxies go through net/http behind the same Client (nethttp.go).
package transport

import (
	"slices"
	"sync/atomic"

	"aiperf.dev/aiperf/internal/record"
)

// Exchange is one request and its response. The caller owns it before Start
// and after Done was called; in between it belongs to the client.
type Exchange struct {
	// Asked for.
	Target      int    // index into Config.Targets
	Path        string // request target below the target's own path, "/v1/chat/completions"
	Root        bool   // Path, query and all, is below the server, whatever the target's own path and query
	Method      string // "" means POST; another one is sent without a body
	Header      []byte // extra header lines, each ended by CRLF, pre-rendered
	Body        []byte
	Stream      bool     // expect an event stream
	SizeOnly    bool     // the answer is no text: only its size and digest are kept
	Bulk        []string // members of JSON answers whose long texts are not kept either
	Affinity    string   // connection key for sticky sessions, "" otherwise
	Deadline    int64    // ns since T0 after which it fails with Timeout; record.None for never
	CancelAfter int64    // ns after WriteEnd at which it is cancelled on purpose; record.None for never
	// called per event on the connection's goroutine as it arrives; must not block, nor keep data; may be nil
	OnEvent func(data []byte)
	// whether an event is the last of a stream, where another than [DONE] is; as OnEvent; may be nil
	Ends func(data []byte) bool
	// called exactly once, on any goroutine but never from within Start; must not block for long
	Done func(*Exchange)

	Opaque   bool // SizeOnly, where the answer's type says that it is sound, pictures or bytes
	Detailed bool // keep ResponseHeader, Local and Remote, and what Bulk and Opaque would leave out

	// Filled in. Times are ns since T0 of Config.Clock, record.None if they did not happen.
	BytesReceived                               int64
	heard                                       int64   // when something of the answer last came, 0 before; see Heard
	Events                                      []Event // in order of arrival
	buffers                                     *buffers
	Sent, WriteEnd, FirstByte, End, CancelAsked int64
	DNS, Dial, TLS                              int64 // ns spent
	// ns before Sent in which its connection was being opened, without what this program
	// was late by then; see record.Record
	Connecting int64
	Reused     bool
	// Resent: it was sent a second time, on a fresh connection, because the
	// server had closed the one that was kept alive. Sent is of the first time,
	// WriteEnd, DNS, Dial and TLS are of the second.
	Resent bool
	// ResentRead: as Resent, and the server had the whole request, did not close
	// because of the answer before, and reset nothing: it may have worked on it.
	ResentRead bool
	// Connected is when its target was last connected to, of an exchange that found
	// no connection; record.None for never.
	Connected            int64
	Status               record.Status // OK as far as HTTP can say
	HTTPStatus           int64
	Reason               string // reason phrase
	ContentType          string
	RetryAfter           string
	Location             string // where a redirect leads
	ErrorKind, ErrorText string
	BytesSent            int64
	ReceiveLag           float64 // µs, NaN if unknown

	// Media is how many bytes of the answer are what Bulk names, SizeOnly or
	// Opaque, none when it has nothing of the kind; MediaSHA is the beginning of
	// their SHA-256 in hex.
	Media          int64
	MediaSHA       string
	AllMedia       bool   // all of the answer is such bytes
	Payload        []byte // the body; of a stream all event payloads one after the other, once they are unpacked
	Streamed       bool   // the answer was an event stream on the wire
	ResponseHeader []byte // its lines as they came
	TimeLines      []byte // the same, kept where one says how long the server took
	Local, Remote  string // addresses of the connection, host:port; "" when unknown

	OwnEnd     bool // the last event is a mark [DONE] of ours: a gRPC stream ends by its status
	Unfinished bool // the stream ended inside an event, which was dropped
	User       any  // the caller's

	op       *op
	unpacked *[]byte // what Payload is in, if a stream was unpacked
}

// Event is one message of the response: Payload[Start:End] and its stamp.
type Event struct {
	Start, End int32
	Left       int64 // bytes of it that were not kept
	At, Low    int64 // see record.Chunk
	SameRead   bool
	Error      bool // its event field said "error"
}

// Heard is when something of the answer last came, ns since T0, 0 before it. It may be
// asked at any time.
func (x *Exchange) Heard() int64 { return atomic.LoadInt64(&x.heard) }

// Hear notes that something of the answer came at a time. It is for the client that has
// the exchange.
func (x *Exchange) Hear(at int64) { atomic.StoreInt64(&x.heard, at) }

// Data is the payload of event i. It is unpacked first.
func (x *Exchange) Data(i int) []byte { e := x.Events[i]; return x.Unpack()[e.Start:e.End] }

// Unpack lays out the events of a stream in Payload, if that is not done yet.
// It is for those who own the exchange after Done.
func (x *Exchange) Unpack() []byte {
	if b := x.buffers; b != nil && b.packed.size > 0 && x.unpacked == nil {
		x.unpacked = new([]byte)
		if x.op != nil {
			x.unpacked = x.op.cl.unpacked.Get().(*[]byte)
		}
		x.Payload = b.packed.appendTo(slices.Grow((*x.unpacked)[:0], b.packed.size))
	}
	return x.Payload
}

// Config is what a client needs to know about a run.
type Config struct {
	Targets                       []string // base URLs, http or https
	Clock                         record.Clock
	Reuse                         string // pooled, never, sticky-user-sessions
	MaxConns                      int    // expected number of requests in flight; 0 unknown
	Insecure                      bool
	CAFile, ClientCert, ClientKey string
	HTTP2                         bool
	ProxyEnv                      bool
	SourceAddresses               []string
	MaxBody                       int64  // bytes kept per response; 0 means 64 MiB
	UserAgent                     string // "" means aiperf
}

// Stats is what a client did so far.
type Stats struct {
	Dials      int64 // connections opened, or tried
	Reconnects int64 // idle connections found closed by the server before anything was written
	Reused     int64 // requests carried by a connection that existed
	Resent     int64 // requests sent a second time; see Exchange.Resent
	StampError StampError
	Closers    []string // targets that close kept connections so often that each request gets a fresh one
	// targets that left bodies open after the mark of their end: these were ended at it, their connections closed
	Endless  []Answers
	Unasked  []Answers // targets that sent something after an answer, when nothing was asked
	Older    []Answers // targets that answered in HTTP/1.1 where HTTP/2 was asked for
	Stamps   string    // "kernel" or "application": the best kind any target gets
	Exact    int64     // events whose arrival is known
	Interval int64     // events whose arrival is only bounded from both sides
	// ClockJumps counts changes of the wall clock against the monotonic one by
	// more than 10 µs within a second; ClockJump is the largest, in ns. Kernel
	// stamps around a jump are off by up to that much.
	ClockJumps, ClockJump int64
}

// Answers are so many of one target.
type Answers struct {
	Target  string
	Answers int64
}
