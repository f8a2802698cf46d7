package transport

import (
	"math/rand/v2"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
)

// The heap gives deadlines back in order, whatever was added, brought forward
// and removed before.
func TestFlightOrder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	f := grounded(t)
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
		o, _, due := f.pop(1000)
		if o == nil || due < last || due != live[o] {
			t.Fatalf("popped %v due %d after %d, want %d", o, due, last, live[o])
		}
		last = due
		f.remove(o)
		delete(live, o)
	}
	if o, _, _ := f.pop(1000); o != nil {
		t.Errorf("one more: %v", o)
	}
}

// grounded is a flight whose run is not running.
func grounded(t *testing.T) *flight {
	t.Helper()
	f, err := newFlight(record.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.alarm.Close)
	return f
}

func newOp(due int64) *op {
	x := &Exchange{Deadline: due}
	return &op{x: x, index: -1}
}

func TestFlightArm(t *testing.T) {
	t.Parallel()
	f := grounded(t)
	o := newOp(100)
	f.add(o)
	f.arm(o, 200, record.Cancelled) // later than the deadline: no change
	if got, status, _ := f.pop(99); got != nil {
		t.Errorf("due too early, with %s", status)
	}
	f.arm(o, 50, record.Cancelled)
	if got, status, due := f.pop(60); got != o || status != record.Cancelled || due != 50 {
		t.Errorf("%v %s due %d", got, status, due)
	}
	f.remove(o)
	f.arm(o, 1, record.Cancelled) // over already: ignored
	if got, _, _ := f.pop(60); got != nil {
		t.Error("armed after it was removed")
	}
	f.close()
	if f.add(newOp(1)) || f.enter() {
		t.Error("accepted after close")
	}
}

// Deadlines are met in order and never early, also those that are added, or
// brought forward, while run sleeps until a later one.
func TestFlightRun(t *testing.T) {
	t.Parallel()
	f := grounded(t)
	type end struct {
		o       *op
		due, at int64
	}
	ends := make(chan end, 3)
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		f.run(func(o *op, _ record.Status, due int64) { ends <- end{o, due, f.clock.Now()} }, func() {})
	}()
	far := newOp(f.clock.Now() + int64(time.Hour))
	f.add(far)
	near := newOp(f.clock.Now() + int64(2*time.Millisecond))
	f.add(near)
	got := []end{<-ends}
	f.arm(far, f.clock.Now()+int64(time.Millisecond), record.Cancelled)
	got = append(got, <-ends)
	for i, want := range []*op{near, far} {
		if e := got[i]; e.o != want || e.at < e.due {
			t.Errorf("end %d: the right one %v, %d ns early", i, e.o == want, e.due-e.at)
		}
	}
	f.close()
	<-ran
}
