package loadgen_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

var update = flag.Bool("update", false, "rewrite the golden records of testdata/answers")

// recorded is an answer as a server sends it, and what is to be read of it.
type recorded struct {
	Name        string `json:"name"`
	Stream      bool   `json:"stream"` // what the request asked for
	ContentType string `json:"content_type"`
	Framing     string `json:"framing"` // chunked, length, close, or broken: chunked, and closed before its end
	Body        string `json:"body,omitempty"`
	Base64      []byte `json:"base64,omitempty"`
	Want        *said  `json:"want,omitempty"`
}

// said is the part of a record that the server's words decide.
type said struct {
	Status    record.Status `json:"status"`
	Kind      string        `json:"error_kind,omitempty"`
	Message   string        `json:"error_message,omitempty"`
	Streamed  bool          `json:"streamed,omitempty"`
	Text      string        `json:"text,omitempty"`
	Reasoning string        `json:"reasoning,omitempty"`
	Tool      string        `json:"tool,omitempty"`
	Finish    string        `json:"finish,omitempty"`
	Events    []string      `json:"events,omitempty"` // kinds, in order
	OSL       *int64        `json:"osl,omitempty"`
	Usage     []*int64      `json:"usage,omitempty"` // prompt, completion, reasoning, total, cached
	Items     *int64        `json:"items,omitempty"`
	Dims      *int64        `json:"dimensions,omitempty"`
	Prefill   *float64      `json:"server_prefill_ms,omitempty"`
	Decode    *float64      `json:"server_decode_ms,omitempty"`
}

func (r *recorded) bytes() []byte {
	if r.Base64 != nil {
		return r.Base64
	}
	return []byte(r.Body)
}

// Every variant of every API's answer is read to its golden record, however the
// network cuts it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, spec := range endpoint.Catalogue() {
		if spec.Served.Whole == nil {
			continue // spoken over gRPC alone
		}
		t.Run(spec.Type, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", "answers", spec.Type+".jsonl")
			list := readRecorded(t, path)
			for _, piece := range []int{1 << 20, 13} {
				for _, stream := range []bool{true, false} {
					playRecorded(t, spec.Type, stream, piece, list)
				}
			}
			if *update {
				writeRecorded(t, path, list)
			}
		})
	}
}

func readRecorded(t *testing.T, path string) (list []*recorded) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("no recorded answers: %v", err)
	}
	for line := range bytes.Lines(b) {
		var r recorded
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, &r)
	}
	return list
}

func writeRecorded(t *testing.T, path string, list []*recorded) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, r := range list {
		if err := enc.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// playRecorded asks for all answers of the list that belong to such requests,
// one after the other, from a server that sends them in pieces of so many bytes.
func playRecorded(t *testing.T, typ string, stream bool, piece int, all []*recorded) {
	t.Helper()
	var list []*recorded
	var bodies []any
	for _, r := range all {
		if r.Stream == stream {
			list = append(list, r)
			bodies = append(bodies, map[string]any{"messages": []any{map[string]any{"role": "user", "content": "a b"}}})
		}
	}
	if len(list) == 0 {
		return
	}
	e := schema.Endpoint{Type: typ, Streaming: stream, URLs: []string{serveRecorded(t, list, piece)}}
	if typ == "template" {
		e.Template = &schema.BodyTemplate{
			Body:          `{"text": {{ text|tojson }}}`,
			ResponseField: "choices[0].[delta.content, message.content, text] | [?@] | [0]",
		}
	}
	spec, err := endpoint.Open(&e)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Open(tokenizer.Default)
	if err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Open(schema.Dataset{
		Name: "main", Type: "file", Format: "raw_payload",
		Records: datasettest.Records(t, bodies...),
	}, tok, 1, "main")
	if err != nil {
		t.Fatal(err)
	}
	clock := record.NewClock()
	client, err := transport.Open(transport.Config{Targets: e.URLs, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	n := 0
	job := loadgen.Job{
		Phases: []schema.Phase{{
			Name: "profiling", Kind: "profiling", Type: "concurrency",
			Concurrency: 1, Requests: int64(len(list)),
		}},
		Spec: spec, Tokenizer: tok, Seed: 1, Text: 1, Clock: clock, Endpoint: e, Client: client, Set: set,
		Models: schema.Models{Items: []schema.Model{{Name: "m"}}},
		Emit:   func(*record.Record) {},
		Detail: func(_ *record.Record, _ *transport.Exchange, s loadgen.Said) any {
			return [3]string{string(s.Text), string(s.Reasoning), string(s.Tool)}
		},
		Keep: func(rec *record.Record, detail any) {
			r, got := list[n], saidOf(rec, detail.([3]string))
			n++
			if *update {
				r.Want = got
				return
			}
			if diff := cmp.Diff(r.Want, got); diff != "" {
				t.Errorf("%s, in pieces of %d bytes (-want +got):\n%s", r.Name, piece, diff)
			}
		},
	}
	if _, err := loadgen.Run(t.Context(), t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if n != len(list) {
		t.Errorf("%d of %d answers were asked for", n, len(list))
	}
}

func saidOf(r *record.Record, texts [3]string) *said {
	s := &said{
		Status: r.Status, Kind: r.ErrorKind, Message: r.ErrorMessage, Streamed: r.Streamed, Text: texts[0],
		Reasoning: texts[1], Tool: texts[2], Finish: r.FinishReason,
		OSL: known(r.OSL), Items: known(r.Items), Dims: known(r.Dimensions), Prefill: finite(r.ServerPrefill),
		Decode: finite(r.ServerDecode),
	}
	for _, c := range r.Chunks {
		s.Events = append(s.Events, c.Kind.String())
	}
	usage := []*int64{
		known(r.UsagePrompt), known(r.UsageCompletion), known(r.UsageReasoning), known(r.UsageTotal),
		known(r.Cached),
	}
	for _, u := range usage {
		if u != nil {
			s.Usage = usage
		}
	}
	return s
}

func known(v int64) *int64 {
	if v == record.None {
		return nil
	}
	return &v
}

func finite(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// serveRecorded answers requests with the list, in order, on any number of
// connections, until the test ends.
func serveRecorded(t *testing.T, list []*recorded, piece int) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for next := 0; ; {
			c, err := l.Accept()
			if err != nil {
				return
			}
			for r := bufio.NewReader(c); next < len(list); {
				req, err := http.ReadRequest(r)
				if err != nil {
					break // it was a probe, or the client has enough
				}
				if _, err := io.Copy(io.Discard, req.Body); err != nil {
					break
				}
				if next++; !sendRecorded(c, list[next-1], piece) {
					break
				}
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String()
}

// sendRecorded sends one answer; false when no other can follow it.
func sendRecorded(c net.Conn, r *recorded, piece int) (again bool) {
	body := r.bytes()
	head := "HTTP/1.1 200 OK\r\nContent-Type: " + r.ContentType + "\r\n"
	switch r.Framing {
	case "length":
		head += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	case "close":
		head += "Connection: close\r\n"
	default:
		head += "Transfer-Encoding: chunked\r\n"
	}
	_, err := io.WriteString(c, head+"\r\n")
	for len(body) > 0 {
		n := min(piece, len(body))
		out := body[:n]
		if r.Framing == "chunked" || r.Framing == "broken" {
			out = fmt.Appendf(nil, "%x\r\n%s\r\n", n, out)
		}
		_, werr := c.Write(out)
		err, body = errors.Join(err, werr), body[n:]
	}
	if r.Framing == "chunked" {
		_, werr := io.WriteString(c, "0\r\n\r\n")
		err = errors.Join(err, werr)
	}
	return err == nil && (r.Framing == "chunked" || r.Framing == "length")
}

// A large answer in one piece is held once where its header gives its size, and
// reading it copies nothing. Where the size is not given, the buffer doubles.
func TestLargeAnswerIsHeldOnce(t *testing.T) { // not parallel: counts the process's allocations
	const size = 20 << 20
	body := []byte(`{"created":1,"data":[{"b64_json":"` + strings.Repeat("A", size) +
		`"}],"usage":{"input_tokens":5,"output_tokens":200,"total_tokens":205}}`)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r := bufio.NewReader(c)
			if req, err := http.ReadRequest(r); err == nil {
				_, _ = io.Copy(io.Discard, req.Body)
				said := ""
				if req.URL.Path == "/said" {
					said = fmt.Sprintf("Content-Length: %d\r\n", len(body))
				}
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%sConnection: close\r\n\r\n", said)
				_, _ = c.Write(body)
			}
			c.Close()
		}
	}()
	defer func() { l.Close(); <-done }()
	e := schema.Endpoint{Type: "image_generation", URLs: []string{"http://" + l.Addr().String()}}
	spec, err := endpoint.Open(&e)
	if err != nil {
		t.Fatal(err)
	}
	clock := record.NewClock()
	client, err := transport.Open(transport.Config{Targets: e.URLs, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ask := func(path string) *transport.Exchange {
		ended := make(chan struct{})
		x := &transport.Exchange{
			Path: path, Body: []byte("{}"), Deadline: record.None, CancelAfter: record.None,
			Done: func(*transport.Exchange) { close(ended) },
		}
		client.Start(x)
		<-ended
		return x
	}
	for _, c := range []struct {
		path string
		most float64 // of the answer's size
	}{{"/said", 1.05}, {"/unsaid", 2.1}} {
		x := ask(c.path)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read, err := spec.Read(x.Data(0), x.Streamed)
		runtime.ReadMemStats(&after)
		if err != nil || read.Items != 1 || read.Usage.Completion != 200 || int64(len(x.Payload)) != int64(len(body)) {
			t.Errorf("%s: %s %s, %d bytes, %+v, %v", c.path, x.Status, x.ErrorText, len(x.Payload), read, err)
		}
		if held := float64(cap(x.Payload)) / size; held > c.most {
			t.Errorf("%s: the buffer has %.2f times the size of the answer, want at most %v", c.path, held, c.most)
		}
		// Nothing else is at work, and a copy would be all of it.
		if made := float64(after.TotalAlloc-before.TotalAlloc) / size; made > 0.5 {
			t.Errorf("%s: reading it allocated %.2f times its size", c.path, made)
		}
		client.Release(x)
	}
}
