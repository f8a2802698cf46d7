package acceptance

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/stats"
)

var timed = flag.Bool("timed", false, "differences of times from the server's log are failures (on a quiet machine)")

// How far the program may be from the server's log, in ms.
const (
	atMedian = 0.5  // median of the differences
	early    = 0.05 // no answer arrives before it was sent; this is the error of mapping clocks
)

// export is a line of profile_export.jsonl.
type export struct {
	Metadata struct {
		RequestID string  `json:"x_request_id"`
		Phase     string  `json:"benchmark_phase"`
		Start     float64 `json:"request_start_ns"`
		End       float64 `json:"request_end_ns"`
	}
	Metrics map[string]struct{ Value any }
	Error   *struct{ Code int }
}

// number is a metric of one request, NaN when the line has none.
func (e export) number(tag string) float64 {
	v, ok := e.Metrics[tag].Value.(float64)
	if !ok {
		return math.NaN()
	}
	return v
}

// events are the places in the log where content left the server.
func events(e mockserver.Entry) (at []int64) {
	for _, c := range e.Chunks {
		if c.Tokens > 0 || c.Kind == "body" {
			at = append(at, c.At)
		}
	}
	return at
}

// The server's log is the truth; what the program reports must follow from it:
// every request once, with its status, tokens and events exactly, and with its
// times as the server kept them (make bench asserts those).
func TestAgainstServersLog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, server string
		stream       bool
		flags        string
	}{
		{"one stream at a time", "mock:?ttft=20ms&itl=4ms&jitter=0.3", true, "--concurrency 1 --request-count 25 --warmup-request-count 3"},
		{"sixteen streams, some refused", "mock:?ttft=60ms&itl=6ms&jitter=0.3&error_rate=0.04&reasoning=5", true, "--concurrency 16 --request-count 240 --warmup-request-count 8"},
		{"loaded engine", "mock:?step=5ms&batch=8&prefill=0.05ms", true, "--request-rate 30 --request-count 120"},
		{"whole answers", "mock:?ttft=15ms&itl=1ms&jitter=0.3", false, "--concurrency 4 --request-count 80"},
	} {
		t.Run(c.name, func(t *testing.T) { // one after the other: they are timed
			flags := strings.Fields(c.flags)
			if c.stream {
				flags = append(flags, "--streaming")
			}
			judge(t, compareWithLog(t, c.server, c.stream, flags))
		})
	}
}

// judge tells doubts about times: they are failures where the machine is quiet enough
// to be judged, and nothing else wants its cores.
func judge(t *testing.T, doubts []string) {
	t.Helper()
	for _, d := range doubts {
		if *timed {
			t.Error(d)
		} else {
			t.Log(d)
		}
	}
}

// compareWithLog measures a fresh server. What must be exact fails the test;
// doubts about times are returned.
func compareWithLog(t *testing.T, server string, stream bool, flags []string) (doubts []string) {
	t.Helper()
	return witnessed(t, server, stream, flags, t.TempDir(), func(args []string) { measure(t, args...) })
}

// witnessed is compareWithLog where run starts the program; its results are in
// dir/out.
func witnessed(
	t *testing.T, server string, stream bool, flags []string, dir string, run func(args []string),
) (doubts []string) {
	t.Helper()
	log := filepath.Join(dir, "truth.jsonl")
	child, err := mockserver.Spawn(context.Background(), built(t), server, log)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	run(append([]string{
		"profile", "-m", "demo", "-u", child.URL, "--tokenizer", "builtin", "--isl", "48", "--osl", "24",
		"--random-seed", "5", "--artifact-dir", out,
	}, flags...))
	if err := child.Stop(); err != nil {
		t.Fatal(err)
	}
	truth := map[string]mockserver.Entry{}
	for _, e := range lines[mockserver.Entry](t, log) {
		if !strings.HasSuffix(e.Path, "/chat/completions") {
			continue // the list of models
		}
		if _, twice := truth[e.RequestID]; twice || e.RequestID == "" {
			t.Fatalf("the server saw request %q twice", e.RequestID)
		}
		truth[e.RequestID] = e
	}
	told := lines[export](t, filepath.Join(out, "profile_export.jsonl"))
	if len(told) != len(truth) {
		t.Fatalf("the program tells of %d requests, the server of %d", len(told), len(truth))
	}
	w := newWitness(stream)
	for _, r := range told {
		e, ok := truth[r.Metadata.RequestID]
		if !ok {
			t.Fatalf("the server never saw request %q", r.Metadata.RequestID)
		}
		w.compare(t, r, e)
	}
	if refuses := strings.Contains(server, "error_rate"); refuses != (w.failed > 0) {
		t.Errorf("%s refused %d requests", server, w.failed)
	}
	w.summary(t, filepath.Join(out, "profile_export_aiperf.json"))
	return w.doubts
}

// witness compares times, tag by tag.
type witness struct {
	stream bool
	off    map[string][]float64 // program − log, of every request
	told   map[string][]float64 // what the program says of the profiling phase's
	ok     int                  // profiling requests that the server answered
	failed int                  // requests that it refused, of either phase
	doubts []string
}

func newWitness(stream bool) *witness {
	return &witness{stream: stream, off: map[string][]float64{}, told: map[string][]float64{}}
}

// compare holds one request against the log: exactly where it counts, and
// collects differences where it is about time.
func (w *witness) compare(t *testing.T, r export, e mockserver.Entry) {
	t.Helper()
	if e.Status != 200 {
		w.failed++
		if r.Error == nil || r.Error.Code != e.Status {
			t.Errorf("request %d: the server answered %d, the program says %+v", e.N, e.Status, r.Error)
		}
		return
	}
	if r.Error != nil {
		t.Errorf("request %d: the server answered 200, the program says %+v", e.N, *r.Error)
		return
	}
	at := events(e)
	exact := map[string]int{
		"input_sequence_length": e.InTokens, "output_sequence_length": e.OutTokens,
		"output_token_count": e.OutTokens - e.Reasoning,
	}
	if e.Reasoning > 0 { // without any, the line may leave it out
		exact["reasoning_token_count"] = e.Reasoning
	}
	times := map[string]float64{"request_latency": ms(e.Last - e.Recv)}
	if w.stream {
		if gaps, _ := r.Metrics["inter_chunk_latency"].Value.([]any); len(gaps)+1 != len(at) {
			t.Errorf("request %d: %d content events, the server sent %d", e.N, len(gaps)+1, len(at))
		}
		times["time_to_first_token"] = ms(e.First - e.Recv)
		if len(at) > 1 { // a starved server sends many tokens at once
			times["time_to_second_token"] = ms(at[1] - at[0])
		}
		times["inter_token_latency"] = ms(e.Last-e.First) / float64(e.OutTokens-1)
	}
	for tag, want := range exact {
		if got := r.number(tag); got != float64(want) {
			t.Errorf("request %d: %s = %v, the server's log says %d", e.N, tag, got, want)
		}
	}
	profiling := r.Metadata.Phase == "profiling"
	if profiling {
		w.ok++
	}
	for tag, want := range times {
		w.off[tag] = append(w.off[tag], r.number(tag)-want)
		if profiling {
			w.told[tag] = append(w.told[tag], r.number(tag))
		}
	}
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

// near allows for the order in which a computer adds.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

// summary judges the differences, and holds the printed quantiles against the
// records they were made of. Arrival stamps are the kernel's, so a starved client changes
// nothing; a starved server reads a request late, which only ever makes the
// program's span longer, for the few requests that it hits.
func (w *witness) summary(t *testing.T, file string) {
	t.Helper()
	printed := map[string]json.RawMessage{}
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &printed)
	}
	if err != nil {
		t.Fatal(err)
	}
	var count struct{ Avg float64 }
	if err := json.Unmarshal(printed["request_count"], &count); err != nil || int(count.Avg) != w.ok {
		t.Errorf("request_count %v (%v), the server answered %d", count.Avg, err, w.ok)
	}
	for tag, off := range w.off {
		slices.Sort(off)
		mid := [...]float64{stats.Quantile(off, 0), stats.Quantile(off, 0.5), stats.Quantile(off, 1)}
		t.Logf("%-20s program − log: smallest %.4f, median %.4f, largest %.4f ms (n = %d)", tag, mid[0], mid[1], mid[2],
			len(off))
		// two arrivals: either may be the later
		between := tag == "inter_token_latency" || tag == "time_to_second_token"
		if math.IsNaN(mid[1]) || math.Abs(mid[1]) > atMedian {
			w.doubt("%s: median difference %.3f ms, want at most %v", tag, mid[1], atMedian)
		}
		if !between && !(mid[0] >= -early) {
			w.doubt("%s: one is %.3f ms shorter than the server's own time", tag, -mid[0])
		}
		slices.Sort(w.told[tag])
		var p struct{ P50, P99 float64 }
		err := json.Unmarshal(printed[tag], &p)
		if p50, p99 := stats.Quantile(w.told[tag], 0.5), stats.Quantile(w.told[tag], 0.99); err != nil ||
			!near(p.P50, p50) || !near(p.P99, p99) {
			t.Errorf("%s: p50 %v and p99 %v (%v), from its own records %v and %v", tag, p.P50, p.P99, err, p50, p99)
		}
	}
}

func (w *witness) doubt(format string, args ...any) {
	w.doubts = append(w.doubts, fmt.Sprintf(format, args...))
}
