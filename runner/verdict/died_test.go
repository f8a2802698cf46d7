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
		name   string
		lost   func(i int) bool
		dead   bool
		breaks func(i int) bool
	}{
		{"healthy", func(int) bool { return false }, false, nil},
		{"every third connection fails", func(i int) bool { return i%3 == 0 }, false, nil},
		{"the last three", func(i int) bool { return i >= 197 }, false, nil},
		{"down in the middle and back", func(i int) bool { return i > 50 && i < 150 }, false, nil},
		{"crashes under the first requests", func(i int) bool { return i >= 68 }, true, func(i int) bool { return i < 68 }},
		{"breaks off what it answers later", func(i int) bool { return i < 68 }, false, func(i int) bool { return i >= 68 }},
		{"never there", func(int) bool { return true }, false, nil},
		{"killed after a third", func(i int) bool { return i > 66 }, true, nil},
	} {
		w := clean()
		e := NewEvidence(w.result, w.host)
		for i := range w.records {
			if c.lost(i) {
				w.records[i].Status = record.Connection
			}
			if c.breaks != nil && c.breaks(i) {
				w.records[i].Status = record.Truncated
			}
			e.Add(&w.records[i])
		}
		if got := e.ServerDied(); (got != "") != c.dead || c.dead &&
			!strings.Contains(got, "the last 132 of 200 requests found no connection") {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
