package mockserver

import (
	"bufio"
	"encoding/json"
	"io"
	"time"
)

// Entry is one line of the log: what the server knows to be true about one
// request. Times are ns on the server's monotonic clock; adding WallOffset
// gives Unix ns. A time that did not come is 0 and left out.
type Entry struct {
	N          int64   `json:"n"` // ordinal of arrival
	RequestID  string  `json:"x_request_id,omitempty"`
	SessionID  string  `json:"x_correlation_id,omitempty"`
	Path       string  `json:"path"`
	Model      string  `json:"model,omitempty"`
	Stream     bool    `json:"stream"`
	Conn       int64   `json:"conn"`     // ordinal of the connection
	ConnReq    int64   `json:"conn_req"` // ordinal of the request on it
	Status     int     `json:"status"`
	Fault      string  `json:"fault,omitempty"`
	Aborted    bool    `json:"aborted"`            // the client went away
	Recv       int64   `json:"recv_ns"`            // header and body were read
	Start      int64   `json:"start_ns"`           // its turn came: a worker or a place in the batch; else as recv
	First      int64   `json:"first_ns,omitempty"` // first content, or a whole answer, handed to the kernel
	Last       int64   `json:"last_ns,omitempty"`
	End        int64   `json:"end_ns"`
	InTokens   int     `json:"in_tok"`
	Cached     int     `json:"cached_tok,omitempty"` // of these, said to be read from a cache
	Preempted  int     `json:"preempted,omitempty"`  // times it lost its blocks to older sequences
	OutTokens  int     `json:"out_tok"`              // tokens sent, reasoning included
	Reasoning  int     `json:"rea_tok"`
	Item       string  `json:"item,omitempty"`   // the known question that it asked
	Answer     string  `json:"answer,omitempty"` // right, wrong, corrupted, swapped, shortened or garbled
	Chunks     []Chunk `json:"chunks"`
	WallOffset int64   `json:"wall_off"`
}

// Chunk is one event of an answer: header, role, content, reasoning, body,
// error, done or end (of the HTTP message).
type Chunk struct {
	At     int64 // just before the kernel took its first byte
	Bytes  int
	Kind   string
	Tokens int
}

// MarshalJSON writes [at, bytes, kind, tokens].
func (c Chunk) MarshalJSON() ([]byte, error) {
	return json.Marshal([4]any{c.At, c.Bytes, c.Kind, c.Tokens})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Chunk) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&c.At, &c.Bytes, &c.Kind, &c.Tokens})
}

// logger writes entries from a goroutine of its own: the scheduler has no time
// for JSON.
type logger struct {
	queue chan *exchange
	done  chan error
	wall  int64
}

// backlog is how many finished requests may wait for the disk before the
// scheduler has to.
const backlog = 4096

func newLogger(w io.Writer, began time.Time) *logger {
	l := &logger{make(chan *exchange, backlog), make(chan error, 1), began.UnixNano()}
	go func() { l.done <- l.run(bufio.NewWriterSize(w, 64<<10)) }()
	return l
}

func (l *logger) write(x *exchange) { l.queue <- x }

// close writes what is left and returns the first error of any write.
func (l *logger) close() error {
	close(l.queue)
	return <-l.done
}

func (l *logger) run(w *bufio.Writer) (first error) {
	enc := json.NewEncoder(w)
	for x := range l.queue {
		err := enc.Encode(l.entry(x))
		if err == nil && len(l.queue) == 0 {
			err = w.Flush()
		}
		if first == nil {
			first = err
		}
	}
	if err := w.Flush(); first == nil {
		first = err
	}
	return first
}

func (l *logger) entry(x *exchange) Entry {
	e := Entry{
		N: x.n, RequestID: x.requestID, SessionID: x.sessionID, Path: x.path, Model: x.call.Model,
		Stream: x.call.Stream,
		Conn:   x.conn.ordinal, ConnReq: x.connReq, Status: x.status, Fault: fateNames[x.fate], Aborted: x.lost,
		Recv: x.recv, Start: x.start, End: x.end, InTokens: x.in, Cached: x.script.Cached, Preempted: x.preempted,
		Chunks: make([]Chunk, 0, x.stamped), WallOffset: l.wall,
	}
	if x.known != nil {
		e.Item, e.Answer = x.known.item, x.said
	}
	for _, m := range x.marks[:x.stamped] {
		e.Chunks = append(e.Chunks, Chunk{m.at, m.bytes, m.kind, m.tokens})
		if m.tokens == 0 && m.kind != "body" {
			continue
		}
		if e.First == 0 {
			e.First = m.at
		}
		e.Last = m.at
		e.OutTokens += m.tokens
		if m.kind == "reasoning" {
			e.Reasoning += m.tokens
		}
	}
	if !x.call.Stream && e.OutTokens > 0 {
		e.Reasoning = x.script.Reasoning
	}
	return e
}
