package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Frames is a push parser for application/vnd.amazon.eventstream, the binary
// framing in which SageMaker and Bedrock stream (AWS, "Event stream encoding"):
// a prelude of two lengths and its CRC, headers, a payload, the CRC of it all.
type Frames struct {
	// Message takes a message's payload, borrowed for the call, with its headers
	// :message-type (event, exception or error) and :event-type.
	Message func(messageType, eventType string, payload []byte) error
	Limit   int // bytes of one message; 0 means none

	carry []byte
}

const (
	preludeSize = 12
	frameLeast  = preludeSize + 4
)

var errFrame = errors.New("AWS event stream: malformed message")

// Partial reports whether an unfinished message was fed.
func (f *Frames) Partial() bool { return len(f.carry) > 0 }

// Feed consumes b. An error is final.
func (f *Frames) Feed(b []byte) error {
	if len(f.carry) > 0 {
		f.carry = append(f.carry, b...)
		b = f.carry
	}
	for len(b) >= preludeSize {
		total := int64(binary.BigEndian.Uint32(b))
		switch {
		case crc32.ChecksumIEEE(b[:8]) != binary.BigEndian.Uint32(b[8:]):
			return fmt.Errorf("%w: the checksum of its lengths is wrong", errFrame)
		case f.Limit > 0 && total > int64(f.Limit):
			return fmt.Errorf("message: %w of %d bytes", ErrTooLarge, f.Limit)
		case total < frameLeast:
			return errFrame
		}
		if int64(len(b)) < total {
			break
		}
		if err := f.message(b[:total]); err != nil {
			return err
		}
		b = b[total:]
	}
	f.carry = append(f.carry[:0], b...)
	return nil
}

// message takes one whole message.
func (f *Frames) message(b []byte) error {
	end := len(b) - 4
	if crc32.ChecksumIEEE(b[:end]) != binary.BigEndian.Uint32(b[end:]) {
		return fmt.Errorf("%w: its checksum is wrong", errFrame)
	}
	n := int64(binary.BigEndian.Uint32(b[4:]))
	if n > int64(end-preludeSize) {
		return errFrame
	}
	headers, payload := b[preludeSize:preludeSize+n], b[preludeSize+n:end]
	var messageType, eventType string
	for len(headers) > 0 {
		name, value, rest, ok := frameHeader(headers)
		if !ok {
			return errFrame
		}
		switch string(name) {
		case ":message-type":
			messageType = string(value)
		case ":event-type", ":exception-type", ":error-code":
			eventType = string(value)
		}
		headers = rest
	}
	return f.Message(messageType, eventType, payload)
}

// frameHeader takes one header: a name, a type, a value whose length the type
// says or that begins with it.
func frameHeader(b []byte) (name, value, rest []byte, ok bool) {
	n := int(b[0])
	if len(b) < n+2 {
		return nil, nil, nil, false
	}
	name, kind, b := b[1:1+n], b[1+n], b[2+n:]
	size := 0
	switch kind {
	case 0, 1: // true, false
	case 2:
		size = 1
	case 3:
		size = 2
	case 4:
		size = 4
	case 5, 8: // int64, timestamp
		size = 8
	case 6, 7: // bytes, string
		if len(b) < 2 {
			return nil, nil, nil, false
		}
		size, b = int(binary.BigEndian.Uint16(b)), b[2:]
	case 9: // UUID
		size = 16
	default:
		return nil, nil, nil, false
	}
	if len(b) < size {
		return nil, nil, nil, false
	}
	return name, b[:size], b[size:], true
}
