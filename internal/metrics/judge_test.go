package metrics_test

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	plain := second()
	plain.Streamed = false
	answered := func(answer record.Answer) *record.Record {
		r := first()
		r.Item, r.Answer = "q1", answer
		return r
	}
	cases := []struct {
		name string
		slos map[string]float64
		r    *record.Record
		want string
	}{
		{"none set", nil, first(), ""},
		{"smaller is better, at the limit", map[string]float64{"time_to_first_token": 40}, first(), ""},
		{"smaller is better, above", map[string]float64{"time_to_first_token": 39.9}, first(), "time_to_first_token"},
		{"larger is better, at the limit", map[string]float64{"output_token_throughput_per_user": 100}, first(), ""},
		{"larger is better, below", map[string]float64{"output_token_throughput_per_user": 51}, second(), "output_token_throughput_per_user"},
		{"first of two in alphabetical order", map[string]float64{"time_to_first_token": 1, "request_latency": 1}, first(), "request_latency"},
		{"only the second is missed", map[string]float64{"time_to_first_token": 1, "request_latency": 100}, first(), "time_to_first_token"},
		{"no value", map[string]float64{"inter_token_latency": 1e9}, plain, "inter_token_latency"},
		{"a right answer", map[string]float64{"accuracy": 1}, answered(record.Right), ""},
		{"a wrong answer", map[string]float64{"accuracy": 1}, answered(record.Wrong), "accuracy"},
		{"an answer that is not judged", map[string]float64{"accuracy": 1}, answered(record.NotJudged), "accuracy"},
		{"a request that asks nothing", map[string]float64{"accuracy": 1}, first(), ""},
		{"failed", map[string]float64{"request_latency": 1e9}, failure(), "request_latency"},
	}
	for _, c := range cases {
		judge, err := metrics.Judge(c.slos)
		if err != nil {
			t.Errorf("%s: Judge(%v): %v", c.name, c.slos, err)
			continue
		}
		if got, sent := judge(c.r); got != c.want || sent != c.want {
			t.Errorf("%s: %v judged %q, from sending %q, want %q", c.name, c.slos, got, sent, c.want)
		}
	}
}

// The clock of a limit begins where the user's wait does; what was cut off has missed
// it when it is that old.
func TestJudgeByClock(t *testing.T) {
	t.Parallel()
	made := func(f func(*record.Record)) *record.Record {
		r := first() // due at 0, sent at 2, first token at 42, last at 82, over at 90 ms
		r.Open = true
		f(r)
		return r
	}
	asIs := func(*record.Record) {}
	cut := func(r *record.Record) { r.Status, r.End = record.Cut, 90*msec }
	cases := []struct {
		name        string
		slos        map[string]float64
		r           *record.Record
		clock, sent bool
	}{
		{"open loop", map[string]float64{"request_latency": 81}, made(asIs), true, false},
		{"closed loop", map[string]float64{"request_latency": 81}, first(), false, false},
		{"a rate of one request", map[string]float64{"e2e_output_token_throughput": 62}, made(asIs), true, false},
		{"no start", map[string]float64{"inter_token_latency": 10}, made(asIs), false, false},
		{"cut, old enough from intended", map[string]float64{"request_latency": 90}, made(cut), true, false},
		{"cut, too young", map[string]float64{"request_latency": 91}, made(cut), false, false},
		{"cut, first token known", map[string]float64{"time_to_first_token": 41}, made(cut), true, false},
		{"cut, first token in time", map[string]float64{"time_to_first_token": 42}, made(cut), false, false},
		{"never sent", map[string]float64{"request_latency": 1e9}, unsent(0), true, true},
	}
	for _, c := range cases {
		judge, err := metrics.Judge(c.slos)
		if err != nil {
			t.Fatal(err)
		}
		if clock, sent := judge(c.r); (clock != "") != c.clock || (sent != "") != c.sent {
			t.Errorf("%s: missed %q, from sending %q, want %t and %t", c.name, clock, sent, c.clock, c.sent)
		}
	}
}

func TestJudgeRefuses(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{
		"ttft":                  `unknown metric "ttft"; hint: did you mean time_to_first_token?`,
		"inter_token_latncy":    `did you mean inter_token_latency?`,
		"colour":                "aiperf explain metric lists them",
		"request_throughput":    "no value per request",
		"inter_chunk_latency":   "no value per request",
		"adj_request_latency":   "no value per request",
		"effective_concurrency": "no value per request",
		"error_isl":             "no value per request",
	} {
		_, err := metrics.Judge(map[string]float64{tag: 1})
		if err == nil || !strings.Contains(diag.Line(err), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Judge(%s) = %v, want one line with %q", tag, err, want)
		}
	}
}

func TestPerRecord(t *testing.T) {
	t.Parallel()
	got := map[string]metrics.Value{}
	for _, v := range metrics.PerRecord(first()) {
		got[v.Tag] = v
	}
	if v := got["time_to_first_token"]; v.Value != 40 || v.Unit != "ms" || v.Int {
		t.Errorf("time_to_first_token = %+v", v)
	}
	if v := got["output_sequence_length"]; v.Value != 5 || !v.Int {
		t.Errorf("output_sequence_length = %+v", v)
	}
	if v := got["good_request_count"]; v.Value != 1 {
		t.Errorf("good_request_count = %+v, want 1", v)
	}
	if v := got["inter_chunk_latency"]; len(v.List) != 3 || v.List[2] != 20 {
		t.Errorf("inter_chunk_latency = %+v", v)
	}
	if _, ok := got["error_isl"]; ok {
		t.Error("a successful record has error_isl")
	}
	if vs := metrics.PerRecord(failure()); len(vs) != 1 || vs[0].Tag != "error_isl" || vs[0].Value != 30 {
		t.Errorf("PerRecord(failure) = %+v, want error_isl alone", vs)
	}
}

// A chunk that arrives before the one ahead of it makes all gaps unbelievable.
func TestGapsMustBeMonotonic(t *testing.T) {
	t.Parallel()
	r := second()
	r.Chunks[1].At = 71 * msec
	for _, v := range metrics.PerRecord(r) {
		if v.Tag == "inter_chunk_latency" {
			t.Errorf("got %v, want none", v.List)
		}
	}
}

// The first chunk's read counts, also when the read brought an event before it
// that is no chunk: an answer that was read has at least one read.
func TestReadsCountTheFirst(t *testing.T) {
	t.Parallel()
	r := first()
	for want, same := range map[float64][]bool{
		1: {true, true, true, true, true, true},
		2: {true, true, true, false, true, true}, 6: make([]bool, 6),
	} {
		for i := range r.Chunks {
			r.Chunks[i].SameRead = same[i]
		}
		for _, v := range metrics.PerRecord(r) {
			if v.Tag == "http_req_chunks_received" && v.Value != want {
				t.Errorf("%v: %v reads, want %v", same, v.Value, want)
			}
		}
	}
}
