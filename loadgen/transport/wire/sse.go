package wire

import (
	"bytes"
	"fmt"
)

// SSE is a push parser for text/event-stream as the HTML standard defines it:
// lines end with LF, CR or CRLF, a leading BOM is dropped, comments and unknown
// fields are skipped, data lines are joined with LF.
//
// It differs in two things: an event called "error" without data is one, too,
// with its comment as its data, and so is a field "error": some servers say there
// what went wrong.
type SSE struct {
	// Event takes an event's data, borrowed for the call, and whether its event
	// field said "error". No copy is made of an event that lies inside one Feed
	// and has one data line.
	Event func(data []byte, isError bool) error
	// Limit bounds the bytes of one event; 0 means none.
	Limit int

	carry   []byte // unfinished line of earlier feeds
	data    []byte // data so far when the event has several lines or spans feeds
	one     []byte // the only data line so far, when it lies in this feed
	lines   int    // data lines so far
	isError bool   // this event's name is "error"
	comment []byte // the first comment of this event, as far as it is kept
	skipLF  bool   // the last line ended with CR at the end of a feed or before something else
	started bool   // the first line was seen: no BOM any more
}

// Reset makes s ready for another stream.
func (s *SSE) Reset() {
	*s = SSE{Event: s.Event, Limit: s.Limit, carry: s.carry[:0], data: s.data[:0], comment: s.comment[:0]}
}

// Release is Reset that gives up the buffers, for a parser that may rest.
func (s *SSE) Release() { *s = SSE{Event: s.Event, Limit: s.Limit} }

// Partial reports whether something of an undispatched event was fed.
func (s *SSE) Partial() bool { return len(s.carry) > 0 || s.lines > 0 }

// EOF ends the stream. Its last event needs no blank line behind it if whole
// says so of its data; else it stays Partial.
func (s *SSE) EOF(whole func(data []byte) bool) error {
	if len(s.carry) > 0 {
		rest := s.carry
		s.carry = nil
		if err := s.line(rest); err != nil {
			return err
		}
	}
	d := s.one
	if d == nil {
		d = s.data
	}
	if s.lines == 0 || !whole(d) {
		return nil
	}
	return s.dispatch()
}

// maxComment bounds what is kept of a comment, in bytes.
const maxComment = 1 << 10

// Feed consumes b. An error comes from Event or Limit and is final.
func (s *SSE) Feed(b []byte) error {
	for len(b) > 0 {
		if s.skipLF {
			s.skipLF = false
			if b[0] == '\n' {
				b = b[1:]
				continue
			}
		}
		lf := bytes.IndexByte(b, '\n')
		line := b
		if lf >= 0 {
			line = b[:lf]
		}
		cr := bytes.IndexByte(line, '\r')
		switch {
		case cr >= 0 && cr == lf-1:
			line, b = line[:cr], b[lf+1:]
		case cr >= 0:
			line, b = line[:cr], b[cr+1:]
			s.skipLF = true
		case lf >= 0:
			b = b[lf+1:]
		default:
			s.carry = append(s.carry, b...)
			b = nil
			line = nil
		}
		if line != nil {
			if err := s.line(line); err != nil {
				return err
			}
		}
		if s.Limit > 0 && len(s.carry)+len(s.data) > s.Limit {
			return fmt.Errorf("event: %w of %d bytes", ErrTooLarge, s.Limit)
		}
	}
	if s.one != nil { // the event goes on in the next feed
		s.data = append(s.data[:0], s.one...)
		s.one = nil
	}
	return nil
}

// line takes one line without its end.
func (s *SSE) line(l []byte) error {
	carried := len(s.carry) > 0
	if carried {
		s.carry = append(s.carry, l...)
		l, s.carry = s.carry, s.carry[:0]
	}
	if !s.started {
		s.started = true
		l = bytes.TrimPrefix(l, []byte("\xEF\xBB\xBF"))
	}
	if len(l) == 0 {
		return s.dispatch()
	}
	switch l[0] {
	case 'd':
		if v, ok := field(l, "data"); ok {
			s.addData(v, carried)
		}
	case 'e':
		if v, ok := field(l, "event"); ok {
			s.isError = len(v) == len("error") && bytes.EqualFold(v, []byte("error"))
		} else if v, ok := field(l, "error"); ok { // llama.cpp's, in place of data
			s.addData(v, carried)
			s.isError = true
		}
	case ':':
		if len(s.comment) == 0 {
			s.comment = append(s.comment, bytes.TrimSpace(l[1:min(len(l), maxComment)])...)
		}
	}
	return nil
}

// field returns the value of line l if it is that field; one space after the
// colon belongs to the syntax.
func field(l []byte, name string) (value []byte, ok bool) {
	if len(l) < len(name) || string(l[:len(name)]) != name {
		return nil, false
	}
	v := l[len(name):]
	if len(v) == 0 {
		return v, true
	}
	if v[0] != ':' {
		return nil, false
	}
	v = v[1:]
	if len(v) > 0 && v[0] == ' ' {
		v = v[1:]
	}
	return v, true
}

// addData adds one data line. A carried line lies in a buffer that the next
// one overwrites, so it is copied.
func (s *SSE) addData(v []byte, carried bool) {
	switch {
	case s.lines == 0 && !carried:
		s.one = v
	case s.lines == 0:
		s.data = append(s.data[:0], v...)
	default:
		if s.one != nil {
			s.data = append(s.data[:0], s.one...)
			s.one = nil
		}
		s.data = append(append(s.data, '\n'), v...)
	}
	s.lines++
}

// dispatch ends the event. Without a data line there is none.
func (s *SSE) dispatch() error {
	d, had, isError, comment := s.one, s.lines > 0, s.isError, s.comment
	if d == nil {
		d = s.data
	}
	s.one, s.lines, s.isError, s.data, s.comment = nil, 0, false, s.data[:0], s.comment[:0]
	switch {
	case had:
		return s.Event(d, isError)
	case isError:
		return s.Event(comment, true)
	}
	return nil
}
