package aiperf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

// recordWriter turns records into the lines of profile_export.jsonl.
type recordWriter struct {
	t0     int64             // unix ns
	good   []lineMetric      // of a request that ended well
	failed []lineMetric      // of one that did not
	phases map[string][2]int // name → index among all, among profiling phases
	buf    []byte            // of line alone, as values: the rest is shared by goroutines
	values []float64
}

// lineMetric is a metric of the lines with the text around its value.
type lineMetric struct {
	*metrics.Metric
	before, after string // "tag":{"value": and ,"unit":"ms"}
}

// newRecordWriter prepares for lines with the metrics that a run can have.
func newRecordWriter(info *RunInfo, opt metrics.Options) *recordWriter {
	w := &recordWriter{t0: info.T0.UnixNano(), phases: map[string][2]int{}}
	all := metrics.Catalogue()
	for i := range all {
		m := &all[i]
		if m.AIPerf.RunOnly || m.AIPerf.Unknown || !m.OfRequests() || !opt.Has(m) {
			continue
		}
		l := lineMetric{
			m, string(appendString(nil, m.Tag)) + `:{"value":`,
			`,"unit":` + string(appendString(nil, m.Unit)) + "}",
		}
		if m.Needs&metrics.FailedOnly == 0 {
			w.good = append(w.good, l)
		} else {
			w.failed = append(w.failed, l)
		}
	}
	profiling := 0
	for i, p := range info.Phases {
		w.phases[p.Name] = [2]int{i, profiling}
		if !p.Warmup {
			profiling++
		}
	}
	return w
}

// line is one record; valid until the next call. trace is what was kept of its
// exchange, nil for none.
func (w *recordWriter) line(r *record.Record, trace *traceKept) []byte {
	b := append(w.buf[:0], `{"metadata":`...)
	b = w.metadata(b, r)
	b = append(b, `,"metrics":{`...)
	first, list := true, w.good
	if !r.Succeeded() {
		list = w.failed
	}
	for i := range list {
		m := &list[i]
		if w.values = m.Values(r, w.values[:0]); len(w.values) == 0 {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(m.value(append(b, m.before...), w.values), m.after...)
	}
	b = append(b, '}')
	if trace != nil {
		b = w.traceData(append(b, `,"trace_data":`...), r, trace)
	}
	if !r.Succeeded() {
		b = append(append(b, `,"error":`...), errorDetails(r)...)
	}
	w.buf = append(b, "}\n"...)
	return w.buf
}

// value appends what one request has of the metric.
func (m *lineMetric) value(b []byte, values []float64) []byte {
	switch {
	case m.List != nil:
		b = append(b, '[')
		for i, x := range values {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendNumber(b, x)
		}
		return append(b, ']')
	case m.Int:
		return strconv.AppendInt(b, int64(values[0]), 10)
	}
	return appendNumber(b, values[0])
}

// metadata is who the record was and when, in unix ns. Optional keys are
// absent, never null.
func (w *recordWriter) metadata(b []byte, r *record.Record) []byte {
	start := r.Sent
	for _, t := range []int64{r.Admitted, r.Intended, r.End} { // never sent: as far as it came
		if start == record.None {
			start = t
		}
	}
	phase, kind := w.phases[r.Phase], "profiling"
	if r.Warmup {
		kind = "warmup"
	}
	b = append(b, `{"session_num":`...)
	b = strconv.AppendInt(b, r.SessionNum, 10)
	b = pair(b, "x_request_id", r.XRequestID)
	b = pair(b, "x_correlation_id", r.XCorrelationID)
	b = pair(b, "conversation_id", r.ConversationID)
	b = integer(b, "turn_index", r.Turn)
	b = w.stamp(b, "credit_issued_ns", r.Intended)
	b = w.stamp(b, "request_start_ns", start)
	b = w.stamp(b, "request_ack_ns", r.FirstByte)
	b = w.stamp(b, "request_end_ns", r.End)
	b = pair(b, "worker_id", "worker_"+strconv.FormatInt(r.Worker, 10))
	b = pair(b, "record_processor_id", "record_processor_0")
	b = pair(b, "benchmark_phase", kind)
	b = integer(b, "phase_index", int64(phase[0]))
	if !r.Warmup {
		b = integer(b, "profiling_index", int64(phase[1]))
	}
	b = pair(b, "phase_name", r.Phase)
	b = pair(b, "phase_kind", kind)
	b = append(b, `,"was_cancelled":`...)
	cancelled := r.Status == record.Cancelled || r.Status == record.Cut
	b = strconv.AppendBool(b, cancelled)
	if cancelled {
		b = w.stamp(b, "cancellation_time_ns", r.End)
	}
	b = integer(append(b, `,"context_overflow_skip":false`...), "agent_depth", r.Depth)
	if r.ParentSession != "" {
		b = pair(b, "parent_correlation_id", r.ParentSession)
	}
	return append(pair(b, "root_correlation_id", cmp.Or(r.RootSession, r.XCorrelationID)), '}')
}

func (w *recordWriter) stamp(b []byte, key string, t int64) []byte {
	if t == record.None {
		return b
	}
	return integer(b, key, w.t0+t)
}

func pair(b []byte, key, value string) []byte {
	b = append(append(append(b, ',', '"'), key...), '"', ':')
	return appendString(b, value)
}

func integer(b []byte, key string, v int64) []byte {
	b = append(append(append(b, ',', '"'), key...), '"', ':')
	return strconv.AppendInt(b, v, 10)
}

// appendString appends a JSON string. Most need no escaping.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7f {
			out, err := encode(b, s)
			if err != nil {
				panic(err) // a string always encodes
			}
			return out
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// errorDetails is what went wrong, as AIPerf says it: code, type and message.
// A cancellation has code 499. The message is the server's whole answer where it
// sent one; what kind of error it was to us is the cause.
func errorDetails(r *record.Record) []byte {
	o := object{}
	switch r.Status {
	case record.HTTPError:
		o = o.with("code", r.HTTPStatus).with("type", http.StatusText(int(r.HTTPStatus)))
	case record.Cancelled, record.Cut:
		o = o.with("code", 499).with("type", "RequestCancellationError")
	case record.Timeout:
		o = o.with("type", "RequestTimeoutError")
	case record.Truncated:
		o = o.with("type", "ClientPayloadError")
	case record.ParseError:
		o = o.with("type", "InvalidInferenceResultError")
	case record.Connection:
		o = o.with("type", "ClientConnectorError")
	default:
		o = o.with("type", "ClientError")
	}
	o = o.with("message", cmp.Or(r.ErrorBody, r.ErrorMessage, r.ErrorKind))
	if chain := causes(r, o.get("type").(string)); chain != nil {
		if len(chain) > 1 {
			o = o.with("cause", chain[1])
		}
		o = o.with("cause_chain", chain)
	}
	b, err := o.MarshalJSON()
	if err != nil {
		panic(err) // strings and integers always encode
	}
	return b
}

// causes is what kind of error it was, as AIPerf sees it and then to us.
func causes(r *record.Record, kind string) []string {
	switch {
	case r.Status == record.HTTPError || r.Status == record.Cancelled || r.Status == record.Cut:
		return nil
	case r.ErrorKind == "" || r.ErrorKind == "no_content" || r.ErrorKind == "no_field":
		return []string{kind}
	}
	return []string{kind, r.ErrorKind}
}

// maxErrors bounds the error summary: messages with an id in them never group.
const maxErrors = 200

// errorSummary counts equal errors in order of first occurrence.
type errorSummary struct {
	at     map[string]int
	keys   []string
	counts []int64
	others int64
}

func (e *errorSummary) add(details []byte) {
	i, ok := e.at[string(details)]
	switch {
	case ok:
		e.counts[i]++
	case len(e.keys) >= maxErrors:
		e.others++
	default:
		if e.at == nil {
			e.at = map[string]int{}
		}
		key := string(bytes.Clone(details))
		e.at[key] = len(e.keys)
		e.keys, e.counts = append(e.keys, key), append(e.counts, 1)
	}
}

// list is the member error_summary.
func (e *errorSummary) list() []object {
	out := []object{}
	for i, k := range e.keys {
		out = append(out, object{}.with("error_details", json.RawMessage(k)).with("count", e.counts[i]))
	}
	if e.others > 0 {
		rest := object{}.with("type", "Other").with("message",
			fmt.Sprintf("further messages, after %d different ones", maxErrors))
		out = append(out, object{}.with("error_details", rest).with("count", e.others))
	}
	return out
}
