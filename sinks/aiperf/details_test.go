package aiperf_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/record/recordtest"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/sinks/aiperf"
)

// details0 is when the runs of these tests began.
var details0 = time.Date(2026, 11, 21, 9, 30, 0, 123456789, time.UTC)

// exchanges are the bytes of the fixed records: one stream, one plain answer.
func exchangeOf(r *record.Record) *aiperf.RawRequest {
	x := &aiperf.RawRequest{
		RequestHeader:  []byte("Host: h\r\nAuthorization: Bearer sk-very-secret\r\nX-Api-Key: k\r\nX-Team: blue\r\nX-Session-Affinity: s\r\n"),
		ResponseHeader: []byte("Content-Type: text/event-stream\r\nSet-Cookie: id=1\r\n"),
		Body:           []byte(`{"model": "m", "n": 1}`), Status: r.HTTPStatus,
		Reason: "OK", ContentType: "application/json",
		Local: "127.0.0.1:4711", Remote: "[::1]:8000", Streamed: r.Streamed, Reasoning: []byte("hm "),
		Text: []byte("the key is sk-very-secret"),
	}
	x.Events = []aiperf.RawEvent{{At: 5, Data: []byte(`{"a":"λ\n"}`)}, {At: 7, Data: []byte("[DONE]"), Error: true}}
	if !r.Streamed {
		x.Events, x.Text, x.Reasoning = x.Events[:1], nil, nil
	}
	return x
}

func writeDetails(t *testing.T, dir, prefix string, want aiperf.DetailOptions) {
	t.Helper()
	info := &aiperf.RunInfo{T0: details0, Phases: []aiperf.PhaseName{
		{Name: "warmup", Warmup: true},
		{Name: "profiling"},
	}}
	d, err := aiperf.NewDetails(dir, prefix, want, info)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recordtest.Fixed() {
		r.SessionNum = 10 - r.RequestID // completed in reverse
		d.Keep(&r, d.Render(&r, exchangeOf(&r)))
	}
	if _, err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDetails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hide := secret.NewMasker("sk-very-secret")
	writeDetails(t, dir, "run1", aiperf.DetailOptions{Raw: true, Outputs: true, Trace: true, Hide: hide})

	raw := strings.Split(strings.TrimSpace(string(load(t, filepath.Join(dir, "run1_raw.jsonl")))), "\n")
	if len(raw) != 3+5 {
		t.Fatalf("%d raw lines", len(raw))
	}
	if got := strings.Join(keys(t, []byte(raw[0])),
		" "); got != "metadata start_perf_ns request_headers status responses payload" {
		t.Errorf("raw keys %s", got)
	}
	for _, want := range []string{
		`"request_headers":{"Host":"h","Authorization":"<redacted>","X-Api-Key":"<redacted>","X-Team":"<redacted>","X-Session-Affinity":"<redacted>"}`,
		`"responses":[{"perf_ns":5,"packets":[{"name":"data","value":"{\"a\":\"λ\\n\"}"}]},{"perf_ns":7,"packets":[{"name":"event","value":"error"},{"name":"data","value":"[DONE]"}]}]`,
		`"payload":{"model":"m","n":1}}`,
	} {
		if !strings.Contains(raw[0], want) {
			t.Errorf("no %s in\n%s", want, raw[0])
		}
	}
	if want := `"responses":[{"perf_ns":5,"text":"{\"a\":\"λ\\n\"}","content_type":"application/json"}],"error":{"code":503`; !strings.Contains(raw[2], want) {
		t.Errorf("no %s in\n%s", want, raw[2])
	}

	var out struct {
		Data, Warmup []struct {
			Session int64          `json:"session_num"`
			Text    *string        `json:"response_text"`
			Metrics map[string]any `json:"metrics"`
		}
	}
	if err := json.Unmarshal(load(t, filepath.Join(dir, "outputs.json")), &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Data) != 7 || len(out.Warmup) != 1 {
		t.Fatalf("%d entries, %d of the warmup", len(out.Data), len(out.Warmup))
	}
	for i := 1; i < len(out.Data); i++ {
		if out.Data[i].Session < out.Data[i-1].Session {
			t.Errorf("session %d after %d", out.Data[i].Session, out.Data[i-1].Session)
		}
	}
	last := out.Data[len(out.Data)-1]
	if last.Text == nil || *last.Text != "hm the key is ***" ||
		last.Metrics["request_latency"] != 90.0 || out.Data[0].Text != nil {
		t.Errorf("last entry %+v, first text %v", last, out.Data[0].Text)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "outputs-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The traces that waited come back into the right records.
func TestTraceData(t *testing.T) {
	t.Parallel()
	v := chatRun(t, failures)
	info := v.info
	d, err := aiperf.NewDetails(v.dir, "", aiperf.DetailOptions{Trace: true}, &info)
	if err != nil {
		t.Fatal(err)
	}
	for i := range v.records {
		x := exchangeOf(&v.records[i])
		x.Body = make([]byte, 100+i)
		d.Keep(&v.records[i], d.Render(&v.records[i], x))
	}
	if _, err := d.Close(); err != nil {
		t.Fatal(err)
	}
	v.writeAs(t, aiperf.Profile{JSON: true, Records: true, Trace: filepath.Join(v.dir, aiperf.TraceName)})
	lines := strings.Split(strings.TrimSpace(string(load(t, filepath.Join(v.dir, "profile_export.jsonl")))), "\n")
	timed := 0
	for i, line := range lines {
		var got struct {
			Trace struct {
				Body    int               `json:"request_bytes_total"`
				Headers map[string]string `json:"request_headers"`
				Port    int               `json:"local_port"`
				Remote  string            `json:"remote_ip"`
				Sending int64             `json:"sending_ns"`
				Waiting int64             `json:"waiting_ns"`
				Receive int64             `json:"receiving_ns"`
				All     int64             `json:"duration_ns"`
			} `json:"trace_data"`
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		tr := got.Trace
		if tr.Body != 100+i || tr.Headers["X-Team"] != "<redacted>" || tr.Headers["Authorization"] != "<redacted>" ||
			tr.Port != 4711 || tr.Remote != "::1" {
			t.Errorf("line %d: %+v", i, tr)
		}
		if tr.All > 0 {
			timed++
		}
		if tr.Sending+tr.Waiting+tr.Receive != tr.All {
			t.Errorf("line %d: %d + %d + %d ns of %d", i, tr.Sending, tr.Waiting, tr.Receive, tr.All)
		}
	}
	if timed < len(lines)-2 { // one was never sent
		t.Errorf("%d of %d lines have times", timed, len(lines))
	}
}

// Nothing is left behind when a run is given up, and nothing is in place.
func TestDetailsAborted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := aiperf.NewDetails(dir, "", aiperf.DetailOptions{Raw: true, Outputs: true}, &aiperf.RunInfo{T0: details0})
	if err != nil {
		t.Fatal(err)
	}
	r := recordtest.Fixed()[0]
	d.Keep(&r, d.Render(&r, exchangeOf(&r)))
	d.Abort()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
