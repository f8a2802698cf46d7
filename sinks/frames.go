package sinks

import (
	"encoding/binary"
	"io"
)

// An Arrow IPC stream is a chain of messages: the continuation mark ff ff ff
// ff, the length of the metadata (int32), the metadata (a flatbuffer that
// knows the length of the body), the body. The mark with length 0 ends it.
// Arrow's reader trusts every length it finds, so a journal is walked first
// and only the part that holds whole messages is read.

const (
	continuation = 0xffffffff
	maxMetadata  = 16 << 20
)

// soundLength is the length of the prefix of r that holds whole messages, and
// whether the end mark follows it.
func soundLength(r io.ReaderAt, size int64) (n int64, ended bool) {
	var head [8]byte
	for at := int64(0); ; {
		if _, err := r.ReadAt(head[:], at); err != nil || binary.LittleEndian.Uint32(head[:]) != continuation {
			return at, false
		}
		meta := int64(int32(binary.LittleEndian.Uint32(head[4:])))
		if meta == 0 {
			return at, true
		}
		if meta < 16 || meta > maxMetadata || at+8+meta > size {
			return at, false
		}
		b := make([]byte, meta)
		if _, err := r.ReadAt(b, at+8); err != nil {
			return at, false
		}
		body, ok := bodyLength(b)
		if !ok || body < 0 || body > size-at-8-meta {
			return at, false
		}
		at += 8 + meta + body
	}
}

// bodyLength reads field 3 (bodyLength: long) of the flatbuffer table Message.
// Its slot in the vtable is at 4 + 2·3 = 10.
func bodyLength(b []byte) (int64, bool) {
	root := int64(binary.LittleEndian.Uint32(b))
	if root < 4 || root > int64(len(b))-4 {
		return 0, false
	}
	vtable := root - int64(int32(binary.LittleEndian.Uint32(b[root:])))
	if vtable < 0 || vtable > int64(len(b))-12 {
		return 0, false
	}
	if binary.LittleEndian.Uint16(b[vtable:]) < 12 { // the table ends before the field: default 0
		return 0, true
	}
	off := int64(binary.LittleEndian.Uint16(b[vtable+10:]))
	if off == 0 {
		return 0, true
	}
	if root+off > int64(len(b))-8 {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(b[root+off:])), true
}
