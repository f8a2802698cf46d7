package sinks

import (
	"bytes"
	"os"

	"aiperf.dev/aiperf/internal/record"
)

// SoundLength is soundLength over bytes in memory.
func SoundLength(b []byte) int64 {
	n, _ := soundLength(bytes.NewReader(b), int64(len(b)))
	return n
}

// PackChunks packs the chunks of a request sent at sent.
func PackChunks(sent int64, chunks []record.Chunk) []byte { return packChunks(nil, sent, chunks) }

// UnpackChunks is its inverse.
func UnpackChunks(sent int64, b []byte) ([]record.Chunk, error) { return unpackChunks(nil, sent, b) }

// Redirect sends what follows to another open file. Only bytes go there.
func (j *Journal) Redirect(device *os.File) {
	_ = j.f.Close()
	j.f = device
	j.buf.Reset(device)
}
