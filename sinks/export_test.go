package sinks

import (
	"bytes"
	"os"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/sweep"
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

// vary gives request i stamps of its own: random nanoseconds, the worst case
// for compression.
func vary(r *record.Record, i int64) {
	x := int64(uint64(i) * 0x9E3779B97F4A7C15 >> 44) // below 2^20 ns
	r.Intended, r.Admitted, r.Sent = r.Intended+i*1000, r.Admitted+i*1000, r.Sent+i*1000+x>>6
	for _, t := range []*int64{&r.FirstByte, &r.FirstToken, &r.FirstOutput, &r.LastToken, &r.End} {
		if *t != record.None {
			x = x*5 + 1
			*t += i*1000 + x
		}
	}
}

// WriteRequests writes n rows made of block over and over, as one run's table.
func WriteRequests(dir string, p *sweep.Plan, t0 time.Time, n int64, block []record.Record) (int64, error) {
	s := &tableSet{dir: dir, in: &TablesInput{Plan: p, T0: t0}, id: newIdentity(p), codec: newCodec()}
	defer s.abort()
	t, err := newTable("requests", s.id, inTable(requestColumns()), s.outputs)
	if err != nil {
		return 0, err
	}
	if err := t.at(Place{}); err != nil {
		return 0, err
	}
	rows := make([]requestRow, len(block))
	for done := int64(0); done < n; {
		m := min(int64(len(block)), n-done)
		for i := range m {
			rows[i].Record = block[i]
			rows[i].RequestID = done + i
			vary(&rows[i].Record, done+i)
			rows[i].keep(t0.UnixNano())
		}
		if err := t.append(rows[:m]); err != nil {
			return 0, err
		}
		done += m
	}
	if err := closeTable(s, t); err != nil {
		return 0, err
	}
	return s.files[0].Bytes, nil
}
