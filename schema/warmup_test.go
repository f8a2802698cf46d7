package schema_test

import (
	"strings"
	"testing"
)

// A warmup made by flags sends requests at the rate of simulated users; it has no users
// itself, since no flag makes it a phase of them.
func TestWarmupBeforeUsers(t *testing.T) {
	t.Parallel()
	line := "-m demo --user-centric-rate 150 --num-users 3 --session-turns-mean 2 --num-sessions 5 --warmup-request-count 2"
	d, err := profile(strings.Fields(line))
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	w, p := r.Benchmark.Phases[0], r.Benchmark.Phases[1]
	if w.Type != "poisson" || w.Rate != 150 || w.Users != 0 || p.Type != "user_centric" || p.Users != 3 {
		t.Errorf("warmup %s at %g of %d users, then %s of %d", w.Type, w.Rate, w.Users, p.Type, p.Users)
	}
}
