package metrics_test

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

// line is what AIPerf 0.13 wrote about one request.
type line struct {
	Metadata struct {
		Start int64 `json:"request_start_ns"`
		End   int64 `json:"request_end_ns"`
		Issue int64 `json:"credit_issued_ns"`
	}
	Metrics map[string]struct{ Value json.RawMessage }
	Error   json.RawMessage
}

func (l line) float(tag string) float64 {
	v := math.NaN()
	if m, ok := l.Metrics[tag]; ok {
		if json.Unmarshal(m.Value, &v) != nil {
			return math.NaN()
		}
	}
	return v
}

func (l line) int(tag string) int64 {
	if v := l.float(tag); !math.IsNaN(v) {
		return int64(v)
	}
	return record.None
}

func (l line) list(tag string) (v []float64) {
	_ = json.Unmarshal(l.Metrics[tag].Value, &v)
	return v
}

// record turns the line back into stamps.
func (l line) record(t0 int64) *record.Record {
	r := record.New()
	r.Status, r.InWindow, r.Streamed = record.OK, true, true
	r.Intended, r.Admitted = l.Metadata.Issue-t0, l.Metadata.Issue-t0
	r.Sent, r.End = l.Metadata.Start-t0, l.Metadata.End-t0
	if l.Error != nil {
		r.Status, r.ISL = record.HTTPError, l.int("error_isl")
		return &r
	}
	after := func(ms float64) int64 { return r.Sent + int64(math.Round(ms*1e6)) }
	r.FirstToken, r.LastToken = after(l.float("time_to_first_token")), after(l.float("request_latency"))
	r.FirstOutput = after(l.float("time_to_first_output_token"))
	at := l.float("time_to_first_token")
	r.Chunks = append(r.Chunks, record.Chunk{At: after(at)})
	for _, gap := range l.list("inter_chunk_latency") {
		at += gap
		r.Chunks = append(r.Chunks, record.Chunk{At: after(at)})
	}
	r.ISL, r.OSL, r.OutputTokens = l.int("input_sequence_length"), l.int("output_sequence_length"),
		l.int("output_token_count")
	r.OSLRequested = 8
	r.UsagePrompt, r.UsageCompletion = l.int("usage_prompt_tokens"), l.int("usage_completion_tokens")
	r.UsageTotal, r.Cached = l.int("usage_total_tokens"), l.int("usage_prompt_cache_read_tokens")
	r.BytesSent, r.BytesReceived = int64(l.float("http_req_data_sent")*1024),
		int64(l.float("http_req_data_received")*1024)
	r.Reused = l.int("http_req_connection_reused") == 1
	r.DNS, r.Dial = 0, int64(math.Round(l.float("http_req_connecting")*1e6))
	return &r
}

// different names the tags whose formula is not AIPerf's, on purpose.
var different = map[string]string{
	"http_req_sending":            "AIPerf's includes connecting",
	"http_req_waiting":            "follows http_req_sending",
	"http_req_receiving":          "not in the sample's record as a stamp",
	"http_req_duration":           "AIPerf's includes connecting",
	"http_req_total":              "AIPerf counts connecting twice",
	"http_req_chunks_received":    "reads are not in the sample",
	"credit_to_start_latency":     "AIPerf's includes failures",
	"effective_latency":           "AIPerf's includes failures, which end at once",
	"effective_decode_throughput": "gaps of less than 256 ns are 0 in AIPerf", "effective_decode_throughput_per_user": "as above",
	"active_decode_throughput": "as above", "active_decode_throughput_per_user": "as above",
}

// The statistics over two recorded runs of AIPerf 0.13 (one clean, one with
// failures) are the ones it wrote itself, to 1e-6: gaps are kept in 32 bits,
// and its window is printed in microseconds.
func TestAgreesWithAIPerf(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"chat_stream", "errors"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			summary, window := readSummary(t, name)
			compare(t, summary, collect(t, name, window))
		})
	}
}

func compare(t *testing.T, written map[string]map[string]float64, s metrics.Summary) {
	t.Helper()
	compared := 0
	for tag, stats := range written {
		if different[tag] != "" {
			continue
		}
		st, ok := s.Get(tag)
		if !ok {
			if stats["avg"] != 0 {
				t.Errorf("%s is absent, AIPerf wrote %v", tag, stats)
			}
			continue
		}
		for name, want := range stats {
			got := st.Value(name)
			compared++
			tolerance := 1e-6
			if strings.HasPrefix(tag, "effective_") || strings.HasPrefix(tag, "active_") || tag == "tokens_in_flight" {
				tolerance = 1e-4 // AIPerf's stamps of these are multiples of 256 ns
			}
			if math.Abs(got-want) > tolerance*max(1, math.Abs(want)) || math.IsNaN(got) {
				t.Errorf("%s %s = %v, AIPerf wrote %v", tag, name, got, want)
			}
		}
	}
	if compared < 300 {
		t.Errorf("compared only %d statistics", compared)
	}
}

// readSummary reads the statistics of a summary file, and the length of its
// window.
func readSummary(t *testing.T, name string) (map[string]map[string]float64, time.Duration) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name, "profile_export_aiperf.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]float64{}
	for tag, v := range all {
		var m map[string]any
		if json.Unmarshal(v, &m) != nil || m["unit"] == nil {
			continue
		}
		out[tag] = map[string]float64{}
		for stat, x := range m {
			if f, ok := x.(float64); ok {
				out[tag][stat] = f
			}
		}
		if mt, ok := metrics.Lookup(tag); ok && mt.Unit != m["unit"] {
			t.Errorf("%s has unit %q, AIPerf's is %q", tag, mt.Unit, m["unit"])
		}
	}
	at := func(key string) time.Time {
		var s string
		if err := json.Unmarshal(all[key], &s); err != nil {
			t.Fatal(err)
		}
		when, err := time.Parse("2006-01-02T15:04:05.999999", s)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	return out, at("end_time").Sub(at("start_time"))
}

// collect feeds a run's request file to a collector. The window starts at the
// first moment the file knows; only its length matters to a rate.
func collect(t *testing.T, name string, window time.Duration) metrics.Summary {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name, "profile_export.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []line
	t0 := int64(math.MaxInt64)
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var l line
		if err := json.Unmarshal(sc.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		lines, t0 = append(lines, l), min(t0, l.Metadata.Issue)
	}
	c := metrics.NewCollector(metrics.Options{
		Streaming: true,
		Tokens:    true, Window: metrics.Window{End: int64(window)},
	})
	for _, l := range lines {
		c.Add(l.record(t0))
	}
	return c.Summaries()[0]
}
