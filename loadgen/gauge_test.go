package loadgen

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
)

// TestGaugeOfAClientThatStandsStill holds the gauge of a closed loop, which hears of
// ends late, against the level by the stamps alone.
func TestGaugeOfAClientThatStandsStill(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 20))
		target := 1 + rng.IntN(24)
		type span struct{ sent, end int64 }
		var spans []span
		g := newGauge(target, 0)
		latency := func() int64 { return int64(time.Millisecond) * int64(5+rng.IntN(30)) }
		stop := int64(time.Millisecond) * int64(rng.IntN(400)) // the client stands still from here
		goes := stop + int64(time.Millisecond)*int64(rng.IntN(300))
		noticed := func(end int64) int64 {
			if end >= stop && end < goes {
				return goes + rng.Int64N(1000) // readers go on in any order
			}
			return end
		}
		var inFlight []span
		send := func(now int64) {
			inFlight = append(inFlight, span{now, now + latency()})
			g.enter(now)
		}
		for range target {
			send(0)
		}
		told := map[span]int64{}
		for left := 20 * target; len(inFlight) > 0; {
			for _, s := range inFlight {
				if _, ok := told[s]; !ok {
					told[s] = noticed(s.end)
				}
			}
			slices.SortStableFunc(inFlight, func(a, b span) int { return int(told[a] - told[b]) })
			s := inFlight[0]
			inFlight = inFlight[1:]
			g.leave(s.end)
			spans = append(spans, s)
			if now := told[s]; left > 0 {
				left--
				send(now)
			}
		}
		// The level by the stamps, in their order.
		type step struct {
			at int64
			by int
		}
		var steps []step
		area, last, lastSend := 0.0, int64(0), int64(0)
		for _, s := range spans {
			steps = append(steps, step{s.sent, 1}, step{s.end, -1})
			area += float64(s.end - s.sent)
			last, lastSend = max(last, s.end), max(lastSend, s.sent)
		}
		slices.SortFunc(steps, func(a, b step) int {
			if a.at != b.at {
				return int(a.at - b.at)
			}
			return a.by - b.by
		})
		level, reached, left, held, at := 0, int64(record.None), int64(record.None), int64(0), int64(0)
		up := func() bool { return float64(level) >= heldPart*float64(target) }
		for _, s := range steps {
			was := up()
			if was {
				held += max(0, min(s.at, lastSend)-min(at, lastSend))
			}
			at, level = s.at, level+s.by
			if up() && reached == record.None {
				reached = at
			}
			if was && !up() {
				left = at
			}
		}
		got := g.result(last, last)
		if math.Abs(got.Mean*float64(last)-area) > 1 {
			t.Fatalf("seed %d: mean %v, want %v by the stamps", seed, got.Mean, area/float64(last))
		}
		if got.SteadyStart != reached || got.SteadyEnd != left ||
			math.Abs(got.HeldShare-float64(held)/float64(lastSend)) > 1e-9 {
			t.Fatalf("seed %d: %d slots, still from %v to %v: steady %v to %v, held %v; want %v to %v, %v", seed,
				target, time.Duration(stop), time.Duration(goes),
				time.Duration(got.SteadyStart), time.Duration(got.SteadyEnd), got.HeldShare, time.Duration(reached),
				time.Duration(left), float64(held)/float64(lastSend))
		}
	}
}
