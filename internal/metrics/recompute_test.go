package metrics_test

import (
	"math"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

type stats map[string]float64

// byHand holds statistics worked out on paper from the five records of small.
var byHand = map[string]stats{
	"time_to_first_token":                            {"avg": 30, "min": 20, "max": 40, "sum": 60, "std": 10, "count": 2, "p1": 20.2, "p5": 21, "p10": 22, "p25": 25, "p50": 30, "p75": 35, "p90": 38, "p95": 39, "p99": 39.8, "p999": 39.98, "n_effective": 2},
	"time_to_second_token":                           {"avg": 15, "min": 10, "max": 20, "std": 5},
	"time_to_first_output_token":                     {"avg": 35, "min": 20, "max": 50, "std": 15},
	"request_latency":                                {"avg": 70, "min": 60, "max": 80, "std": 10},
	"decode_duration":                                {"avg": 40, "min": 40, "max": 40, "std": 0},
	"full_decode_duration":                           {"avg": 46.5, "min": 45, "max": 48}, // 42 to 90 ms, 30 to 75 ms
	"full_response_inter_token_latency":              {"avg": 17.25, "min": 12, "max": 22.5},
	"full_response_output_token_throughput_per_user": {"avg": 575.0 / 9, "min": 400.0 / 9, "max": 250.0 / 3},
	"inter_token_latency":                            {"avg": 15, "min": 10, "max": 20, "p50": 15},
	"inter_chunk_latency":                            {"avg": 16, "count": 5, "sum": 80, "p50": 20, "p25": 10, "std": math.Sqrt(24)},
	"output_token_throughput_per_user":               {"avg": 75, "min": 50, "max": 100},
	"e2e_output_token_throughput":                    {"avg": 56.25, "min": 50, "max": 62.5},
	"latency_per_output_token":                       {"avg": 18, "min": 16, "max": 20, "p75": 19, "p90": 19.6}, // 80/5, 60/3
	"e2e_normalized_interactivity_p75":               {"avg": 1000.0 / 19},
	"e2e_normalized_interactivity_p90":               {"avg": 1000 / 19.6}, // the p10 of 50 and 62.5 would be 51.25
	"output_sequence_length":                         {"avg": 4, "sum": 8, "min": 3, "max": 5},
	"input_sequence_length":                          {"avg": 25, "sum": 50},
	"output_token_count":                             {"avg": 3.5, "sum": 7},
	"reasoning_token_count":                          {"avg": 1, "count": 1},
	"prefill_throughput_per_user":                    {"avg": 750, "min": 500, "max": 1000},
	"osl_mismatch_diff_pct":                          {"avg": -12.5, "min": -25, "max": 0},
	"output_token_throughput":                        {"avg": 80},
	"input_token_throughput":                         {"avg": 500},
	"total_token_throughput":                         {"avg": 580},
	"request_throughput":                             {"avg": 20},
	"goodput":                                        {"avg": 10},
	"good_request_count":                             {"avg": 1},
	"good_request_fraction":                          {"avg": 1.0 / 3},
	"completed_request_count":                        {"avg": 3},
	"cancelled_request_count":                        {"avg": 1},
	"cut_request_count":                              {"avg": 0},
	"unsent_request_count":                           {"avg": 0},
	"request_error_rate":                             {"avg": 100.0 / 3},
	"goodput_from_sent":                              {"avg": 10}, // of opened
	"good_request_fraction_from_sent":                {"avg": 1},
	"error_rate":                                     {"avg": 1.0 / 3},
	"request_count":                                  {"avg": 2},
	"streamed_request_count":                         {"avg": 2},
	"error_request_count":                            {"avg": 1},
	"total_isl":                                      {"avg": 50},
	"total_osl":                                      {"avg": 8},
	"total_output_tokens":                            {"avg": 7},
	"total_reasoning_tokens":                         {"avg": 1},
	"benchmark_duration":                             {"avg": 0.08},
	"osl_mismatch_count":                             {"avg": 1},
	"error_isl":                                      {"avg": 30, "count": 1},
	"total_error_isl":                                {"avg": 30},
	"time_to_first_token_from_intended":              {"avg": 31, "min": 20, "max": 42},
	"request_latency_from_intended":                  {"avg": 71, "min": 60, "max": 82},
	"credit_to_start_latency":                        {"avg": 1, "min": 0, "max": 2},
	"context_overflow_count":                         {"avg": 0},
	"http_req_blocked":                               {"avg": 0, "count": 2},
	"http_req_chunks_sent":                           {"avg": 1, "count": 2},
	"dispatch_lateness":                              {"avg": 0.5, "max": 1},
	"admission_wait":                                 {"avg": 0.5, "max": 1},

	"usage_prompt_tokens":                    {"avg": 50, "count": 1},
	"usage_prompt_cache_read_tokens":         {"avg": 10, "count": 1},
	"usage_completion_tokens":                {"avg": 4, "count": 2},
	"usage_reasoning_tokens":                 {"avg": 1, "count": 1},
	"usage_accepted_prediction_tokens":       {"avg": 3, "count": 1},
	"usage_rejected_prediction_tokens":       {"avg": 0, "count": 1},
	"usage_total_tokens":                     {"avg": 55, "count": 1},
	"usage_prompt_tokens_diff_pct":           {"avg": 25, "count": 1},
	"usage_completion_tokens_diff_pct":       {"avg": 0, "count": 2},
	"usage_reasoning_tokens_diff_pct":        {"avg": 0, "count": 1},
	"usage_discrepancy_count":                {"avg": 1},
	"total_usage_prompt_tokens":              {"avg": 50},
	"total_usage_prompt_cache_read_tokens":   {"avg": 10},
	"total_usage_completion_tokens":          {"avg": 8},
	"total_usage_reasoning_tokens":           {"avg": 1},
	"total_usage_accepted_prediction_tokens": {"avg": 3},
	"total_usage_rejected_prediction_tokens": {"avg": 0},
	"total_usage_total_tokens":               {"avg": 55},
	"overall_usage_prompt_cache_read_pct":    {"avg": 20},

	"http_req_dns_lookup":          {"avg": 0.5, "max": 1},
	"http_req_connecting":          {"avg": 2.5, "max": 5},
	"http_req_connection_overhead": {"avg": 3, "max": 6},
	"http_req_sending":             {"avg": 0.5, "max": 1},
	"http_req_waiting":             {"avg": 8.5, "max": 10},
	"http_req_receiving":           {"avg": 67.5, "max": 80},
	"http_req_duration":            {"avg": 76.5, "max": 88},
	"http_req_total":               {"avg": 79.5, "max": 94},
	"http_req_connection_reused":   {"avg": 0.5},
	"http_req_data_sent":           {"avg": 1.5, "max": 2},
	"http_req_data_received":       {"avg": 3, "max": 4},
	"http_req_chunks_received":     {"avg": 4, "max": 5},

	// in flight: none for 7 ms, one for 28, two for 60, three for 5
	"effective_concurrency":         {"avg": 1.63, "min": 0, "max": 3, "std": math.Sqrt(3.13 - 1.63*1.63), "p50": 2, "p90": 2, "p95": 2, "p99": 3, "sum": math.NaN(), "count": math.NaN()},
	"effective_decode_concurrency":  {"avg": 0.93, "max": 2},
	"effective_prefill_concurrency": {"avg": 0.60, "max": 2},
	"metric_duration_coverage":      {"avg": 0.88}, // 2..90 and 10..75 ms; the failure and the cancelled one tell nothing
	// two requests: 40 and 10 tokens in, 5 and 3 out; the first prefills in
	// 2..42 ms and decodes in gaps of 10, 10 and 20 ms, the second in 10..30 ms
	// and two gaps of 20 ms
	"effective_prefill_throughput":          {"avg": 500, "min": 0, "max": 1500},
	"effective_decode_throughput":           {"avg": 60, "min": 0, "max": 550.0 / 3},
	"effective_total_throughput":            {"avg": 560, "min": 0, "max": 1500},
	"effective_prefill_throughput_per_user": {"avg": 350, "max": 1000},
	"effective_decode_throughput_per_user":  {"avg": 106.0 / 3, "max": 275.0 / 3},
	"tokens_in_flight":                      {"avg": 43.975, "min": 0, "max": 56.75, "sum": math.NaN()},
	"active_prefill_throughput":             {"avg": 1250, "min": 1000, "max": 1500, "p50": 1000, "p90": 1500},
	"active_decode_throughput":              {"avg": 100, "min": 0, "max": 550.0 / 3},
	"active_total_throughput":               {"avg": 56 / 0.093, "max": 1500},
	"active_prefill_throughput_per_user":    {"avg": 875, "min": 750, "max": 1000},
	"active_decode_throughput_per_user":     {"avg": 530.0 / 9, "max": 275.0 / 3},
	"effective_latency":                     {"avg": 77.5, "min": 65, "max": 90},

	// of made, in a window of 100 ms
	"rtfx":                        {"avg": 25, "count": 1},
	"audio_duration":              {"avg": 0.5, "sum": 0.5},
	"audio_throughput":            {"avg": 5},
	"image_throughput":            {"avg": 150, "count": 1},
	"image_latency":               {"avg": 20.0 / 3, "count": 1},
	"num_images":                  {"avg": 3, "sum": 3},
	"vector_throughput":           {"avg": 40},
	"num_vectors":                 {"avg": 4, "count": 1},
	"vector_dimensions":           {"avg": 768, "count": 1},
	"passage_throughput":          {"avg": 100},
	"num_passages":                {"avg": 10, "count": 1},
	"made_image_throughput":       {"avg": 20},
	"num_made_images":             {"avg": 1, "sum": 2},
	"time_to_first_partial_image": {"avg": 5, "count": 1},
	"video_throughput":            {"avg": 10},
	"num_videos":                  {"avg": 1, "count": 1},
	"video_queue_time":            {"avg": 4, "count": 1},
	"video_inference_time":        {"avg": 11.5, "count": 1},
	"video_peak_memory":           {"avg": 2048, "count": 1},
	"video_generation_time":       {"avg": 12, "count": 1},
	"video_download_time":         {"avg": 3, "count": 1},

	// two right answers, a wrong one, one that is neither, and a request that asks nothing, in 100 ms
	"accuracy":                {"avg": 2.0 / 3},
	"right_answer_throughput": {"avg": 20},
	"not_judged_share":        {"avg": 0.25},
	"judged_answer_count":     {"avg": 3},
	"answer_count":            {"avg": 4},

	"adj_request_latency":     {"count": 3, "min": 60, "p1": 60, "p50": 80, "p75": math.Inf(1), "max": math.NaN(), "avg": math.NaN(), "std": math.NaN()},
	"adj_time_to_first_token": {"count": 3, "min": 20, "p50": 40, "p90": math.Inf(1)},
	"adj_inter_token_latency": {"count": 3, "min": 10, "p50": 20, "p90": math.Inf(1)},
	"adj_decode_duration":     {"count": 3, "min": 40, "p50": 40, "p90": math.Inf(1)},
	"adj_effective_latency":   {"count": 3, "min": 65, "p50": 90, "p90": math.Inf(1)},
}

// Every tag of the catalogue is recomputed by hand.
func TestRecompute(t *testing.T) {
	t.Parallel()
	s := small().Summaries()
	if len(s) != 1 || s[0].Window != "full" {
		t.Fatalf("Summaries() = %d windows, want one, full", len(s))
	}
	things, opened := made().Summaries()[0], opened().Summaries()[0]
	for _, tag := range metrics.Tags() {
		want, ok := byHand[tag]
		if !ok {
			t.Errorf("%s: no case in byHand", tag)
			continue
		}
		st, ok := s[0].Get(tag)
		if !ok {
			st, ok = things.Get(tag)
		}
		if !ok {
			st, ok = opened.Get(tag)
		}
		if !ok {
			t.Errorf("%s: absent", tag)
			continue
		}
		m, _ := metrics.Lookup(tag)
		if st.Header != m.Header || st.Unit != m.Unit || st.Scalar == m.Distribution() {
			t.Errorf("%s: got %q %q scalar %t", tag, st.Header, st.Unit, st.Scalar)
		}
		for name, v := range want {
			if got := st.Value(name); !near(got, v) {
				t.Errorf("%s %s = %v, want %v", tag, name, got, v)
			}
		}
		for _, name := range m.Stats() {
			if _, named := want[name]; !named && !m.Distribution() {
				t.Errorf("%s: no value for %s", tag, name)
			}
		}
	}
	if len(byHand) != len(metrics.Tags()) {
		t.Errorf("byHand has %d tags, the catalogue %d", len(byHand), len(metrics.Tags()))
	}
}

func TestCatalogueIsSound(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range metrics.Catalogue() {
		if seen[m.Tag] {
			t.Errorf("%s appears twice", m.Tag)
		}
		seen[m.Tag] = true
		if m.Tag == "" || m.Header == "" || m.Unit == "" || m.Group == "" || m.Order == 0 {
			t.Errorf("%s is incomplete: %+v", m.Tag, m)
		}
		if m.Of != "" && !slices.Contains(metrics.Tags(), m.Of) {
			t.Errorf("%s is made of %s, which is unknown", m.Tag, m.Of)
		}
	}
}

// What needs streaming, tokens, a client count, an SLO or a failure is absent
// without it.
func TestAbsentMeansAbsent(t *testing.T) {
	t.Parallel()
	plain := first()
	plain.Streamed, plain.SLOSet = false, false
	cases := []struct {
		name   string
		opt    metrics.Options
		absent []string
		there  []string
	}{
		{
			"not streaming",
			metrics.Options{Tokens: true},
			[]string{
				"time_to_first_token", "inter_token_latency", "inter_chunk_latency",
				"effective_decode_concurrency", "streamed_request_count",
			},
			[]string{
				"request_latency", "output_sequence_length", "e2e_output_token_throughput",
				"effective_concurrency",
			},
		},
		{
			"streaming asked for, but this answer did not",
			metrics.Options{Streaming: true, Tokens: true},
			[]string{"time_to_first_token", "inter_token_latency", "time_to_second_token"},
			[]string{"request_latency"},
		},
		{
			"no tokens",
			metrics.Options{Streaming: true},
			[]string{"output_sequence_length", "total_osl", "output_token_throughput", "osl_mismatch_diff_pct"},
			[]string{"input_sequence_length", "total_isl"},
		},
		{
			"server counts",
			metrics.Options{Tokens: true, ServerCount: true},
			[]string{"usage_prompt_tokens_diff_pct", "usage_discrepancy_count"},
			[]string{"usage_prompt_tokens"},
		},
		{
			"no failure, no slo",
			metrics.Options{Tokens: true},
			[]string{"adj_request_latency", "goodput", "good_request_count", "error_isl"},
			[]string{"error_rate", "request_error_rate", "error_request_count", "cancelled_request_count"},
		},
	}
	for _, c := range cases {
		col := metrics.NewCollector(c.opt)
		col.Add(plain)
		s := col.Summaries()[0]
		for _, tag := range c.absent {
			if st, ok := s.Get(tag); ok {
				t.Errorf("%s: %s = %v, want it absent", c.name, tag, st.Avg)
			}
		}
		for _, tag := range c.there {
			if _, ok := s.Get(tag); !ok {
				t.Errorf("%s: %s is absent", c.name, tag)
			}
		}
	}
	if s := metrics.NewCollector(metrics.Options{Streaming: true, Tokens: true}).Summaries(); len(s) != 1 ||
		len(s[0].Stats) != 0 {
		t.Errorf("no records: %+v, want one empty summary", s)
	}
}

func TestAllFailed(t *testing.T) {
	t.Parallel()
	c := metrics.NewCollector(metrics.Options{Streaming: true, Tokens: true, Window: metrics.Window{End: 100 * msec}})
	c.Add(failure())
	s := c.Summaries()[0]
	for tag, want := range map[string]float64{
		"error_rate": 1, "request_error_rate": 100, "goodput": 0, "error_request_count": 1,
		"request_count": 0, "request_throughput": 0, "output_token_throughput": 0, "total_osl": 0, // nothing was delivered: that is a value
	} {
		if st, ok := s.Get(tag); !ok || st.Avg != want {
			t.Errorf("%s = %v (%t), want %v", tag, st.Avg, ok, want)
		}
	}
	for _, tag := range []string{"request_latency", "adj_request_latency", "benchmark_duration"} {
		if _, ok := s.Get(tag); ok {
			t.Errorf("%s is there, want it absent", tag)
		}
	}
}

// opened is one request of an open loop, which met its limits from sending and not
// from intended.
func opened() *metrics.Collector {
	c := metrics.NewCollector(metrics.Options{Streaming: true, Tokens: true, Window: metrics.Window{End: 100 * msec}})
	r := first()
	r.Open, r.SLOFailed = true, "request_latency"
	c.Add(r)
	return c
}

// What tells a latency covers the time it was under way, together with others once: 10..30 ms
// and 20..40 ms, and 90..95 ms by an answer of one token, which has no ITL. A failure, an answer
// whose tokens were not counted and one that did not stream cover nothing; nor does what was cut off.
func TestDurationCoverage(t *testing.T) {
	t.Parallel()
	c := metrics.NewCollector(metrics.Options{
		Streaming: true, Tokens: true, Window: metrics.Window{End: 100 * msec},
		Steady: metrics.Window{Start: 35 * msec, End: 85 * msec},
	})
	for _, x := range []struct {
		from, to, osl int64
		change        func(*record.Record)
	}{
		{10, 30, 2, func(*record.Record) {}},
		{20, 40, 3, func(*record.Record) {}},
		{45, 60, 2, func(r *record.Record) { r.Status = record.HTTPError }},
		{60, 70, record.None, func(*record.Record) {}},
		{70, 80, 2, func(r *record.Record) { r.Streamed = false }},
		{80, 85, 2, func(r *record.Record) { r.Status, r.InWindow, r.Measured = record.Cut, false, true }},
		{90, 95, 1, func(*record.Record) {}},
	} {
		r := record.New()
		r.Status, r.Streamed, r.InWindow, r.ISL, r.OSL = record.OK, true, true, 5, x.osl
		r.Intended, r.Admitted, r.Sent, r.End = x.from*msec, x.from*msec, x.from*msec, x.to*msec
		r.FirstToken, r.LastToken = (x.from+1)*msec, (x.to-1)*msec
		r.Chunks = []record.Chunk{{At: r.FirstToken}, {At: r.LastToken}}
		x.change(&r)
		c.Add(&r)
	}
	for i, want := range []float64{0.35, 0.1} { // of the steady window: 35..40 ms
		if st, ok := c.Summaries()[i].Get("metric_duration_coverage"); !ok || !near(st.Avg, want) || !st.Scalar {
			t.Errorf("window %d: %+v, want %v", i, st, want)
		}
	}
}

// The steady window holds the requests that were sent in it; rates count
// the parts of requests that lie inside: all of the second one; of the first, which
// began before, three chunks and 18 of the 20 ms before the fourth. Both were under way
// for 135 ms of it.
func TestSteadyWindow(t *testing.T) {
	t.Parallel()
	c := smallIn(metrics.Window{Start: 5 * msec, End: 80 * msec})
	const part = (3 + 18.0/20) / 4
	s := c.Summaries()
	if len(s) != 2 || s[1].Window != "steady" {
		t.Fatalf("Summaries() = %+v, want full and steady", s)
	}
	for tag, want := range map[string]float64{
		"request_count": 1, "request_throughput": (1 + part) / 0.075, "request_latency": 135 / (1 + part), "output_token_throughput": (3 + 5*part) / 0.075,
		"error_rate": 0.5, "effective_concurrency": 145.0 / 75, "benchmark_duration": 0.06,
	} {
		if st, _ := s[1].Get(tag); !near(st.Avg, want) {
			t.Errorf("steady %s = %v, want %v", tag, st.Avg, want)
		}
	}
}

// Options.SLOs judge afresh, whatever the records say.
func TestCollectorJudges(t *testing.T) {
	t.Parallel()
	c := metrics.NewCollector(metrics.Options{
		Streaming: true, Tokens: true,
		SLOs: map[string]float64{"time_to_first_token": 20},
	})
	for _, r := range []func() *record.Record{first, second} {
		c.Add(r())
	}
	if st, _ := c.Summaries()[0].Get("good_request_count"); st.Avg != 1 {
		t.Errorf("good_request_count = %v, want 1: only the second request has TTFT ≤ 20 ms", st.Avg)
	}
}

// What servers say when the input does not fit their model.
func TestContextOverflow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status  int64
		message string
		want    float64
	}{
		{400, "This model's maximum context length is 4096 tokens", 1},
		{400, "invalid temperature", 0},
		{413, "prompt is too long", 1},
		{500, "maximum context length", 0},
	} {
		r := failure()
		r.HTTPStatus, r.ErrorMessage = c.status, c.message
		m := metrics.NewCollector(metrics.Options{})
		m.Add(r)
		if s, _ := m.Summaries()[0].Get("context_overflow_count"); s.Avg != c.want {
			t.Errorf("%d %q: context_overflow_count = %v, want %v", c.status, c.message, s.Avg, c.want)
		}
	}
}

// Levels over so many stretches that they go into bins keep their mean exact
// and their percentiles to one part in 4096.
func TestLevelsOfManyStretches(t *testing.T) {
	t.Parallel()
	const n = 60_000
	c := metrics.NewCollector(metrics.Options{Streaming: true, Tokens: true, Window: metrics.Window{End: n * msec}})
	for i := range int64(n) {
		r := record.New()
		r.Status, r.Streamed, r.InWindow, r.ISL, r.OSL = record.OK, true, true, 1000+i%97, 2
		r.Sent, r.Intended, r.Admitted = i*msec, i*msec, i*msec
		r.FirstToken, r.LastToken, r.End = r.Sent+msec/2, r.Sent+msec*3/4, r.Sent+msec
		r.Chunks = []record.Chunk{{At: r.FirstToken}, {At: r.LastToken}}
		c.Add(&r)
	}
	s, _ := c.Summaries()[0].Get("tokens_in_flight")
	// per request: half its time with isl, a quarter with isl+1, a quarter with isl+2
	isl := 0.0
	for i := range int64(n) {
		isl += float64(1000 + i%97)
	}
	if want := isl/n + 0.75; math.Abs(s.Avg-want) > 1e-6*want {
		t.Errorf("avg = %v, want %v", s.Avg, want)
	}
	if s.Min != 1000 || s.Max != 1098 || math.Abs(s.P50-1048) > 1.5 {
		t.Errorf("min %v, max %v, p50 %v; want 1000, 1098, about 1048", s.Min, s.Max, s.P50)
	}
}

// A counter that counted nothing is 0: a gate on it holds.
func TestCountersThatCountedNothing(t *testing.T) {
	t.Parallel()
	c := metrics.NewCollector(metrics.Options{Streaming: true, Tokens: true, Window: metrics.Window{End: 100 * msec}})
	c.Add(second())
	s := c.Summaries()[0]
	for _, tag := range []string{
		"error_request_count", "cancelled_request_count", "context_overflow_count",
		"total_error_isl", "error_rate",
	} {
		if st, ok := s.Get(tag); !ok || st.Avg != 0 {
			t.Errorf("%s = %v (%t) where nothing failed, want 0", tag, st.Avg, ok)
		}
	}
	if st, ok := s.Get("total_usage_reasoning_tokens"); ok {
		t.Errorf("total_usage_reasoning_tokens = %v where no server said it, want it absent", st.Avg)
	}
}
