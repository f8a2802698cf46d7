package transport_test

import (
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"time"

	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

// Frame types and codes of HTTP/2 (RFC 9113, sections 6 and 7).
const (
	frameData, frameHeaders, frameReset, frameSettings, frameGoAway = 0, 1, 3, 4, 7

	internalError, refusedStream, enhanceYourCalm = 2, 7, 11
)

// frame is one HTTP/2 frame.
func frame(kind, flags byte, stream uint32, payload string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	head = append(head, flags)
	return string(binary.BigEndian.AppendUint32(head, stream)) + payload
}

func number(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }

// request2 answers the client's preface and settings and reads frames to the
// end of a request.
func request2(c *fs.Conn) bool {
	if _, err := io.CopyN(io.Discard, c.In, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return false
	}
	if !fs.Send(frame(frameSettings, 0, 0, "") + frame(frameSettings, 1, 0, ""))(c) {
		return false
	}
	for {
		var head [9]byte
		if _, err := io.ReadFull(c.In, head[:]); err != nil {
			return false
		}
		if _, err := io.CopyN(io.Discard, c.In, int64(head[0])<<16|int64(head[1])<<8|int64(head[2])); err != nil {
			return false
		}
		if (head[3] == frameData || head[3] == frameHeaders) && head[4]&1 != 0 {
			return true
		}
	}
}

// What a server does to an HTTP/2 connection ends the exchange with an error,
// and neither hangs nor panics.
func TestHTTP2Faults(t *testing.T) {
	t.Parallel()
	ok := string([]byte{0x88}) // :status 200, as HPACK has it in its table
	cases := []struct {
		name   string
		steps  fs.Script
		status record.Status
		kind   string
		text   string
	}{
		{"GOAWAY", fs.Script{request2, fs.Send(frame(frameGoAway, 0, 0, number(1)+number(enhanceYourCalm)))}, record.Connection, "reset", "GOAWAY"},
		{"reset by the server", fs.Script{request2, fs.Send(frame(frameReset, 0, 1, number(internalError))), fs.UntilClosed()}, record.Connection, "reset", "INTERNAL_ERROR"},
		{"refused again and again", fs.Script{request2, fs.Send(frame(frameReset, 0, 1, number(refusedStream))), fs.UntilClosed()}, record.Timeout, "", ""},
		{"reset in the answer", fs.Script{request2, fs.Send(frame(frameHeaders, 4, 1, ok) + frame(frameData, 0, 1, "x") + frame(frameReset, 0, 1, number(internalError))), fs.UntilClosed()}, record.Truncated, "reset", "INTERNAL_ERROR"},
		{"not HTTP/2", fs.Script{fs.Read(), fs.Send(fs.JSON("1"))}, record.Connection, "reset", ""},
		{"closed", fs.Script{request2}, record.Connection, "reset", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fs.Start(t, c.steps)
			r := open(t, s.URL(), http2)
			x := r.do(func(x *transport.Exchange) {
				if c.status == record.Timeout {
					x.Deadline = r.clock.Now() + int64(300*time.Millisecond)
				}
			})
			if x.Status != c.status || c.kind != "" && x.ErrorKind != c.kind || !strings.Contains(x.ErrorText, c.text) {
				t.Errorf("%s, kind %q, %q; want %s, %q, …%s…", x.Status, x.ErrorKind, x.ErrorText, c.status, c.kind,
					c.text)
			}
		})
	}
}
