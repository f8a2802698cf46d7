package sinks

import (
	"encoding/binary"
	"errors"

	"aiperf.dev/aiperf/internal/record"
)

// The chunks of a record as one binary value: per chunk
//
//	varint   At − At of the chunk before (for the first: − Sent, or − 0 when nothing was sent)
//	uvarint  bytes
//	uvarint  tokens<<5 | interval<<4 | same_read<<3 | kind
//	uvarint  At − Low, only if interval
//
// Four bytes for a usual chunk; a list column costs six times as much to write.

const (
	kindBits     = 7
	sameReadBit  = 1 << 3
	intervalBit  = 1 << 4
	tokenShift   = 5
	chunksColumn = "chunks_packed"
)

var errPacked = errors.New("packed chunks: damaged")

func packBase(sent int64) int64 {
	if sent == record.None {
		return 0
	}
	return sent
}

func packChunks(b []byte, sent int64, chunks []record.Chunk) []byte {
	last := packBase(sent)
	for _, c := range chunks {
		b = binary.AppendVarint(b, c.At-last)
		last = c.At
		b = binary.AppendUvarint(b, uint64(uint32(c.Bytes)))
		x := uint64(uint32(c.Tokens))<<tokenShift | uint64(c.Kind)&kindBits
		if c.SameRead {
			x |= sameReadBit
		}
		if c.Low != c.At {
			x |= intervalBit
		}
		b = binary.AppendUvarint(b, x)
		if c.Low != c.At {
			b = binary.AppendUvarint(b, uint64(c.At-c.Low))
		}
	}
	return b
}

// unpackChunks appends what packChunks wrote to dst.
func unpackChunks(dst []record.Chunk, sent int64, b []byte) ([]record.Chunk, error) {
	at := packBase(sent)
	ok := true
	unsigned := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			ok = false
			return 0
		}
		b = b[n:]
		return v
	}
	for len(b) > 0 {
		d, n := binary.Varint(b)
		if n <= 0 {
			return dst, errPacked
		}
		b = b[n:]
		at += d
		c := record.Chunk{At: at, Low: at, Bytes: int32(uint32(unsigned()))}
		x := unsigned()
		c.Kind, c.SameRead, c.Tokens = record.Kind(x&kindBits), x&sameReadBit != 0, int32(uint32(x>>tokenShift))
		if x&intervalBit != 0 {
			c.Low = at - int64(unsigned())
		}
		if !ok || c.Kind > record.Done {
			return dst, errPacked
		}
		dst = append(dst, c)
	}
	return dst, nil
}
