package transport

import (
	"math/rand/v2"
	"testing"

	"aiperf.dev/aiperf/internal/record"
)

// The heap gives deadlines back in order, whatever was added, brought forward
// and removed before.
func TestFlightOrder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	f := newFlight()
	live := map[*op]int64{}
	for range 3000 {
		switch o := newOp(rng.Int64N(1000)); rng.IntN(4) {
		case 0, 1:
			if !f.add(o) {
				t.Fatal("refused while open")
			}
			live[o] = o.x.Deadline
		case 2:
			for o, due := range live {
				earlier := rng.Int64N(1000)
				f.arm(o, earlier, record.Cancelled)
				live[o] = min(due, earlier)
				break
			}
		default:
			for o := range live {
				f.remove(o)
				delete(live, o)
				break
			}
		}
	}
	if n := len(f.all()); n != len(live) {
		t.Errorf("%d under way, want %d", n, len(live))
	}
	last := int64(-1)
	for range len(live) {
		o, _, due, _, _ := f.pop(1000)
		if o == nil || due < last || due != live[o] {
			t.Fatalf("popped %v due %d after %d, want %d", o, due, last, live[o])
		}
		last = due
		f.remove(o)
		delete(live, o)
	}
	if o, _, _, _, _ := f.pop(1000); o != nil {
		t.Errorf("one more: %v", o)
	}
}

func newOp(due int64) *op {
	x := &Exchange{Deadline: due}
	return &op{x: x, index: -1}
}

func TestFlightArm(t *testing.T) {
	t.Parallel()
	f := newFlight()
	o := newOp(100)
	f.add(o)
	f.arm(o, 200, record.Cancelled) // later than the deadline: no change
	if got, status, _, _, _ := f.pop(99); got != nil {
		t.Errorf("due too early, with %s", status)
	}
	f.arm(o, 50, record.Cancelled)
	if got, status, due, _, _ := f.pop(60); got != o || status != record.Cancelled || due != 50 {
		t.Errorf("%v %s due %d", got, status, due)
	}
	f.remove(o)
	f.arm(o, 1, record.Cancelled) // over already: ignored
	if got, _, _, _, _ := f.pop(60); got != nil {
		t.Error("armed after it was removed")
	}
	f.close()
	if f.add(newOp(1)) || f.enter() {
		t.Error("accepted after close")
	}
}
