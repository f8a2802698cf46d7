package mockserver

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// said is the value of a series of a page, NaN where there is none.
func said(page, series string) float64 {
	for line := range strings.Lines(page) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err == nil {
				return v
			}
		}
	}
	return math.NaN()
}

// What /metrics counts is what the log says, to the token, whatever the engine is and in
// whose words it is told.
func TestFiguresAgreeWithTheLog(t *testing.T) {
	t.Parallel()
	type names struct{ in, out, running, waiting, ttft string }
	for speech, n := range map[Speech]names{
		SpeaksVLLM: {
			`vllm:prompt_tokens_total{engine="0",model_name="mock-model"}`,
			`vllm:generation_tokens_total{engine="0",model_name="mock-model"}`,
			`vllm:num_requests_running{engine="0",model_name="mock-model"}`,
			`vllm:num_requests_waiting{engine="0",model_name="mock-model"}`,
			`vllm:time_to_first_token_seconds_count{engine="0",model_name="mock-model"}`,
		},
		SpeaksSGLang: {
			in:  `sglang:prompt_tokens_total{engine_type="unified",model_name="mock-model",moe_ep_rank="0",pp_rank="0",tp_rank="0"}`,
			out: `sglang:generation_tokens_total{engine_type="unified",model_name="mock-model",moe_ep_rank="0",pp_rank="0",tp_rank="0"}`,
		},
		SpeaksTRTLLM: {
			in:  `trtllm_prompt_tokens_total{model_name="mock-model",engine_type="trtllm"}`,
			out: `trtllm_generation_tokens_total{model_name="mock-model",engine_type="trtllm"}`,
		},
		SpeaksLlamaCpp: {
			in: "llamacpp:prompt_tokens_total", out: "llamacpp:tokens_predicted_total",
			running: "llamacpp:requests_processing", waiting: "llamacpp:requests_deferred",
		},
	} {
		for _, engine := range []string{
			"step=1ms&batch=3", "ttft=1ms&itl=0.2ms", "ttft=1ms&itl=0.2ms&workers=2",
			"step=1ms&kv_blocks=6&block=4&batch=8",
		} {
			b := start(t, engine+"&metrics="+string(speech))
			var wg sync.WaitGroup
			for i := range 12 {
				wg.Go(func() {
					b.post("/v1/completions", fmt.Sprintf(`{"prompt":[1,2,3,%d],"max_tokens":%d,"stream":%t}`, i, i+1,
						i%2 == 0))
				})
			}
			wg.Wait()
			b.post("/v1/completions", "not json")
			page := b.get(b.s.cfg.speaks().path).body
			in, out, answered := 0, 0, 0
			for _, e := range b.stop() {
				if e.Status == 200 {
					in, out, answered = in+e.InTokens, out+e.OutTokens, answered+1
				}
			}
			if a, b := said(page, n.in), said(page, n.out); a != float64(in) || b != float64(out) || out == 0 {
				t.Errorf("%s, %s: %v and %v tokens, the log has %d and %d", speech, engine, a, b, in, out)
			}
			for name, want := range map[string]int{n.running: 0, n.waiting: 0, n.ttft: answered} {
				if v := said(page, name); name != "" && v != float64(want) {
					t.Errorf("%s, %s: %s is %v, want %d", speech, engine, name, v, want)
				}
			}
		}
	}
}

// In virtual time the figures are known to the nanosecond: two sequences, of which the
// second waits for the one place.
func TestFiguresInVirtualTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "step=10ms&prefill=1ms&batch=1&seed=1")
	for range 2 {
		w.ask("/v1/completions", `{"prompt":[7],"max_tokens":3,"stream":true}`)
	}
	w.run()
	f := &w.s.server.figures
	for name, c := range map[string]struct {
		h    *histogram
		want time.Duration // sum over both
		n    int64
	}{
		"queue":   {&f.queue, 31 * time.Millisecond, 2},
		"ttft":    {&f.ttft, (11 + 42) * time.Millisecond, 2},
		"prefill": {&f.prefill, 22 * time.Millisecond, 2},
		"itl":     {&f.itl, 40 * time.Millisecond, 4},
		"decode":  {&f.decode, 40 * time.Millisecond, 2},
		"e2e":     {&f.e2e, (31 + 62) * time.Millisecond, 2},
	} {
		if math.Abs(c.h.sum-c.want.Seconds()) > 1e-9 || c.h.n != c.n {
			t.Errorf("%s: %v s of %d, want %v of %d", name, c.h.sum, c.h.n, c.want, c.n)
		}
	}
	if f.prompt != 2 || f.generated != 6 || f.whole != 2 || f.active != 0 || f.steps != 6 || f.stepped != 6 {
		t.Errorf("%+v", f)
	}
	w.stop()
}

// Without such a page there is none, and what is not measured is not on it.
func TestExpositionIsHonest(t *testing.T) {
	t.Parallel()
	for _, s := range speeches() {
		b := start(t, "metrics="+string(s.name))
		want := map[string]int{"/metrics": 404, "/prometheus/metrics": 404}
		if s.path != "" {
			want[s.path] = 200
		}
		for path, status := range want {
			a := b.get(path)
			if a.status != status {
				t.Errorf("%s: GET %s: %d, want %d", s.name, path, a.status, status)
			}
			if strings.Contains(a.body, "kv_cache") || strings.Contains(a.body, "token_usage") ||
				strings.Contains(a.body, "NaN") {
				t.Errorf("%s tells of a cache that it does not have:\n%s", s.name, a.body)
			}
		}
		for _, m := range s.families {
			if (m.of.value == nil) == (m.of.times == nil) ||
				!slices.Contains([]string{"gauge", "counter", "histogram"}, m.of.kind) {
				t.Errorf("%s: %s", s.name, m.name)
			}
		}
		b.stop()
	}
}
