package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Sink takes what a Response finds. Slices are borrowed for the call.
type Sink interface {
	// Begin: the first byte of a header was fed. It is called again when that
	// header turned out to be an interim (1xx) one.
	Begin()
	// Head: the header of the final response is complete.
	Head(*Head) error
	// Body: the next bytes of the body, without any framing.
	Body([]byte) error
}

type state uint8

const (
	stStart    state = iota // nothing of the response was fed
	stHead                  // inside the header
	stLength                // body counted by Content-Length
	stUntilEOF              // body ends with the connection
	stSize                  // chunk size digits
	stSizeEnd               // chunk extension, up to the end of its line
	stData                  // chunk data
	stDataCR                // line end after chunk data: CR or LF
	stDataLF                // line end after chunk data: LF
	stTrailer               // lines after the last chunk
	stDone
)

// Response is a push parser for one HTTP/1.x response to a POST. Feed it, call
// EOF when the connection ends, Reset it for the next response.
type Response struct {
	Sink Sink
	// Scratch is where a header is parsed to: one is made if it is nil.
	// Responses that are fed one after the other may share it.
	Scratch *Head

	state     state
	keepAlive bool
	digits    uint8  // chunk size digits seen
	line      int    // length so far of the line that is being read
	total     int    // length so far of the header or trailer
	left      uint64 // body or chunk bytes to come
	head      []byte // header so far, when it came in several feeds
}

// Reset makes r ready for the next response on the same connection.
func (r *Response) Reset() {
	head := r.head[:0]
	if cap(head) > 4<<10 {
		head = nil
	}
	*r = Response{Sink: r.Sink, Scratch: r.Scratch, head: head}
}

// Done reports whether the response is complete.
func (r *Response) Done() bool { return r.state == stDone }

// Started reports whether any byte of the response was fed.
func (r *Response) Started() bool { return r.state != stStart }

// KeepAlive tells, after Done, whether the connection may carry another request.
func (r *Response) KeepAlive() bool { return r.keepAlive }

// EOF says that the connection ended. It returns nil if that ends the response
// properly, io.ErrUnexpectedEOF if the response is cut short.
func (r *Response) EOF() error {
	switch r.state {
	case stDone:
		return nil
	case stUntilEOF:
		r.state = stDone
		return nil
	}
	return io.ErrUnexpectedEOF
}

// Feed consumes b up to the end of the response and returns what is left
// over. An error is final.
func (r *Response) Feed(b []byte) (rest []byte, err error) {
	for len(b) > 0 && r.state != stDone && err == nil {
		switch r.state {
		case stStart:
			r.Sink.Begin()
			r.state = stHead
		case stHead:
			b, err = r.feedHead(b)
		case stUntilEOF:
			return nil, r.Sink.Body(b)
		case stLength, stData:
			n := int(min(uint64(len(b)), r.left))
			err = r.Sink.Body(b[:n])
			b = b[n:]
			if r.left -= uint64(n); r.left == 0 {
				r.state = afterCounted[r.state]
			}
		case stTrailer:
			b, err = r.feedTrailer(b)
		default:
			err = r.feedFraming(b[0])
			b = b[1:]
		}
	}
	return b, err
}

// afterCounted is the state that follows when all counted bytes have come.
var afterCounted = [...]state{stLength: stDone, stData: stDataCR}

// feedFraming takes one byte of what stands between chunks. A line may end
// with LF alone.
func (r *Response) feedFraming(c byte) error {
	switch r.state {
	case stSize:
		return r.feedSize(c)
	case stSizeEnd:
		if r.line++; r.line > MaxLine {
			return fmt.Errorf("chunk extension: %w", ErrTooLarge)
		}
		if c == '\n' {
			r.sizeDone()
		}
	case stDataCR:
		if c == '\r' {
			r.state = stDataLF
			return nil
		}
		fallthrough
	case stDataLF:
		if c != '\n' {
			return fmt.Errorf("chunk: byte %q where its end was due", c)
		}
		r.state, r.digits = stSize, 0
	}
	return nil
}

func (r *Response) feedSize(c byte) error {
	var d byte
	switch {
	case c >= '0' && c <= '9':
		d = c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		d = c | 0x20 - 'a' + 10
	case r.digits > 0 && c == '\n':
		r.sizeDone()
		return nil
	case r.digits > 0 && (c == ';' || c == '\r' || c == ' ' || c == '\t'):
		r.state, r.line = stSizeEnd, 0
		return nil
	default:
		return fmt.Errorf("chunk size: unexpected byte %q", c)
	}
	if r.digits++; r.digits > 16 || r.left>>58 != 0 {
		return fmt.Errorf("chunk size: %w", ErrTooLarge)
	}
	r.left = r.left<<4 | uint64(d)
	return nil
}

func (r *Response) sizeDone() {
	if r.left > 0 {
		r.state = stData
		return
	}
	r.state, r.line, r.total = stTrailer, 0, 0
}

// feedTrailer skips lines up to an empty one.
func (r *Response) feedTrailer(b []byte) ([]byte, error) {
	for len(b) > 0 {
		c := b[0]
		b = b[1:]
		switch {
		case c == '\n' && r.line == 0:
			r.state = stDone
			return b, nil
		case c == '\n':
			r.line = 0
		case c != '\r':
			r.line++
		}
		if r.total++; r.total > MaxHead {
			return b, fmt.Errorf("trailer: %w", ErrTooLarge)
		}
	}
	return b, nil
}

// feedHead looks for the empty line that ends the header, keeps what it has
// when it is not there yet, and parses the whole when it is.
func (r *Response) feedHead(b []byte) ([]byte, error) {
	for used := 0; ; {
		i := bytes.IndexByte(b[used:], '\n')
		n := i
		if i < 0 {
			n = len(b) - used
		}
		r.line += n
		r.total += n + 1
		if r.line > MaxLine || r.total > MaxHead {
			return nil, fmt.Errorf("response header: %w", ErrTooLarge)
		}
		if i < 0 {
			r.total-- // no line end was counted in
			r.head = append(r.head, b...)
			return nil, nil
		}
		if r.total == r.line+1 { // the first line
			if err := r.foreign(b[:i]); err != nil {
				return nil, err
			}
		}
		used += i
		empty := r.line == 0 || r.line == 1 && r.before(b, used) == '\r'
		used++
		r.line = 0
		if !empty {
			continue
		}
		block := b[:used]
		if len(r.head) > 0 {
			r.head = append(r.head, block...)
			block = r.head
		}
		err := r.parseHead(block)
		r.head = r.head[:0]
		return b[used:], err
	}
}

// Foreign tells what the server sent if it began a response that is no HTTP, or
// nil.
func (r *Response) Foreign() error {
	if r.state != stHead {
		return nil
	}
	return r.foreign(nil)
}

// foreign looks at the beginning of the header: what came before, then more.
func (r *Response) foreign(more []byte) error {
	line := more
	if len(r.head) > 0 {
		line = append(r.head[:len(r.head):len(r.head)], more...)
	}
	const sign = "HTTP/"
	switch n := min(len(line), len(sign)); {
	case string(line[:n]) == sign[:n]:
		return nil
	case len(line) > 1 && line[0] == 0x15 && line[1] == 3: // an alert
		return fmt.Errorf("the server speaks TLS; use https:// for this URL")
	}
	return fmt.Errorf("this is not an HTTP server: where a status line was due it sent %q",
		bytes.TrimSpace(line[:min(len(line), 60)]))
}

// before is the byte that precedes b[i], which may be in an earlier feed.
func (r *Response) before(b []byte, i int) byte {
	if i > 0 {
		return b[i-1]
	}
	return r.head[len(r.head)-1]
}

var errHeader = errors.New("malformed response header")

// parseHead reads a complete header and decides how the body is framed.
func (r *Response) parseHead(block []byte) error {
	if r.Scratch == nil {
		r.Scratch = &Head{}
	}
	h := r.Scratch
	*h = Head{}
	if err := h.parse(block); err != nil {
		return err
	}
	r.total = 0
	if h.Status/100 == 1 && h.Status != 101 { // interim: the real one follows
		r.state = stStart
		return nil
	}
	r.keepAlive = h.KeepAlive
	r.left, r.digits = 0, 0
	noBody := h.Status == 204 || h.Status == 304 || h.Status/100 == 1
	switch {
	case noBody:
		r.state = stDone
	case h.Chunked:
		r.state = stSize
	case h.Length == 0:
		r.state = stDone
	case h.Length > 0:
		r.state, r.left = stLength, uint64(h.Length)
	default:
		r.state, r.keepAlive = stUntilEOF, false
	}
	err := r.Sink.Head(h)
	*h = Head{} // lets go of the borrowed bytes
	return err
}
