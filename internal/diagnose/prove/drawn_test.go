package prove_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/diagnose/prove"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/internal/sim"
)

var plans = flag.Int("plans", 0, "how many servers of each kind are drawn at random; 0 for one of some kinds")

// drawn is a server whose limit is known by construction, and the load that it is under.
type drawn struct {
	words    string
	load     int
	isl, osl int
}

// draws are numbers of one server.
type draws struct{ next func() float64 }

func (d draws) between(low, high float64) float64 { return low + (high-low)*d.next() }

// apart are numbers whose logarithms are spread evenly.
func (d draws) apart(low, high float64) float64 {
	return low * math.Pow(high/low, d.next())
}

// shape is a load, and the step of the engine in ms.
func (d draws) shape() (s drawn, step float64) {
	s = drawn{load: int(d.apart(6, 48)), isl: int(d.apart(48, 768)), osl: int(d.apart(24, 128))}
	return s, d.apart(2, 20)
}

// perToken is the time that a prompt's token may take of an engine's, in steps.
func (s drawn) perToken() float64 { return float64(s.osl) / float64(s.load) / float64(s.isl) }

// kinds are ways to turn one dial, from just over what is said to be a limit to far beyond
// it: by a third of the time up to many times.
var kinds = []struct {
	name  string
	truth []string
	make  func(d draws) drawn
}{
	{"slots", []string{"admission"}, func(d draws) drawn {
		s, step := d.shape()
		s.words = fmt.Sprintf("step=%.2fms&prefill=1us&batch=%d", step, max(1, int(float64(s.load)/d.apart(1.3, 5))))
		return s
	}},
	{"slots of a server whose tokens come slower with each", []string{"admission"}, func(d draws) drawn {
		s, step := d.shape()
		slots := max(1, int(float64(s.load)/d.apart(2.2, 5)))
		s.words = fmt.Sprintf("step=%.2fms&seq=%.0fus&prefill=1us&batch=%d", step, 1e3*step*d.between(0, 0.5)/float64(slots), slots)
		return s
	}},
	{"workers, which take one request each", []string{"admission"}, func(d draws) drawn {
		s, step := d.shape()
		s.words = fmt.Sprintf("ttft=%.2fms&itl=%.2fms&workers=%d", step, step, max(1, int(float64(s.load)/d.apart(1.3, 5))))
		return s
	}},
	{"a KV cache", []string{"kv_cache"}, func(d draws) drawn {
		s, step := d.shape()
		at := max(2, float64(s.load)/d.apart(1.4, 5))
		s.words = fmt.Sprintf("step=%.2fms&prefill=1us&batch=256&kv_blocks=%.0f", step, math.Ceil(at*float64(s.isl+s.osl+16)/16))
		return s
	}},
	{"prompts", []string{"prefill"}, func(d draws) drawn {
		s, step := d.shape()
		use := d.between(0.4, 0.95)
		s.words = fmt.Sprintf("step=%.2fms&batch=256&prefill=%.1fus", step, 1e3*use/(1-use)*step*s.perToken())
		return s
	}},
	{"tokens", []string{"decode"}, func(d draws) drawn {
		s, step := d.shape()
		s.words = fmt.Sprintf("step=%.2fms&batch=256&prefill=1us&seq=%.0fus", step, 1e3*step*d.apart(0.8, 20)/float64(s.load))
		return s
	}},
	{"a front end", []string{"front_end"}, func(d draws) drawn {
		s, step := d.shape()
		s.words = fmt.Sprintf("step=%.2fms&batch=256&prefill=1us&front=%.0fus", step, 1e3*step*float64(s.osl)/float64(s.load)*d.apart(1.4, 5))
		return s
	}},
	{"workers whose times vary from request to request", []string{"admission"}, func(d draws) drawn {
		s, step := d.shape()
		s.words = fmt.Sprintf("ttft=%.2fms&itl=%.2fms&workers=%d&cv=%.2f&ar=%.2f", step, step,
			max(1, int(float64(s.load)/d.apart(1.5, 5))), d.between(0.2, 0.8), d.between(0, 0.6))
		return s
	}},
	{"slots of a server that becomes slower", []string{"admission"}, func(d draws) drawn {
		s, step := d.shape()
		s.words = fmt.Sprintf("step=%.2fms&prefill=1us&batch=%d&drift=%.5f", step, max(1, int(float64(s.load)/d.apart(1.5, 5))), d.between(0, 0.001))
		return s
	}},
	{"a limit on the rate, which refuses requests", nil, func(d draws) drawn {
		s, step := d.shape()
		s.words = fmt.Sprintf("step=%.2fms&prefill=1us&batch=256&rate_limit=%.3f", step, 1e3*float64(s.load)/step/float64(s.osl)/d.apart(1.5, 5))
		return s
	}},
	{"none", []string{"not_bound"}, func(d draws) drawn {
		s, step := d.shape()
		s.words = fmt.Sprintf("step=%.2fms&batch=%d&prefill=1us", step, s.load)
		return s
	}},
	{"none, plain timing with a long first token", []string{"not_bound"}, func(d draws) drawn {
		s, step := d.shape()
		s.words = fmt.Sprintf("ttft=%.0fms&itl=%.2fms", step*d.apart(1, 50), step)
		return s
	}},
	{"none, a KV cache that is nearly full", []string{"not_bound"}, func(d draws) drawn {
		s, step := d.shape()
		s.words = fmt.Sprintf("step=%.2fms&batch=256&prefill=1us&kv_blocks=%.0f", step, float64(s.load)*float64(s.isl+s.osl+32)/16*d.between(1.3, 2.5))
		return s
	}},
	{"prompts and tokens, each a little", []string{"not_bound", "prefill", "decode"}, func(d draws) drawn {
		s, step := d.shape()
		use := d.between(0.02, 0.3)
		s.words = fmt.Sprintf("step=%.2fms&batch=256&prefill=%.1fus&seq=%.1fus", step,
			1e3*use/(1-use)*step*s.perToken(), 1e3*step*d.between(0, 0.3)/float64(s.load))
		return s
	}},
	{"slots and prompts", []string{"admission", "prefill"}, func(d draws) drawn {
		s, step := d.shape()
		slots := max(1, int(float64(s.load)/d.apart(1.3, 4)))
		use := d.between(0.1, 0.8)
		s.words = fmt.Sprintf("step=%.2fms&batch=%d&prefill=%.1fus", step, slots, 1e3*use/(1-use)*step*float64(s.osl)/float64(slots)/float64(s.isl))
		return s
	}},
	{"a KV cache and tokens", []string{"kv_cache", "decode"}, func(d draws) drawn {
		s, step := d.shape()
		at := max(2, float64(s.load)/d.apart(1.4, 4))
		s.words = fmt.Sprintf("step=%.2fms&seq=%.0fus&prefill=1us&batch=256&kv_blocks=%.0f", step,
			1e3*step*d.between(0.2, 5)/at, math.Ceil(at*float64(s.isl+s.osl+16)/16))
		return s
	}},
}

// The stated cause is the dial that was turned, or none is stated; another one is wrong. Times vary, so do
// lengths, and runs differ by up to 3 %. -plans N -v prints the table of docs/simulations.md.
func TestDrawnServers(t *testing.T) {
	t.Parallel()
	for k, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			if *plans == 0 && k%8 != 0 || testing.Short() {
				t.Skip("-plans draws servers of this kind")
			}
			right, open, n := 0, 0, max(1, *plans)
			for i := range n {
				rng := seed.Stream(int64(i), fmt.Sprintf("prove/%d", k))
				d := kind.make(draws{rng.Float64})
				d.words += fmt.Sprintf("&jitter=%.2f&seed=%d", 0.3*rng.Float64(), i)
				pace := 0.03 * rng.Float64()
				p := d.prove(t, func(_ string, run int) float64 {
					return math.Exp(pace * seed.Stream(int64(i), fmt.Sprintf("pace/%d", run)).NormFloat64())
				})
				switch {
				case p.Cause == "":
					open++
				case slices.Contains(kind.truth, p.Cause):
					right++
				case *plans == 0:
					t.Errorf("%+v: %s, and it is %v: %s\n%+v", d, p.Cause, kind.truth, p.Sentence, p.Effects)
				default:
					t.Logf("WRONG %+v: %s", d, p.Cause)
				}
				for _, s := range p.Effects {
					t.Logf("%s, %d at once, %d in, %d out: %q: %s", d.words, d.load, d.isl, d.osl, p.Cause, s.Sentence)
				}
			}
			wrong := n - right - open
			t.Logf("| %s | `%s` | %d of %d | %d | %d |", kind.name, strings.Join(kind.truth, "` or `"), right, n, open, wrong)
			if 50*wrong > n {
				t.Errorf("%s: wrong in %d of %d", kind.name, wrong, n)
			}
		})
	}
}

// budget is time for six trials of some hundred requests a run, as people have it.
func budget(b *prove.Base) time.Duration {
	length := max(5*b.Latency, 150/b.Rate*1e3, 300)
	return time.Duration(24 * (length + 3*b.Latency + 500) * float64(time.Millisecond))
}

// prove looks at the server under its load as a person does, and then proves.
func (d drawn) prove(t *testing.T, pace func(string, int) float64) *prove.Proof {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf(`benchmark:
  models: demo
  endpoint: {url: "mock:?%s", streaming: true}
  datasets: [{name: main, type: synthetic, prompts: {isl: {mean: %d, stddev: %d}, osl: {mean: %d, stddev: %d}}}]
  phases: [{name: profiling, type: concurrency, concurrency: %d, requests: %d}]
  tokenizer: {name: builtin}
random_seed: 1
allow_invalid: true
`, d.words, d.isl, d.isl/8, d.osl, d.osl/8, d.load, 8*d.load)
	if _, err := sim.RunPaced(text, dir, pace); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	base, err := prove.Read(filepath.Join(dir, "results"), -1)
	if err != nil {
		t.Fatal(err)
	}
	base.Streams = true
	e, err := base.Experiment(budget(base))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "proof")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := sim.RunPaced(string(e.Text), folder, pace)
	if err != nil {
		t.Fatalf("%v\n%s", err, e.Text)
	}
	return prove.Judge(out.Results, out.Outcomes)
}
