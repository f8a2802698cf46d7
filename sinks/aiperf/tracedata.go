package aiperf

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/secret"
)

// traceKept is what trace_data needs besides the record.
type traceKept struct {
	Request  json.RawMessage `json:"q"` // header
	Response json.RawMessage `json:"a,omitempty"`
	Reason   string          `json:"why,omitempty"`
	Local    string          `json:"from,omitempty"`
	Remote   string          `json:"to,omitempty"`
	Body     int             `json:"n"` // bytes of the request's
}

// traceLine is one line of the traces that wait for their records.
func traceLine(x *RawRequest) []byte {
	k := traceKept{
		Request: appendHeader(nil, x.RequestHeader, secret.Header), Reason: x.Reason,
		Local: x.Local, Remote: x.Remote, Body: len(x.Body),
	}
	if len(x.ResponseHeader) > 0 {
		k.Response = appendHeader(nil, x.ResponseHeader, serverSecret)
	}
	b, err := json.Marshal(k)
	if err != nil {
		panic(err) // texts always encode
	}
	return append(b, '\n')
}

// traceReader gives the lines back, one per record of the journal. A nil one
// has none.
type traceReader struct {
	f  *os.File
	in *bufio.Reader
}

func openTraces(path string) (*traceReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &traceReader{f, bufio.NewReaderSize(f, 64<<10)}, nil
}

func (t *traceReader) close() { _ = t.f.Close() } // only read

// next is the trace of the next record, nil when there is no more.
func (t *traceReader) next() (*traceKept, error) {
	if t == nil {
		return nil, nil
	}
	line, err := t.in.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return nil, nil // cut short: a record without its trace
	}
	if err != nil {
		return nil, err
	}
	var k traceKept
	if err := json.Unmarshal(line, &k); err != nil {
		return nil, fmt.Errorf("%s: %w", t.f.Name(), err)
	}
	return &k, nil
}

// traceData is the member trace_data. A request is written as one piece, so
// its header went out with its body. Connecting, where the request brought a
// new connection about, happened before it was sent and is in no other span.
func (w *recordWriter) traceData(b []byte, r *record.Record, k *traceKept) []byte {
	b = append(b, `{"trace_type":"aiohttp"`...)
	b = w.stamp(b, "request_send_start_ns", r.Sent)
	b = append(append(b, `,"request_headers":`...), k.Request...)
	b = w.stamp(b, "request_headers_sent_ns", r.WriteEnd)
	b = append(b, `,"request_chunks":[]`...)
	b = w.stamp(b, "request_send_end_ns", r.WriteEnd)
	if r.WriteEnd != record.None {
		b = integer(b, "request_chunks_count", 1)
	}
	b = integer(b, "request_bytes_total", int64(k.Body))
	if r.FirstByte != record.None {
		b = w.answerTrace(b, r, k)
	}
	if r.Reused {
		b = w.stamp(b, "connection_reused_ns", r.Sent)
	}
	b = appendAddress(b, "local", k.Local)
	b = appendAddress(b, "remote", k.Remote)
	for _, s := range []struct {
		key      string
		from, to int64
	}{
		{"sending_ns", r.Sent, r.WriteEnd},
		{"waiting_ns", r.WriteEnd, r.FirstByte},
		{"receiving_ns", r.FirstByte, r.End},
		{"duration_ns", r.Sent, r.End},
	} {
		if s.from != record.None && s.to != record.None {
			b = integer(b, s.key, s.to-s.from)
		}
	}
	if r.Dial != record.None {
		b = integer(b, "connecting_ns", r.Dial+max(r.TLS, 0))
	}
	if r.DNS != record.None && r.DNS > 0 {
		b = integer(b, "dns_lookup_ns", r.DNS)
	}
	return append(b, '}')
}

func (w *recordWriter) answerTrace(b []byte, r *record.Record, k *traceKept) []byte {
	if r.HTTPStatus != record.None {
		b = integer(b, "response_status_code", r.HTTPStatus)
	}
	b = pair(b, "response_reason", k.Reason)
	b = w.stamp(b, "response_receive_start_ns", r.FirstByte)
	if k.Response != nil {
		b = append(append(b, `,"response_headers":`...), k.Response...)
	}
	b = w.stamp(b, "response_headers_received_ns", r.FirstByte)
	b = append(b, `,"response_chunks":[]`...)
	reads := int64(0)
	for i, c := range r.Chunks {
		if i == 0 || !c.SameRead {
			reads++
		}
	}
	b = integer(b, "response_chunks_count", max(reads, 1))
	b = integer(b, "response_bytes_total", r.BytesReceived)
	return w.stamp(b, "response_receive_end_ns", r.End)
}

// appendAddress adds an address as two members.
func appendAddress(b []byte, side, addr string) []byte {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return b
	}
	n, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return b
	}
	return integer(pair(b, side+"_ip", host), side+"_port", n)
}
