package loadgen

import (
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// between is a server that is gone from one time to another.
func between(from, to time.Duration) func(int, time.Duration) bool {
	return func(_ int, at time.Duration) bool { return at >= from && at < to }
}

const never = time.Duration(1 << 62)

// A server that is killed is tried seldom, and ends the run after ten seconds
// without a connection.
func TestServerThatIsGone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares values on one goroutine")
	}
	for _, c := range []struct {
		name  string
		phase schema.Phase
		most  int // attempts after its end
	}{
		{"closed loop", schema.Phase{Type: "concurrency", Concurrency: 4, Duration: ptr(schema.Duration(60))}, 4 * 20},
		{"limit on the wire", schema.Phase{Type: "concurrency", Concurrency: 8, InFlight: 4, Duration: ptr(schema.Duration(60))}, 8 * 20},
		{"rate", schema.Phase{Type: "constant", Rate: 1000, Duration: ptr(schema.Duration(60))}, 20},
		{"rate with a cap", schema.Phase{Type: "constant", Rate: 1000, Concurrency: 4, Duration: ptr(schema.Duration(60))}, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const dies = 2 * time.Second
			w := &world{gone: between(dies, never)}
			out := w.play(t, job(t, c.phase))
			p := out.result.Phases[0]
			if n := w.refused; n < 10 || n > c.most {
				t.Errorf("%d attempts while it was gone, want 10 to %d", n, c.most)
			}
			if end := time.Duration(p.End); end < dies+10*time.Second ||
				end > dies+11100*msec || p.Stop != "unreachable" {
				t.Errorf("it ended at %v as %q, want ten seconds after %v, up to a pause more", end, p.Stop, dies)
			}
			said := out.result.Cancelled
			if !out.result.Unreachable || !strings.HasPrefix(said, "the server was gone: no connection for 10") ||
				!strings.Contains(said, "connection refused") {
				t.Errorf("the reason is %q", said)
			}
			if due := int64(p.End / int64(msec)); p.Rate > 0 && (p.Issued < due-1 || p.Due != p.Issued+p.Unsent) {
				t.Errorf("%d requests of a schedule that had %d by its end", p.Issued, due)
			}
			nameless := int64(0)
			for _, r := range out.records {
				if r.Status != record.OK && (r.Status != record.Connection || r.ErrorKind != "refused" ||
					r.Sent != record.None) {
					t.Fatalf("request %d: %s, %s: %s, sent %d", r.RequestID, r.Status, r.ErrorKind, r.ErrorMessage,
						r.Sent)
				}
				if r.SessionID == "" {
					nameless++
				}
			}
			// What was never tried has no name of its own: in the journal such requests are one row with a count.
			if all := p.Failed - int64(w.refused); nameless < all || c.phase.Rate == 0 && nameless > 0 {
				t.Errorf("%d requests have no name, %d were never tried", nameless, all)
			}
		})
	}
}

// A server that comes back in time is measured on, at once and as before.
func TestServerThatComesBack(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares values on one goroutine")
	}
	for _, c := range []struct {
		name  string
		phase schema.Phase
	}{
		{"closed loop", schema.Phase{Type: "concurrency", Concurrency: 4, Duration: ptr(schema.Duration(20))}},
		{"rate", schema.Phase{Type: "constant", Rate: 1000, Duration: ptr(schema.Duration(20))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const dies, back = 2 * time.Second, 9 * time.Second
			w := &world{gone: between(dies, back)}
			out := w.play(t, job(t, c.phase))
			p := out.result.Phases[0]
			if p.Stop != "duration" || out.result.Cancelled != "" || len(p.Notes) != 1 ||
				!strings.Contains(p.Notes[0], "was gone for 7") {
				t.Errorf("it stopped for %q (%q) with the notes %q", p.Stop, out.result.Cancelled, p.Notes)
			}
			late := 0
			for _, r := range out.records {
				if at := time.Duration(r.Admitted); at >= back+time.Second && r.Status != record.OK {
					late++
				}
				if r.Admitted < r.Intended || r.Sent != record.None && r.Sent-r.Admitted > int64(msec) {
					t.Fatalf("request %d was intended at %d, admitted at %d, sent at %d: a pause is nobody's lateness",
						r.RequestID, r.Intended, r.Admitted, r.Sent)
				}
			}
			if late > 0 || p.OK < 10_000 {
				t.Errorf("%d went well, %d failed more than a second after it was back", p.OK, late)
			}
			if p.Closed && p.Gauge.HeldRatio < 0.99 {
				t.Errorf("the target of the moment was held to %.3f: slots that rest are none", p.Gauge.HeldRatio)
			}
		})
	}
}

// One of two servers that is gone does not end the run, nor slow the other down.
func TestOneServerOfTwoIsGone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares values on one goroutine")
	}
	w := &world{gone: func(target int, _ time.Duration) bool { return target == 1 }}
	j := job(t, schema.Phase{Type: "constant", Rate: 1000, Duration: ptr(schema.Duration(30))})
	j.Endpoint.URLs = append(j.Endpoint.URLs, "http://127.0.0.1:2")
	out := w.play(t, j)
	p := out.result.Phases[0]
	if n := w.refused; p.Stop != "duration" || p.OK < 14_900 || n > 50 {
		t.Errorf("stopped for %q, %d of %d went well, %d attempts at the dead one", p.Stop, p.OK, p.Issued, n)
	}
}

// A request that has been on its way since before holds a connection: the run
// waits for it. And inf waits for ever.
func TestNotWithoutAConnection(t *testing.T) {
	t.Parallel()
	first := true
	w := &world{gone: between(time.Second, never)}
	w.latency = func(*transport.Exchange) time.Duration {
		if first {
			first = false
			return 25 * time.Second
		}
		return msec
	}
	out := w.play(t, job(t, schema.Phase{Type: "concurrency", Concurrency: 4, Duration: ptr(schema.Duration(60))}))
	if p := out.result.Phases[0]; p.Stop != "unreachable" || p.End < int64(35*time.Second) ||
		p.End > int64(37*time.Second) {
		t.Errorf("stopped for %q at %v, want ten seconds after the last answer", p.Stop, time.Duration(p.End))
	}
	w = &world{gone: between(time.Second, never)}
	j := job(t, schema.Phase{Type: "concurrency", Concurrency: 1, Duration: ptr(schema.Duration(60))})
	j.Endpoint.UnreachableTimeout = ptr(schema.Inf)
	if p := w.play(t, j).result.Phases[0]; p.Stop != "duration" {
		t.Errorf("with inf it stopped for %q", p.Stop)
	}
}

// A server that falls back to HTTP/1.1 is told in the warnings of its run.
func TestFallBackIsTold(t *testing.T) {
	t.Parallel()
	notes := closers(transport.Stats{Older: []transport.Answers{{Target: "https://a:443", Answers: 3}}})
	want := "https://a:443 answered in HTTP/1.1 though http: 2 was asked for: 3 answers of it; what was measured is HTTP/1.1"
	if len(notes) != 1 || notes[0] != want {
		t.Errorf("%q, want %q", notes, want)
	}
}
