package format

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"aiperf.dev/aiperf/loadgen/dataset/trace"
)

// The first row of each session is found by its name, whether the trace or this
// program has named it; of sessions with one name it is the last one.
func TestFirstRows(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, apart := range []bool{false, true} {
		var rows []trace.Row
		for range 500 {
			var row trace.Row
			switch n := r.IntN(120); {
			case n < 100:
				row.Session = fmt.Sprint("s", n)
			case n == 100:
				row.Session = "session_000003" // a trace may use our names
			}
			rows = append(rows, row)
		}
		s := &Recorded{Sessions: trace.Group(rows)}
		if apart {
			s.Part()
		}
		want := map[string]int32{}
		for i := range s.Sessions.Len() {
			if s.Name(i) == "" {
				want[s.id(i)] = s.First(i)
			}
		}
		for i := range s.Sessions.Len() {
			if id := s.Name(i); id != "" {
				want[id] = s.First(i)
			}
		}
		find := s.finder()
		for id, row := range want {
			if got, ok := find(id); !ok || got != row {
				t.Errorf("apart %v: %s begins at row %d (%v), want %d", apart, id, got, ok, row)
			}
		}
		for _, id := range []string{"", "nobody", "session_", "session_999999", "session_3", "session_-00001"} {
			if row, ok := find(id); ok {
				t.Errorf("apart %v: %q begins at row %d, there is none", apart, id, row)
			}
		}
	}
}
