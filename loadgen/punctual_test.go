package loadgen

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

var pausesDrawn = flag.Int("pauses", 60, "runs that TestAdmittedIsExact draws")

// A connection that takes time to open is no lateness of the client's, with slots to wait
// for or without; what the client takes after that is.
func TestDiallingIsNotLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		slots       int
		opens, held time.Duration
		late        float64 // ms
	}{
		{"kept connections", 0, 0, 0, 0},
		{"connections that open in 3 ms", 0, 3 * msec, 0, 0},
		{"a client that holds them for 2 ms", 0, 3 * msec, 2 * msec, 2},
		{"two slots", 2, 3 * msec, 0, 0},
		{"two slots, and a client that holds them", 2, 3 * msec, 2 * msec, 2}, // and those that wait behind it
	} {
		w := &world{
			latency: fixedLatency(20 * msec),
			dial:    func(*transport.Exchange) (opens, held time.Duration) { return c.opens, c.held },
		}
		out := w.play(t, job(t, schema.Phase{Type: "constant", Rate: 100, Requests: 200, Concurrency: c.slots}))
		for _, r := range out.records {
			all := float64(r.Sent-r.Intended) / 1e6
			if got := r.DispatchLateness(); got < c.late || got > c.late && (c.slots == 0 || c.held == 0) ||
				r.ConnectTime() != float64(c.opens)/1e6 || math.Abs(r.AdmissionWait()+got+r.ConnectTime()-all) > 1e-9 {
				t.Errorf("%s: request %d is late by %v ms of %v ms before it was sent, %v connecting and %v waiting; want %v late",
					c.name, r.RequestID, got, all, r.ConnectTime(), r.AdmissionWait(), c.late)
				break
			}
		}
	}
}

// With pauses of the client at random, requests are admitted when they are in the same
// run without any pause: answers shorter and longer than the pauses, one slot to 64,
// loads of 30 to 130 %, every kind of limit, connections that are kept and that are opened
// for each request. All times are whole milliseconds, so that no lateness is below what is handed on.
func TestAdmittedIsExact(t *testing.T) {
	t.Parallel()
	requests, wrong, late, queued := 0, 0, 0, 0
	for n := range *pausesDrawn {
		rng := rand.New(rand.NewPCG(20, uint64(n)))
		slots := 1 + rng.IntN(64)
		gap := []int{1, 2, 4, 5, 10, 20}[rng.IntN(6)]
		load := 0.3 + rng.Float64()
		mean := max(2, load*float64(slots*gap))
		answers := make([]time.Duration, 600)
		for i := range answers {
			d := rng.ExpFloat64() * mean
			if n%3 == 0 { // most are short, a few outlast every pause
				if d = mean / 2; rng.IntN(20) == 0 {
					d = mean * 10
				}
			}
			answers[i] = time.Duration(1+int(d)) * msec
		}
		phase := schema.Phase{Type: "constant", Rate: 1000 / float64(gap), Requests: int64(len(answers))}
		switch rng.IntN(4) {
		case 0:
			phase.InFlight = slots
		case 1:
			phase.Concurrency, phase.PrefillConcurrency = slots, 1+slots/2
		default:
			phase.Concurrency = slots
		}
		pauses := map[time.Duration]func(*driver){}
		for range 1 + rng.IntN(3) {
			from := time.Duration(rng.IntN(len(answers)*gap)) * msec
			long := time.Duration(1+rng.ExpFloat64()*mean*2) * msec
			pauses[from+msec/2] = func(d *driver) {
				w := d.engine.clock.(*world)
				w.now = max(w.now, int64(from+long))
			}
		}
		play := func(at map[time.Duration]func(*driver)) []*record.Record {
			w := &world{kernel: true, content: 2 * msec, at: at, latency: func(x *transport.Exchange) time.Duration {
				return 2*msec + answers[x.User.(*request).id]
			}}
			if n%2 == 1 {
				w.dial = func(x *transport.Exchange) (opens, held time.Duration) {
					return time.Duration(x.User.(*request).id*5%7) * msec, 0
				}
			}
			out := w.play(t, job(t, phase)).records
			slices.SortFunc(out, func(a, b *record.Record) int { return int(a.RequestID - b.RequestID) })
			return out
		}
		ideal, real := play(nil), play(pauses)
		for i, r := range real {
			requests++
			if r.Admitted != ideal[i].Admitted {
				if wrong++; wrong < 10 {
					t.Errorf("run %d, %d slots, load %.0f %%: request %d admitted at %v, without pauses at %v", n,
						slots, load*100, i, time.Duration(r.Admitted), time.Duration(ideal[i].Admitted))
				}
			}
			if r.DispatchLateness() > 10 {
				late++
			}
			if r.AdmissionWait() > 10 {
				queued++
			}
		}
	}
	t.Logf("%d of %d requests wrong; %d were late by more than 10 ms, %d waited longer than that for a slot", wrong,
		requests, late, queued)
	if wrong > 0 || late < requests/20 || queued < requests/20 {
		t.Errorf("%d of %d requests wrong; %d late, %d queued, want many of each", wrong, requests, late, queued)
	}
}

// What a cap holds back, and what a client that stood still does, drawn at random, with
// pauses that may outlast the phase: without a pause nothing is the client's, with one
// the cap's are no more than they are anyway.
func TestUnsentIsWhoseItIs(t *testing.T) {
	t.Parallel()
	arrivals, ours, caps := 0, int64(0), int64(0)
	for n := range *pausesDrawn {
		rng := rand.New(rand.NewPCG(21, uint64(n)))
		slots, gap := 1+rng.IntN(16), []int{1, 2, 5, 10}[rng.IntN(4)]
		mean := (0.2 + 1.3*rng.Float64()) * float64(slots*gap)
		phase := schema.Phase{
			Type: "constant", Rate: 1000 / float64(gap),
			Duration: schema.Seconds(float64(600*gap) / 1000), Concurrency: slots,
		}
		why := skipStopped
		if n%2 == 0 {
			phase.OnCap, why = "skip", skipOnCap
		}
		from := time.Duration(rng.IntN(595*gap)) * msec
		long := time.Duration(20+rng.IntN(90*gap)) * msec
		play := func(pauses map[time.Duration]func(*driver)) map[string]int64 {
			service := rand.New(rand.NewPCG(22, uint64(n)))
			w := &world{kernel: true, at: pauses, latency: func(*transport.Exchange) time.Duration {
				return time.Duration(1+int(service.ExpFloat64()*mean))*msec + msec/4
			}}
			return w.play(t, job(t, phase)).result.Phases[0].Skipped
		}
		ideal, real := play(nil), play(map[time.Duration]func(*driver){from + msec/2: func(d *driver) {
			w := d.engine.clock.(*world)
			w.now = max(w.now, int64(from+long))
		}})
		if ideal[skipLate] != 0 {
			t.Errorf("%d: without a pause %d are the client's", n, ideal[skipLate])
		}
		// the pause changes which answer takes how long, so the cap's own vary by chance
		if spread := 4*math.Sqrt(float64((ideal[why]+10)*int64(slots))) + 10; float64(real[why]) > float64(ideal[why])+
			spread {
			t.Errorf("%d: %d slots, an arrival each %d ms, answers of %.0f ms, a pause of %v at %v: %s %d, without the pause %d; the client %d",
				n, slots, gap, mean, long, from, why, real[why], ideal[why], real[skipLate])
		}
		arrivals, ours, caps = arrivals+600, ours+real[skipLate], caps+real[why]
	}
	t.Logf("%d arrivals: %d held back by the client, %d by the cap", arrivals, ours, caps)
}
