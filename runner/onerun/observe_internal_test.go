package onerun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/words"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
)

// told writes down what an observer is told.
type told struct {
	name string
	log  *[]string
	err  error
}

func (t told) Stop(_ context.Context, out *Result) error {
	word := "stops "
	if out == nil {
		word = "leaves "
	}
	*t.log = append(*t.log, word+t.name)
	return t.err
}

func rowOf(name string, log *[]string, fails error) row {
	return row{name: name, start: func(context.Context, *Watched) (Observer, error) {
		if fails != nil {
			return nil, fails
		}
		*log = append(*log, "starts "+name)
		return told{name: name, log: log}, nil
	}}
}

// All start in order and stop in the opposite one; where one cannot start, those
// before it leave nothing behind.
func TestObserversStartAndStop(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	none := row{name: "none", start: func(context.Context, *Watched) (Observer, error) { return nil, nil }} //nolint:nilnil // nothing to observe
	for _, c := range []struct {
		fails error
		want  []string
	}{
		{nil, []string{"starts a", "starts b", "starts c", "stops c", "stops b", "stops a"}},
		{broken, []string{"starts a", "starts b", "leaves b", "leaves a"}},
	} {
		var log []string
		s, err := start(t.Context(), &Watched{}, []row{
			rowOf("a", &log, nil), none,
			rowOf("b", &log, nil), rowOf("c", &log, c.fails),
		})
		if !errors.Is(err, c.fails) {
			t.Fatalf("%v, want %v", err, c.fails)
		}
		if err == nil {
			if err := s.stop(t.Context(), &Result{}); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(log, c.want) {
			t.Errorf("%v, want %v", log, c.want)
		}
	}
}

// slow is an observer that looks at nothing until it may, and at snapshots, too.
type slow struct {
	may    chan struct{}
	seen   []int64
	inside bool
	t      *testing.T
}

func (s *slow) alone(f func()) {
	if s.inside {
		s.t.Error("two calls at once")
	}
	s.inside = true
	f()
	s.inside = false
}

func (s *slow) Record(r *record.Record) {
	<-s.may
	s.alone(func() { s.seen = append(s.seen, r.RequestID) })
}

func (s *slow) Snapshot(loadgen.Snapshot)           { s.alone(func() {}) }
func (s *slow) Stop(context.Context, *Result) error { return nil }

// An observer beside the run delays nothing: what its queue does not hold is counted.
func TestSlowObserverDelaysNothing(t *testing.T) {
	t.Parallel()
	o := &slow{may: make(chan struct{}), t: t}
	rows := []row{{name: "slow", beside: true, start: func(context.Context, *Watched) (Observer, error) {
		return o,
			nil
	}}}
	s, err := start(t.Context(), &Watched{}, rows)
	if err != nil {
		t.Fatal(err)
	}
	const n = 3 * queueLength
	for i := range int64(n) {
		s.record(&record.Record{RequestID: i}) // would block for ever if it waited for the observer
	}
	close(o.may)
	var job loadgen.Job
	s.attach(&job, nil)
	for range 100 { // while the observer goes through its queue
		job.Live(loadgen.Snapshot{})
	}
	out := &Result{}
	if err := s.stop(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	want := []string{fmt.Sprintf("slow: too slow, so it missed %s", words.Count(n-len(o.seen), "record"))}
	if !slices.IsSorted(o.seen) || len(o.seen) < queueLength || len(o.seen) >= n || !slices.Equal(out.Notes, want) {
		t.Errorf("of %d records %d were seen in order; said %q", n, len(o.seen), out.Notes)
	}
}
