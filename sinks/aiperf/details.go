package aiperf

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/sinks"
)

// RawRequest is what a record leaves out: the bytes of one request and its
// answer. It is borrowed for a call of Details.Render.
type RawRequest struct {
	RequestHeader, ResponseHeader []byte // lines ended by CRLF, secrets included
	Body                          []byte
	Status                        int64 // HTTP, record.None without an answer
	Reason, ContentType           string
	Local, Remote                 string // host:port, "" when unknown
	Streamed                      bool
	Events                        []RawEvent
	Text, Reasoning               []byte // of the answer; Text with its tool calls
}

// RawEvent is one message of an answer, or its whole body.
type RawEvent struct {
	At    int64 // ns since T0
	Data  []byte
	Error bool // it was named error
}

// Details writes what is only kept on request while a run goes on: raw
// exchanges, the texts of answers, and what the trace of a request needs.
// Render may be called by several goroutines at once, Keep by one at a time.
type Details struct {
	dir     string
	names   Names
	lines   *recordWriter
	raw     *sinks.Artifact
	outputs *fragments
	trace   *os.File
	traceTo *bufio.Writer
	hide    *secret.Masker
	rows    int64
	err     error // the first that a Keep met
}

// DetailOptions says which of the files are wanted.
type DetailOptions struct {
	Raw, Outputs, Trace bool
	Hide                *secret.Masker // of the plan's secrets, in what is written
}

// Any reports whether one is.
func (o DetailOptions) Any() bool { return o.Raw || o.Outputs || o.Trace }

// TraceName is the file in which the traces wait for the records to be
// written.
const TraceName = "traces.jsonl.tmp"

// NewDetails opens the files that are wanted in dir.
func NewDetails(dir, prefix string, want DetailOptions, info *RunInfo) (*Details, error) {
	names, err := ProfileNames(prefix)
	if err != nil {
		return nil, err
	}
	d := &Details{dir: dir, names: names, lines: newRecordWriter(info, metrics.Options{}), hide: want.Hide}
	if want.Raw {
		d.raw, err = sinks.CreateArtifact(dir, names.Raw)
	}
	if want.Outputs && err == nil {
		d.outputs, err = newFragments(dir)
	}
	if want.Trace && err == nil {
		if d.trace, err = os.Create(filepath.Join(dir, TraceName)); err == nil {
			d.traceTo = bufio.NewWriterSize(d.trace, 64<<10)
		}
	}
	if err != nil {
		d.Abort()
		return nil, err
	}
	return d, nil
}

// rendered is the text of one exchange, ready to be written, perhaps by another process.
type rendered struct {
	Raw, Output, Trace []byte
	Warmup             bool
}

// Render makes the text of r and x; what it returns is for Keep.
func (d *Details) Render(r *record.Record, x *RawRequest) any {
	out := &rendered{Warmup: r.Warmup}
	if d.raw != nil {
		out.Raw = d.lines.rawLine(r, x)
	}
	if d.outputs != nil {
		out.Output = d.lines.output(r, x)
	}
	if d.trace != nil {
		out.Trace = traceLine(x)
	}
	for _, text := range []*[]byte{&out.Raw, &out.Output, &out.Trace} {
		*text = d.hide.OwnJSON(*text)
	}
	return out
}

// Blank is an empty one of what Render returns.
func (*Details) Blank() any { return &rendered{} }

// Keep writes what Render returned. Records that are in no file but the tables
// are left out of these too; each has its line among the traces.
func (d *Details) Keep(r *record.Record, of any) {
	out := of.(*rendered)
	if d.trace != nil {
		d.note2(d.traceTo.Write(out.Trace))
	}
	if !r.Warmup && !r.InWindow {
		return
	}
	d.rows++
	if d.raw != nil {
		d.note2(d.raw.Write(out.Raw))
	}
	if d.outputs != nil {
		d.note(d.outputs.add(r.SessionNum, r.Turn, out.Warmup, out.Output))
	}
}

func (d *Details) note(err error) {
	if d.err == nil {
		d.err = err
	}
}

func (d *Details) note2(_ int, err error) { d.note(err) }

// Close completes the files.
func (d *Details) Close() ([]sinks.FileInfo, error) {
	defer d.Abort()
	var files []sinks.FileInfo
	if d.trace != nil {
		d.note(d.traceTo.Flush())
	}
	if d.err != nil {
		return nil, d.err
	}
	if d.raw != nil {
		f, err := d.raw.Commit("raw", "", d.rows)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if d.outputs != nil {
		f, err := d.writeOutputs()
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

// Abort gives back what is open; nothing unfinished stays.
func (d *Details) Abort() {
	if d.raw != nil {
		d.raw.Abort()
	}
	if d.outputs != nil {
		d.outputs.close()
	}
	if d.trace != nil {
		_ = d.trace.Close() // flushed before, or not wanted any more
	}
}

// rawLine is a line of profile_export_raw.jsonl.
func (w *recordWriter) rawLine(r *record.Record, x *RawRequest) []byte {
	b := append([]byte(nil), `{"metadata":`...)
	b = w.metadata(b, r)
	start := r.Sent
	if start == record.None {
		start = r.Intended
	}
	b = integer(b, "start_perf_ns", start)
	b = appendHeader(append(b, `,"request_headers":`...), x.RequestHeader, secret.Header)
	if x.Status != record.None {
		b = integer(b, "status", x.Status)
	}
	b = append(b, `,"responses":[`...)
	for i, e := range x.Events {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"perf_ns":`...)
		b = fmt.Appendf(b, "%d", e.At)
		if !x.Streamed {
			b = pair(append(append(b, `,"text":`...), appendString(nil, string(e.Data))...), "content_type",
				x.ContentType)
			b = append(b, '}')
			continue
		}
		b = append(b, `,"packets":[`...)
		if e.Error {
			b = append(b, `{"name":"event","value":"error"},`...)
		}
		b = append(append(b, `{"name":"data","value":`...), appendString(nil, string(e.Data))...)
		b = append(b, "}]}"...)
	}
	b = append(b, ']')
	if !r.Succeeded() {
		b = append(append(b, `,"error":`...), errorDetails(r)...)
	}
	b = append(b, `,"payload":`...)
	if json.Valid(x.Body) {
		b = appendCompact(b, x.Body)
	} else {
		b = appendString(b, string(x.Body))
	}
	return append(b, "}\n"...)
}

// appendCompact appends JSON on one line.
func appendCompact(b, raw []byte) []byte {
	out, err := appendJSON(b, json.RawMessage(raw))
	if err != nil {
		return appendString(b, string(raw))
	}
	return out
}

// outputTags are the metrics of an entry of outputs.json.
func outputTags() []string {
	return []string{
		"input_sequence_length", "output_token_count", "output_sequence_length", "request_latency",
		"time_to_first_token", "inter_token_latency",
	}
}

// output is an entry of outputs.json.
func (w *recordWriter) output(r *record.Record, x *RawRequest) []byte {
	values := object{}
	all := metrics.PerRecord(r)
	for _, tag := range outputTags() {
		for _, v := range all {
			switch {
			case v.Tag != tag:
			case v.Int:
				values = values.with(tag, int64(v.Value))
			default:
				values = values.with(tag, number(v.Value))
			}
		}
	}
	o := object{}.with("session_num", r.SessionNum).with("conversation_id", r.ConversationID).with("turn_index",
		r.Turn).with("x_request_id", r.XRequestID)
	if r.Sent != record.None {
		o = o.with("request_start_ns", w.t0+r.Sent)
	}
	if r.End != record.None {
		o = o.with("request_end_ns", w.t0+r.End)
	}
	var text any
	if said := string(x.Reasoning) + string(x.Text); said != "" {
		text = said
	}
	b, err := indentedAt(o.with("metrics", values).with("response_text", text), "    ")
	if err != nil {
		panic(err) // strings and finite numbers always encode
	}
	return b
}

// fragments keeps entries on disk until they can be put in order.
type fragments struct {
	f     *os.File
	buf   *bufio.Writer
	at    int64
	index []fragment
}

type fragment struct {
	session, turn int64
	warmup        bool
	at            int64
	n             int
}

func newFragments(dir string) (*fragments, error) {
	f, err := os.CreateTemp(dir, "outputs-*.tmp")
	if err != nil {
		return nil, err
	}
	return &fragments{f: f, buf: bufio.NewWriterSize(f, 64<<10)}, nil
}

func (s *fragments) add(session, turn int64, warmup bool, text []byte) error {
	s.index = append(s.index, fragment{session, turn, warmup, s.at, len(text)})
	s.at += int64(len(text))
	_, err := s.buf.Write(text)
	return err
}

func (s *fragments) close() {
	_ = s.f.Close()
	_ = os.Remove(s.f.Name())
}

// writeOutputs writes outputs.json: the entries by session and turn.
func (d *Details) writeOutputs() (sinks.FileInfo, error) {
	s := d.outputs
	if err := s.buf.Flush(); err != nil {
		return sinks.FileInfo{}, err
	}
	slices.SortStableFunc(s.index,
		func(a, b fragment) int { return cmp.Or(cmp.Compare(a.session, b.session), cmp.Compare(a.turn, b.turn)) })
	a, err := sinks.CreateArtifact(d.dir, d.names.Outputs)
	if err != nil {
		return sinks.FileInfo{}, err
	}
	defer a.Abort()
	out := &stickyWriter{w: a}
	out.text("{\n  \"schema_version\": \"1.0\",\n  \"data\": ")
	rows := d.outputs.write(out, false)
	if slices.ContainsFunc(s.index, func(f fragment) bool { return f.warmup }) {
		out.text(",\n  \"warmup\": ")
		d.outputs.write(out, true)
	}
	out.text("\n}")
	if out.err != nil {
		return sinks.FileInfo{}, out.err
	}
	return a.Commit("outputs", "", rows)
}

func (s *fragments) write(out *stickyWriter, warmup bool) (rows int64) {
	sep := "[\n    "
	for _, f := range s.index {
		if f.warmup != warmup {
			continue
		}
		b := make([]byte, f.n)
		if _, err := s.f.ReadAt(b, f.at); err != nil && !errors.Is(err, io.EOF) {
			out.err = err
			return rows
		}
		out.text(sep)
		out.text(string(b))
		sep = ",\n    "
		rows++
	}
	if rows == 0 {
		out.text("[]")
		return 0
	}
	out.text("\n  ]")
	return rows
}

// stickyWriter keeps its first error.
type stickyWriter struct {
	w   io.Writer
	err error
}

func (s *stickyWriter) text(t string) {
	if s.err == nil {
		_, s.err = io.WriteString(s.w, t)
	}
}

// appendHeader is header lines as a JSON object, with the values masked of those
// whose name is secret, and what looks like a credential in the others.
func appendHeader(b, lines []byte, masked func(name string) bool) []byte {
	b = append(b, '{')
	seen := map[string]bool{}
	for line := range strings.SplitSeq(string(lines), "\n") {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r"), ":")
		if !ok || seen[name] {
			continue
		}
		if len(seen) > 0 {
			b = append(b, ',')
		}
		seen[name] = true
		value = secret.Shapes(strings.TrimSpace(value))
		if masked(name) {
			value = secret.Mask
		}
		b = append(appendString(b, name), ':')
		b = appendString(b, value)
	}
	return append(b, '}')
}

// serverSecret tells by its name whether a header of an answer may carry a secret;
// a session may be one that the server opened for whoever knows its name. All else
// is what the server says.
func serverSecret(name string) bool {
	return secret.Name(name) || strings.Contains(strings.ToLower(name), "session")
}
