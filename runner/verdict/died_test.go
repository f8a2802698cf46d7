package verdict

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/record"
)

// A server that went away in the middle is told from one that fails now and then.
func TestServerDied(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		lost func(i int) bool
		dead bool
	}{
		{"healthy", func(int) bool { return false }, false},
		{"every third connection fails", func(i int) bool { return i%3 == 0 }, false},
		{"the last three", func(i int) bool { return i >= 197 }, false},
		{"down in the middle and back", func(i int) bool { return i > 50 && i < 150 }, false},
		{"killed after a third", func(i int) bool { return i > 66 }, true},
	} {
		w := clean()
		e := NewEvidence(w.result, w.host)
		for i := range w.records {
			if c.lost(i) {
				w.records[i].Status = record.Connection
			}
			e.Add(&w.records[i])
		}
		if got := e.ServerDied(); (got != "") != c.dead || c.dead &&
			!strings.Contains(got, "the last 132 of 200 requests found no connection") {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
