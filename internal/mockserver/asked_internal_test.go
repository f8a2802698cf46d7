package mockserver

import "testing"

// A request that came before another one and is looked at after it is not refused
// by a server that is ready at once.
func TestAskedInAnyOrder(t *testing.T) {
	t.Parallel()
	var s Server
	for _, c := range [][2]int64{{50, 0}, {20, 0}, {80, 30}} {
		if got := s.asked(c[0]); int64(got) != c[1] {
			t.Errorf("asked(%d) = %d, want %d", c[0], got, c[1])
		}
	}
}
