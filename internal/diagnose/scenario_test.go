package diagnose_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/diagnose"
	"aiperf.dev/aiperf/internal/sim"
)

// scenario is an experiment against the built-in server, and what is to be said of each of
// its loads.
type scenario struct {
	name   string
	server string // words of its URL
	loads  []int  // concurrency, or rate
	open   bool
	isl    int
	isls   []int // several lengths, the cells of each by load
	osl    int
	n      int // requests of a run
	spread int // of the prompts' lengths: standard deviation in tokens
	more   string
	others int           // users of another client
	paused time.Duration // that the client stands still, of each 200 ms
	want   []string      // by load: the finding
	says   []string      // parts of the sentence for all
	near   string        // the rule that nearly holds; "" where one does
}

func (s scenario) text() string {
	phase := fmt.Sprintf("type: concurrency, concurrency: 1, requests: %d", s.n)
	axis := "concurrency"
	if s.open {
		phase, axis = fmt.Sprintf("type: poisson, rate: 1, requests: %d", s.n), "rate"
	}
	list := func(v []int) string { return strings.ReplaceAll(fmt.Sprint(v), " ", ", ") }
	lengths := ""
	if len(s.isls) > 0 {
		lengths = "datasets.main.prompts.isl.mean: " + list(s.isls) + ", "
	}
	return fmt.Sprintf(`benchmark:
  models: demo
  endpoint: {url: "mock:?%s", streaming: true}
  datasets: [{name: main, type: synthetic, prompts: {isl: {mean: %d, stddev: %d}, osl: %d}}]
  phases: [{name: profiling, %s}]
  tokenizer: {name: builtin}
sweep: {parameters: {%sphases.profiling.%s: %s}}
random_seed: 1
allow_invalid: true
%s`, s.server, s.isl, s.spread, s.osl, phase, lengths, axis, list(s.loads), s.more)
}

// scenarios are servers that make a rule true, and ones that nearly do.
var scenarios = []scenario{
	{
		name: "16 slots", server: "step=10ms&batch=16&prefill=2us&kv_blocks=100000", loads: []int{1, 8, 32, 64},
		isl: 64, osl: 16, n: 300,
		want: []string{"not_bound", "not_bound", "admission", "admission"}, says: []string{
			"Requests wait for a slot from concurrency 32 on (at most 16 ran at once); below that throughput grows with the load",
		},
	},
	{
		name: "as many slots as requests", server: "step=10ms&batch=16&prefill=2us&kv_blocks=100000",
		loads: []int{1, 8, 16}, isl: 64, osl: 16, n: 250,
		want: []string{"not_bound", "not_bound", "not_bound"}, near: "admission",
		says: []string{"up to concurrency 16, the highest that was measured"},
	},
	{
		name: "slots of a server that does not tell its KV cache", server: "step=10ms&batch=16&prefill=2us",
		loads: []int{8, 32}, isl: 64, osl: 16, n: 250,
		want: []string{"not_known", "queue"}, near: "not_bound",
		says: []string{"at concurrency 32, the highest that was measured ("},
	},
	{
		name: "a KV cache that is full", server: "step=5ms&batch=64&prefill=2us&kv_blocks=160",
		loads: []int{1, 8, 32}, isl: 64, osl: 64, n: 250,
		want: []string{"not_bound", "not_bound", "kv_cache"},
		says: []string{"The KV cache is full at concurrency 32, the highest that was measured; below that throughput"},
	},
	{
		name: "a KV cache that is nearly full", server: "step=5ms&batch=64&prefill=2us&kv_blocks=160",
		loads: []int{1, 8, 16}, isl: 64, osl: 64, n: 250,
		want: []string{"not_bound", "not_bound", "not_bound"}, near: "kv_cache",
	},
	{
		name: "prompts take the time", server: "step=2ms&batch=64&prefill=100us", loads: []int{1, 8, 32}, isl: 512,
		osl: 8, n: 250,
		want: []string{"prefill", "prefill", "prefill"},
		says: []string{"from concurrency 1 (", " of it) to concurrency 32 (", " of it), at every load that was measured"},
	},
	{
		name: "prompts take a third of the time", server: "step=10ms&batch=64&prefill=40us",
		loads: []int{1, 4, 8}, isl: 512, osl: 32, n: 250,
		want: []string{"not_bound", "not_bound", "not_known"}, near: "prefill",
	},
	{
		name: "prompts of two lengths take the time", server: "step=2ms&batch=64&prefill=100us", loads: []int{1, 8},
		isls: []int{128, 512}, isl: 128, osl: 8, n: 250,
		want: []string{"not_known", "prefill", "prefill", "prefill"},
	},
	{
		name: "a fixed time to first token, eight requests at once", server: "ttft=10ms&itl=5ms&workers=8",
		loads: []int{1, 8, 24}, isl: 128, osl: 16, n: 600,
		want: []string{"not_bound", "not_bound", "queue"}, near: "prefill",
	},
	{
		name: "the same time to first token for two lengths", server: "ttft=40ms&itl=5ms&workers=2",
		loads: []int{1, 4}, isls: []int{64, 512}, isl: 128, osl: 4, n: 300,
		want: []string{"not_known", "queue", "not_known", "queue"}, near: "prefill",
	},
	{
		name: "tokens take the time", server: "step=2ms&seq=2ms&batch=64&prefill=1us",
		loads: []int{1, 8, 32}, isl: 64, osl: 32, n: 250,
		want: []string{"not_known", "decode", "decode"},
		says: []string{"from concurrency 8 (", " each) to concurrency 32 (", " each); what the limit is below that is not known"},
	},
	{
		name: "tokens take a little longer with more requests", server: "step=20ms&seq=100us&batch=64&prefill=1us",
		loads: []int{1, 8, 32}, isl: 64, osl: 16, n: 400,
		want: []string{"not_bound", "not_bound", "not_bound"}, near: "decode",
	},
	{
		name: "a front end that takes one request at a time", server: "step=2ms&batch=64&prefill=1us&front=20ms",
		loads: []int{1, 8, 32}, isl: 64, osl: 16, n: 250,
		want: []string{"front_end", "front_end", "front_end"},
	},
	{
		name: "a front end that is fast enough", server: "step=10ms&batch=64&prefill=1us&front=500us",
		loads: []int{1, 4, 8}, isl: 64, osl: 16, n: 400,
		want: []string{"not_bound", "not_bound", "not_bound"}, near: "front_end",
	},
	{
		name:   "an open loop that the server keeps up with",
		server: "step=10ms&batch=16&prefill=2us&kv_blocks=100000", open: true, loads: []int{20}, isl: 64, osl: 16,
		n:    400,
		want: []string{"not_bound"}, near: "overloaded", says: []string{"The server keeps up with 20 requests/s, and requests wait"},
	},
	{
		name:   "an open loop that it does not keep up with",
		server: "step=10ms&batch=16&prefill=2us&kv_blocks=100000", open: true, loads: []int{20, 200}, isl: 64,
		osl: 16, n: 600,
		want: []string{"not_bound", "admission"},
		says: []string{"at rate 200, the highest that was measured (at most 16 ran at once); below that the server keeps up"},
	},
	{
		name: "GPUs at their power limit", server: "step=10ms&batch=8&prefill=1us&kv_blocks=100000&gpus=2&power_cap=550",
		loads: []int{1, 4, 8}, isl: 64, osl: 16, n: 250,
		want: []string{"not_bound", "not_bound", "power_capped"},
		says: []string{"A power or heat limit holds a GPU's clocks down at concurrency 8, the highest that was measured ("},
	},
	{
		name: "GPUs that nearly reach their power limit", server: "step=10ms&batch=10&prefill=1us&kv_blocks=100000&gpus=2&power_cap=640",
		loads: []int{1, 4, 8}, isl: 64, osl: 16, n: 250,
		want: []string{"not_bound", "not_bound", "not_bound"}, near: "power_capped",
	},
	{
		name: "a prefix cache that is warm from the second trial on", server: "step=5ms&batch=64&prefill=50us&cache=100000",
		loads: []int{8}, isl: 128, osl: 16, n: 200, more: "multi_run: {num_runs: 2, seeds: fixed}\n",
		want: []string{"cache_changed"}, says: []string{"The prefix cache helped some trials more than others"},
	},
	{
		name: "a prefix cache, and prompts that no trial repeats", server: "step=5ms&batch=64&prefill=50us&cache=100000",
		loads: []int{8}, isl: 128, osl: 16, n: 200, more: "multi_run: {num_runs: 2, seeds: blocks}\n",
		want: []string{"not_known"}, near: "cache_changed",
	},
	{
		name: "a server that becomes slower", server: "step=10ms&batch=16&prefill=2us&kv_blocks=100000&drift=0.01",
		loads: []int{8}, isl: 64, osl: 16, n: 250, more: "multi_run: {num_runs: 6}\n",
		want: []string{"drift"},
	},
	{
		name: "a server that does not change", server: "step=10ms&batch=16&prefill=2us&kv_blocks=100000&jitter=0.1",
		loads: []int{8}, isl: 64, osl: 16, n: 250, more: "multi_run: {num_runs: 6}\n",
		want: []string{"not_known"}, near: "drift",
	},
	{
		name: "a server that another client uses as much", server: "step=10ms&batch=16&prefill=2us&kv_blocks=100000",
		loads: []int{4}, isl: 64, osl: 16, n: 250, others: 4, want: []string{"other_clients"},
		says: []string{"Other clients use this server"},
	},
	{
		name: "a server that another client uses a little", server: "step=10ms&batch=16&prefill=2us&kv_blocks=100000",
		loads: []int{8}, isl: 64, osl: 16, n: 250, others: 1, want: []string{"not_known"}, near: "other_clients",
	},
	{
		name: "a client that stands still for half of the time", server: "step=10ms&batch=16&prefill=2us&kv_blocks=100000",
		loads: []int{8}, isl: 64, osl: 16, n: 250, paused: 100 * time.Millisecond, want: []string{"client"},
		says: []string{"The client sent less load than requested"},
	},
	{
		name:   "a client that stands still at times, and more requests than a server works on",
		server: "ttft=40ms&workers=8", loads: []int{16, 32}, isl: 64, osl: 16, n: 400, paused: 70 * time.Millisecond,
		want: []string{"queue", "queue"}, near: "client", says: []string{"Requests wait in the server's queue from concurrency 16 ("},
	},
	{
		name: "a client that stands still for a moment at times", server: "step=10ms&batch=16&prefill=2us&kv_blocks=100000",
		loads: []int{8}, isl: 64, osl: 16, n: 250, paused: 500 * time.Microsecond, want: []string{"not_known"}, near: "client",
	},
	{
		name: "an open loop against a server that tells nothing of itself", server: "step=10ms&batch=16&prefill=2us&metrics=off",
		open: true, loads: []int{200}, isl: 64, osl: 16, n: 600, want: []string{"overloaded"},
		says: []string{"The server does not keep up"},
	},
	{
		name: "requests that wait for a moment in a server that does not tell its KV cache", server: "step=10ms&batch=16&prefill=2us",
		loads: []int{8, 17}, isl: 64, osl: 64, n: 250, want: []string{"not_bound", "not_bound"}, near: "queue",
	},
}

// Each rule says the right thing of a server that makes it true, and of one that nearly
// does.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := s.run(t)
			for i, c := range r.Cells {
				if c.Finding != s.want[i] {
					t.Errorf("%s is %q, want %q: %s\nfor %+v\nagainst %+v", c.Label, c.Finding, s.want[i], c.Sentence,
						c.For, c.Against)
				}
			}
			for _, part := range s.says {
				if !strings.Contains(r.Sentence, part) {
					t.Errorf("%q does not say %q", r.Sentence, part)
				}
			}
			var b strings.Builder
			if err := r.WriteText(&b, 120); err != nil || !strings.HasPrefix(b.String(), r.Sentence[:10]) {
				t.Errorf("text: %v\n%s", err, b.String())
			}
			if strings.Contains(b.String(), "(not known)") { // the sentence before it says so
				t.Errorf("not known is said twice:\n%s", b.String())
			}
			t.Log(b.String())
		})
	}
}

func (s scenario) run(t *testing.T) *diagnose.Report {
	t.Helper()
	dir := t.TempDir()
	worlds := &sim.Worlds{Others: s.others}
	if s.paused > 0 {
		worlds.Stall = func(int) (pauses []sim.Pause) {
			const every = 200 * time.Millisecond
			for at := every; at < time.Minute; at += every {
				pauses = append(pauses, sim.Pause{From: at.Nanoseconds(), To: (at + s.paused).Nanoseconds()})
			}
			return pauses
		}
	}
	if _, err := sim.RunScraped(s.text(), dir, worlds); err != nil {
		t.Fatalf("%v\n%s", err, s.text())
	}
	r, err := diagnose.Dir(dir + "/results")
	if err != nil {
		t.Fatal(err)
	}
	return r
}
