package transport_test

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/record"
)

// amazon makes a message of an AWS event stream.
func amazon(messageType, eventType, payload string) string {
	var headers []byte
	for _, h := range [][2]string{{":message-type", messageType}, {":event-type", eventType}} {
		headers = append(append(headers, byte(len(h[0]))), h[0]...)
		headers = append(headers, 7)
		headers = append(binary.BigEndian.AppendUint16(headers, uint16(len(h[1]))), h[1]...)
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(16+len(headers)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(headers)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, headers...), payload...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// SageMaker cuts the container's stream anywhere; Bedrock's messages are events.
func TestAmazonEventStreams(t *testing.T) {
	t.Parallel()
	part := func(s string) string { return amazon("event", "PayloadPart", s) }
	whole := part("data: {\"a\":1}\n\ndata: {\"a\"") + part(":2}\n") + part("\ndata: [DONE]\n\n")
	for _, c := range []struct {
		name, body string
		want       []string
		unfinished bool
		status     record.Status
	}{
		{"an event stream in parts", whole, []string{`{"a":1}`, `{"a":2}`, "[DONE]"}, false, record.OK},
		{"lines of JSON in parts", part("{\"a\":1}\n{\"a\"") + part(":2}"), []string{`{"a":1}`, `{"a":2}`}, false, record.OK},
		{"Bedrock's chunks", amazon("event", "chunk", `{"bytes":"eyJhIjoxfQ=="}`) + amazon("event", "messageStop", `{"stopReason":"end_turn"}`), []string{`{"a":1}`, `{"stopReason":"end_turn"}`}, false, record.OK},
		{"an exception", part("data: 1\n\n") + amazon("exception", "ModelStreamError", `{"Message":"out of memory","ErrorCode":"x"}`), []string{"1", `{"error":{"message":"out of memory","type":"ModelStreamError"}}`}, false, record.OK},
		{"a cut message", whole[:len(whole)-3], []string{`{"a":1}`}, true, record.OK},
		{"half an event", part("data: 1\n\ndata: 2"), []string{"1"}, true, record.OK},
		{"a wrong checksum", part("data: 1\n\n") + strings.Replace(part("data: 2\n\n"), "2", "3", 1), []string{"1"}, false, record.ParseError},
	} {
		head := "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.amazon.eventstream\r\nConnection: close\r\n\r\n"
		s := fs.Start(t, fs.Script{fs.Read(), fs.Send(head + c.body), fs.CloseWrite()})
		x := open(t, s.URL()).do(stream)
		if diff := cmp.Diff(c.want, texts(x)); diff != "" || x.Status != c.status || x.Unfinished != c.unfinished ||
			!x.Streamed {
			t.Errorf("%s: %s %s, unfinished %v, streamed %v (-want +got)\n%s", c.name,
				x.Status, x.ErrorText, x.Unfinished, x.Streamed, diff)
		}
	}
}
