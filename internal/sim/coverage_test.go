package sim

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep/search"
)

var searches = flag.Int("searches", 2, "whole searches of each server; with 2, of three servers only")

// The rules of a search were chosen with the first numbers: what is in docs/simulations.md has others.
var searchesFrom = flag.Int("searches-from", 0, "the number of the first search, from which its server's noise is drawn")

// carrying is a kind of server whose limit is known, and a search for it.
type carrying struct {
	name   string
	seldom bool       // with -searches alone
	limit  [2]float64 // where it is drawn from, evenly over its logarithm
	where  string     // the limits
	warm   bool       // runs have a warmup: what the beginning of a load shows is not its limit
	// at is the server whose limit is at a load, and the limit where 95 % of all requests
	// are good: a search is right when its bracket holds it.
	at func(limit float64, search int) (server, float64)
}

// slowing is a server whose times grow with the load as (load ÷ limit)^γ, and vary with
// cv: at the limit 95 % of the requests keep metric, which is ms on average there, within
// the limit on it. Runs differ by a factor of log-normal spread apart.
func slowing(metric string, ms float64, words string, cv, gamma, apart float64) carrying {
	s := math.Sqrt(math.Log(1 + cv*cv))
	return carrying{
		limit: [2]float64{4, 60}, where: fmt.Sprintf(`"%s < %.6f"`, metric, ms*math.Exp(1.6448536*s-s*s/2)),
		at: func(limit float64, n int) (server, float64) {
			return server{
				words: fmt.Sprintf("ttft=40ms&itl=5ms&cv=%g&seed=%d%s", cv, n+1, words),
				pace: func(load float64, run int) float64 {
					// no answer takes more than some hours: a cliff's times are more than a clock can count
					return min(1e6, math.Pow(load/limit, gamma)) * math.Exp(apart*seed.Stream(int64(n),
						fmt.Sprintf("sim/search/%d", run)).NormFloat64())
				},
			}, limit
		},
	}
}

// named is c under a name; it is simulated with -searches alone.
func (c carrying) named(name string) carrying {
	c.name, c.seldom = name, true
	return c
}

// carriers are the servers. A spread of 0.3 and 0.6 on the logit of the share is one of
// 0.040 and 0.081 on the times of slowing's server with cv 0.3.
func carriers() []carrying {
	const ttft = metrics.TimeToFirstToken
	const steep = 0.54 // 4 on the logit of the share at cv 0.3, as in sweep/search
	differ := slowing(ttft, 40, "", 0.3, steep, 0.040).named("the same, runs differ by 0.3")
	differ.seldom = false
	return []carrying{
		slowing(ttft, 40, "", 0.3, steep, 0).named("a service curve"),
		differ,
		slowing(ttft, 40, "", 0.3, steep, 0.081).named("the same, runs differ by 0.6"),
		slowing(ttft, 40, "&ar=0.8", 0.3, steep, 0).named("the same, neighbours are alike (ar 0.8)"),
		slowing(ttft, 40, "", 1.5, 2, 0).named("heavy tails (cv 1.5)"),
		slowing(ttft, 40, "", 0.3, 8, 0).named("a cliff"),
		slowing(ttft, 40, "", 0, steep, 0).named("the same times at each load"),
		slowing(metrics.InterTokenLatency, 5, "", 0.3, steep, 0).named("a limit on the time between tokens"),
		{
			name: "a batch of so many: who waits is late", limit: [2]float64{4, 60},
			where: `"time_to_first_token < 41"`,
			at: func(limit float64, _ int) (server, float64) {
				n := math.Floor(limit)
				return server{words: fmt.Sprintf("ttft=40ms&itl=1ms&workers=%g", n)}, n / 0.95 // of c users c − n wait
			},
		},
		{
			// An answer takes five steps of 5 ms, in four of which it holds its block: n blocks
			// are enough for 5 n ÷ 4 users, and with one more many wait for a step.
			name: "KV blocks: who finds none waits or starts again", limit: [2]float64{5, 60},
			where: `"request_latency < 30"`, seldom: true, warm: true,
			at: func(limit float64, _ int) (server, float64) {
				n := 4 * math.Floor(limit/5)
				return server{words: fmt.Sprintf("step=5ms&prefill=0.0001ms&batch=256&block=16&kv_blocks=%g", n)},
					5 * n / 4
			},
		},
		{
			name: "a full queue: who comes then is rejected", limit: [2]float64{4, 60},
			where: `"request_latency < 60000"`,
			at: func(limit float64, _ int) (server, float64) {
				n := math.Floor(limit)
				return server{words: fmt.Sprintf("ttft=40ms&itl=1ms&workers=2&queue=%g", n-2)}, n
			},
		},
	}
}

// The bracket of a whole search, from the experiment through every run to the answer,
// holds the limit in at least 95 % of the searches. -searches says how many; the test
// fails where so few right ones were seen in less than one case of twenty.
func TestSearchCoverage(t *testing.T) {
	t.Parallel()
	for _, c := range carriers() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if raced || c.seldom && *searches <= 2 {
				t.Skip("it takes long: -searches")
			}
			right, ended := 0, 0
			var widths, costs []float64
			for n := range *searches {
				n += *searchesFrom
				u := seed.Stream(int64(n), "sim/search/limit").Float64()
				s, limit := c.at(c.limit[0]*math.Pow(c.limit[1]/c.limit[0], u), n)
				text := searchText(s.words, "concurrency", "type: concurrency",
					fmt.Sprintf("range: [1, 256], where: [%s], resolution: 0.05, budget: {probes: 40}", c.where), 200)
				if c.warm {
					text = strings.Replace(text, "[{name: profiling, type: concurrency,",
						`[{name: warmup, type: concurrency, concurrency: "{{ phases.profiling.concurrency }}", requests: 200}, {name: profiling, type: concurrency, concurrency: 1, seamless: true,`, 1)
				}
				a := s.find(t, text, scratch(t), false, nil).Search
				if (a.Holds == nil || a.Holds.Load <= limit) && (a.Fails == nil || a.Fails.Load > limit) {
					right++
				}
				costs = append(costs, float64(len(a.Runs)))
				if a.Holds != nil && a.Fails != nil && a.Outcome != search.Contrary {
					ended++
					widths = append(widths, a.Fails.Load/a.Holds.Load-1)
				}
			}
			slices.Sort(widths)
			slices.Sort(costs)
			share := stats.Share([]stats.Tally{{Hits: float64(right), Of: float64(*searches)}}, 0.9)
			t.Logf("| %s | %d of %d | %.1f %% | %d | %.0f | %.0f %% |", c.name, right, *searches, 100*share.Low, ended,
				stats.Quantile(costs, 0.5), 100*stats.Quantile(widths, 0.5))
			if share.High < 0.95 {
				t.Errorf("%d of %d brackets hold the limit", right, *searches)
			}
			if ended < *searches*9/10 {
				t.Errorf("%d of %d brackets have two ends", ended, *searches)
			}
		})
	}
}
