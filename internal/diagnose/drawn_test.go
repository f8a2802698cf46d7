package diagnose_test

import (
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/seed"
)

var plans = flag.Int("plans", 0, "how many servers of each kind are drawn at random; 0 for one of some kinds")

// drawnServer is a server whose only limit at the highest load is known by construction: the dial
// that was turned, or none. load is the highest load; what the dial does to it has a
// strength that is drawn.
type drawnServer struct {
	truth, words string
	load         int
}

const (
	drawnISL, drawnOSL = 256, 24
	drawnStep          = 8.0 // ms
)

// kinds are ways to turn one dial. u is between 0 and 1.
var kinds = []struct {
	name string
	make func(u float64) drawnServer
}{
	{"slots, a third to a half of the load", func(u float64) drawnServer {
		slots := 4 + int(12*u)
		return drawnServer{
			"admission", fmt.Sprintf("batch=%d&prefill=1us&kv_blocks=100000", slots),
			int(float64(slots) * (2 + u)),
		}
	}},
	{"a KV cache for a third to two thirds of the load", func(u float64) drawnServer {
		sequences := 6 + int(10*u)
		return drawnServer{"kv_cache", fmt.Sprintf("batch=256&prefill=1us&kv_blocks=%d",
			sequences*(drawnISL+drawnOSL)/16), int(float64(sequences) * (1.5 + 1.5*u))}
	}},
	{"prompts, 75 to 95 % of the time", func(u float64) drawnServer {
		const load = 24
		use := 0.75 + 0.2*u
		return drawnServer{"prefill", fmt.Sprintf("batch=256&kv_blocks=100000&prefill=%.0fus",
			1e3*use/(1-use)*drawnStep*drawnOSL/load/drawnISL), load}
	}},
	{"fixed times, a third to a half of the load at once; first tokens would fill 60 to 130 % of one engine", func(u float64) drawnServer {
		slots := 4 + int(8*u)
		use := (0.6 + 0.7*u) / float64(slots)
		first := drawnStep * (1 + (drawnOSL-1)*use) / (1 - use)
		return drawnServer{
			"queue", fmt.Sprintf("ttft=%.2fms&itl=%gms&workers=%d", first, drawnStep, slots),
			int(float64(slots) * (2 + u)),
		}
	}},
	{"tokens, steps that grow with what runs to 5 to 20 times", func(u float64) drawnServer {
		const load = 24
		return drawnServer{"decode", fmt.Sprintf("batch=256&prefill=1us&kv_blocks=100000&seq=%.0fus",
			1e3*drawnStep*(4+15*u)/load), load}
	}},
	{"a front end for 30 to 80 % of the load", func(u float64) drawnServer {
		const load = 24
		return drawnServer{"front_end", fmt.Sprintf("batch=256&prefill=1us&kv_blocks=100000&front=%.0fus",
			1e3*drawnStep*drawnOSL/load/(0.3+0.5*u)), load}
	}},
	{"none, as many slots as the load", func(u float64) drawnServer {
		load := 8 + int(16*u)
		return drawnServer{"not_bound", fmt.Sprintf("batch=%d&prefill=1us&kv_blocks=100000", load), load}
	}},
	{"none, a KV cache that is 40 to 85 % full", func(u float64) drawnServer {
		const load = 16
		return drawnServer{"not_bound", fmt.Sprintf("batch=256&prefill=1us&kv_blocks=%.0f",
			load*(drawnISL+drawnOSL+16)/16/(0.4+0.45*u)), load}
	}},
	{"none, prompts for 1 to 10 % of the time", func(u float64) drawnServer {
		const load = 24
		use := 0.01 + 0.09*u
		return drawnServer{"not_bound", fmt.Sprintf("batch=256&kv_blocks=100000&prefill=%.1fus",
			1e3*use/(1-use)*drawnStep*drawnOSL/load/drawnISL), load}
	}},
	{"none, a front end for 4 to 10 times the load", func(u float64) drawnServer {
		const load = 24
		return drawnServer{"not_bound", fmt.Sprintf("batch=256&prefill=1us&kv_blocks=100000&front=%.0fus",
			1e3*drawnStep*drawnOSL/load/(4+6*u)), load}
	}},
	{"a power limit at 70 to 90 % of what the GPUs take at the load", func(u float64) drawnServer {
		const load, most = 24, 700
		return drawnServer{"power_capped", fmt.Sprintf("batch=%d&prefill=1us&kv_blocks=100000&gpus=2&power_cap=%.0f",
			load, most*(0.7+0.2*u)), load}
	}},
	{"none, a power limit at 105 to 140 % of what the GPUs take at the load", func(u float64) drawnServer {
		const load, half = 24, 385 // watts, of 70 without and 700 with all slots in use
		return drawnServer{"not_bound", fmt.Sprintf("batch=%d&prefill=1us&kv_blocks=100000&gpus=2&power_cap=%.0f",
			2*load, half*(1.05+0.35*u)), load}
	}},
}

// The finding at the highest load is the dial that was turned, or it is not known; another
// finding is wrong. Times vary, and so do the lengths of prompts. -plans N -v prints the
// table of docs/simulations.md.
func TestDrawnServers(t *testing.T) {
	t.Parallel()
	for k, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			if *plans == 0 && k%4 != 0 {
				t.Skip("-plans draws servers of this kind")
			}
			right, open, n := 0, 0, max(1, *plans)
			for i := range n {
				rng := seed.Stream(int64(i), fmt.Sprintf("diagnose/%d", k))
				d := kind.make(rng.Float64())
				jitter := 0.3 * rng.Float64()
				words := fmt.Sprintf("jitter=%.2f&seed=%d&%s", jitter, i, d.words)
				if !strings.Contains(words, "ttft=") {
					words = fmt.Sprintf("step=%gms&%s", drawnStep, words)
				}
				s := scenario{
					server: words, loads: []int{1, int(math.Ceil(float64(d.load) / 3)), d.load},
					isl: drawnISL, osl: drawnOSL, n: 480, spread: 40,
				}
				c := s.run(t).Cells[2]
				switch c.Finding {
				case d.truth:
					right++
				case "not_known", "queue":
					open++
				default:
					t.Errorf("%s, %d at once: %s, and it is %s: %s\n%+v", words, d.load, c.Finding, d.truth, c.Sentence,
						c.For)
				}
			}
			t.Logf("| %s | `%s` | %d of %d | %d |", kind.name, kind.make(0.5).truth, right, n, open)
			if 2*open > n {
				t.Errorf("%s: not known in %d of %d", kind.name, open, n)
			}
		})
	}
}
