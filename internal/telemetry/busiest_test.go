package telemetry

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The busiest second of a run is never below the mean of the run, wherever its seconds end:
// also where most is used after the last whole one.
func TestTheBusiestSecondIsAboveTheMean(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(22, 9))
	began := time.Unix(1_000_000, 0)
	for range 2000 {
		b := busiest{began: began, at: began}
		now, cpu := began, 0.0
		step := func(dt time.Duration) {
			now, cpu = now.Add(dt), cpu+dt.Seconds()*rng.Float64()*2
		}
		for range rng.IntN(5) {
			step(time.Duration(rng.Int64N(int64(1200 * time.Millisecond))))
			b.second(now, cpu)
		}
		step(1 + time.Duration(rng.Int64N(int64(time.Second))))
		most, mean := b.end(now, cpu), cpu/now.Sub(began).Seconds()
		if most < mean*(1-1e-9) {
			t.Fatalf("%g cores in the busiest second, %g on average over %s", most, mean, now.Sub(began))
		}
	}
}
