package wire

import (
	"bytes"
	"fmt"
)

// Lines is a push parser for newline-delimited JSON: every line that is not
// blank is an event; CRLF is accepted.
type Lines struct {
	Event func(line []byte) error // borrowed for the call
	Limit int                     // bytes of one line; 0 means none

	carry []byte
}

// Reset makes l ready for another stream.
func (l *Lines) Reset() { l.carry = nil }

// Partial reports whether an unfinished line was fed.
func (l *Lines) Partial() bool { return len(l.carry) > 0 }

// Feed consumes b. An error comes from Event or Limit and is final.
func (l *Lines) Feed(b []byte) error {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			l.carry = append(l.carry, b...)
			if l.Limit > 0 && len(l.carry) > l.Limit {
				return fmt.Errorf("line: %w of %d bytes", ErrTooLarge, l.Limit)
			}
			return nil
		}
		line := b[:i]
		b = b[i+1:]
		if len(l.carry) > 0 {
			l.carry = append(l.carry, line...)
			line, l.carry = l.carry, l.carry[:0]
		}
		if err := l.emit(line); err != nil {
			return err
		}
	}
	return nil
}

// EOF ends the last line, which needs no newline.
func (l *Lines) EOF() error {
	line := l.carry
	l.carry = nil
	return l.emit(line)
}

func (l *Lines) emit(line []byte) error {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if len(trim(line)) == 0 {
		return nil
	}
	return l.Event(line)
}
