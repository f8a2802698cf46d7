package sim

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/seed"
)

// What the screen of an open loop says of a server that cannot keep up, and of one that can: drawn
// servers and loads of 80 to 1,000 requests. Above capacity no screen blames the machine, and below
// it the server is not said to be behind.
func TestScreensSayWhoFellBehind(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("single runs are enough for the race detector")
	}
	over, under := fellBehind{}, fellBehind{}
	for n := range 40 * *times {
		rng := seed.Stream(int64(n+*freshFrom), "sim/behind")
		ttft, itl, workers := 20+rng.IntN(60), 1+rng.IntN(6), 2+rng.IntN(14)
		capacity := float64(workers) * 1000 / float64(ttft+5*itl)
		load := []float64{1.25, 1.4, 1.6, 0.5, 0.7, 0.9}[n%6]
		d := design{
			cells: []string{fmt.Sprintf("ttft=%dms&itl=%dms&cv=%.2f&role=none&workers=%d", ttft, itl,
				0.05+0.6*rng.Float64(), workers)},
			trials: 1, osl: "{mean: 6}", requests: int(80 * math.Pow(12, rng.Float64())),
			phase: fmt.Sprintf("type: %s, rate: %.1f", []string{"poisson", "constant"}[rng.IntN(2)], load*capacity),
		}
		o, err := RunUnlogged(d.text(n+*freshFrom), scratch(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		if load > 1 {
			over.see(t, o)
		} else {
			under.see(t, o)
		}
	}
	t.Logf("at 125 to 160 %% of capacity: %s", over)
	t.Logf("at 50 to 90 %% of capacity: %s", under)
	if said := over.kept + over.fell; over.machine > most(0.02, over.runs) || over.runs-said > most(0.15, over.runs) {
		t.Errorf("above capacity: %s", over)
	}
	if under.machine > 0 || under.kept+under.fell > most(0.05, under.runs) {
		t.Errorf("below capacity: %s", under)
	}
}

// fellBehind counts what screens of an open loop say of the server.
type fellBehind struct {
	runs       int
	kept, fell int // the check says that it did not keep up; VALID, but it fell behind
	machine    int // the machine is blamed
}

// String is the counts in words.
func (f fellBehind) String() string {
	return fmt.Sprintf("of %d screens %d say that the server did not keep up, %d that it fell behind, "+
		"%d ask for a quieter machine",
		f.runs, f.kept, f.fell, f.machine)
}

func (f *fellBehind) see(t *testing.T, o *Outcome) {
	t.Helper()
	var b strings.Builder
	if err := o.Report().WriteConsole(&b); err != nil {
		t.Fatal(err)
	}
	f.runs++
	text := strings.Join(strings.Fields(b.String()), " ")
	switch {
	case strings.Contains(text, "did not keep up"):
		f.kept++
	case strings.Contains(text, "fell behind"):
		f.fell++
	}
	if strings.Contains(text, "a quieter machine, or look") {
		f.machine++
	}
}
