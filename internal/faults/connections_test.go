package faults

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/schema"
)

// A server that dies in the middle of a run: what it answered is a success,
// the rest fails, and the run ends with all of it.
func TestServerDies(t *testing.T) {
	t.Parallel()
	const answers = 10
	var read atomic.Int64
	die, never := make(chan struct{}), make(chan struct{})
	s := fs.Start(t, fs.Script{fs.Loop(fs.Read(), func(c *fs.Conn) bool {
		n := read.Add(1)
		if n == answers+1 {
			close(die)
		}
		return n <= answers || fs.Wait(never)(c)
	}, fs.Send(good()))})
	go func() { <-die; s.Stop() }()
	j := newJob(t, s.URL())
	j.Phases[0].Concurrency, j.Phases[0].Requests = 4, 40
	j.run(t)
	if p := j.result.Phases[0]; p.OK != answers || p.Failed != 30 {
		t.Errorf("%d ok, %d failed; want 10 and 30", p.OK, p.Failed)
	}
	for _, r := range j.records {
		if r.Failed() && r.Status != record.Connection {
			t.Errorf("request %d: %s %s", r.RequestID, r.Status, r.ErrorKind)
		}
	}
}

// A redirect is an answer: nobody goes elsewhere with the key.
func TestRedirectElsewhere(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"301 Moved Permanently", "307 Temporary Redirect"} {
		other := fs.Start(t, again(good()))
		s := fs.Start(t, again(fs.Answer(status, "text/plain", "", "Location: "+other.URL()+"/v1/chat/completions")))
		j := newJob(t, s.URL())
		j.run(t)
		if r := j.one(t); r.Status != record.HTTPError || r.ErrorKind != "http_"+status[:3] {
			t.Errorf("%s: %s %s", status, r.Status, r.ErrorKind)
		}
		if n := other.Accepted(); n != 0 {
			t.Errorf("%s: %d connections to where it leads", status, n)
		}
		if s.Requests()[0].Header.Get("Authorization") != "Bearer "+secret {
			t.Error("the key did not reach the server it is for")
		}
	}
}

// A server that closes every connection after its answer costs a connection
// for each request. A request that meets the close on its way fails: the server
// may have read it, so it is not sent twice.
func TestServerClosesAfterEachAnswer(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, fs.Script{fs.Read(), fs.Send(good())})
	j := newJob(t, s.URL())
	j.Phases[0].Requests = 30
	j.run(t)
	p := j.result.Phases[0]
	if n := len(s.Requests()); int(p.OK) != n || p.OK+p.Failed != 30 {
		t.Errorf("%d ok and %d failed of 30, the server read %d", p.OK, p.Failed, n)
	}
	for _, r := range j.records {
		if r.Failed() && (r.ErrorKind != "reset" || !r.Reused) {
			t.Errorf("request %d: %s %s, on a connection that was used before: %v", r.RequestID, r.Status, r.ErrorKind,
				r.Reused)
		}
	}
}

// A byte at a time carries the same answer as one piece.
func TestByteByByte(t *testing.T) {
	t.Parallel()
	answer := fs.Stream(content("héllo"), content(" wörld"), finish, usage(`"completion_tokens":2`), "[DONE]")
	var slow []fs.Step
	for i := range len(answer) {
		slow = append(slow, fs.Send(answer[i:i+1]))
	}
	var got []*record.Record
	for _, send := range [][]fs.Step{{fs.Send(answer)}, slow} {
		s := fs.Start(t, fs.Script{fs.Loop(append([]fs.Step{fs.Read()}, send...)...)})
		j := newJob(t, s.URL())
		j.run(t)
		got = append(got, j.one(t))
	}
	a, b := got[0], got[1]
	if a.Status != record.OK || a.OSL != b.OSL || a.UsageCompletion != b.UsageCompletion ||
		a.FinishReason != b.FinishReason || contents(a) != contents(b) || a.BytesReceived != b.BytesReceived {
		t.Errorf("in one piece %+v\nbyte by byte %+v", a, b)
	}
}

// A request whose time is up frees its slot for the next.
func TestTimeoutFreesTheSlot(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, fs.Script{fs.Read(), fs.Send(fs.StreamHead()), fs.UntilClosed()}, again(good()))
	j := newJob(t, s.URL())
	j.Phases[0].Concurrency, j.Endpoint.Timeout = 1, 0.5
	// no connection is opened ahead
	j.Endpoint.ConnectionReuse, j.client.Reuse = "sticky-user-sessions", "sticky-user-sessions"
	j.run(t)
	if p := j.result.Phases[0]; p.Failed < 1 || p.OK < 1 {
		t.Errorf("%d ok, %d failed; want the first to fail and others to follow", p.OK, p.Failed)
	}
	if r := j.records[0]; r.ErrorKind != "stall_timeout" || r.End < r.CancelAsked {
		t.Errorf("the first: %s, asked to end at %d, ended at %d", r.ErrorKind, r.CancelAsked, r.End)
	}
}

// discard reads a request and forgets it.
func discard(c *fs.Conn) bool {
	r, err := http.ReadRequest(c.In)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, bufio.NewReader(r.Body))
	return err == nil
}

// What a run holds does not grow with the requests it has made: records are
// handed on, buffers come back.
func TestMemoryIsBounded(t *testing.T) {
	s := fs.Start(t, fs.Script{fs.Loop(discard, fs.Send(good()))})
	const early, late = 2000, 20000
	var n int
	var held [2]uint64
	j := newJob(t, s.URL())
	j.Phases[0].Concurrency, j.Phases[0].Requests = 16, late
	j.Emit = func(r *record.Record) {
		if r.Failed() {
			t.Errorf("request %d: %s %s", r.RequestID, r.Status, r.ErrorMessage)
		}
		switch n++; n {
		case early:
			held[0] = heap()
		case late:
			held[1] = heap()
		}
	}
	j.drive(t)
	if n != late {
		t.Fatalf("%d records of %d", n, late)
	}
	const each = 16 // bytes that a request may leave behind
	if grown := int64(held[1]) - int64(held[0]); grown > each*(late-early)+1<<20 {
		t.Errorf("%d bytes after %d requests, %d after %d", held[0], early, held[1], late)
	}
}

// A run in which too many requests fail ends by itself, and says why.
func TestTooManyFailuresEndTheRun(t *testing.T) {
	t.Parallel()
	var turn atomic.Int64
	s := fs.Start(t, fs.Script{fs.Loop(fs.Read(), func(c *fs.Conn) bool {
		if turn.Add(1)%3 == 0 {
			return fs.Send(good())(c)
		}
		return fs.Send(fs.Answer("500 No", "text/plain", "no"))(c)
	})})
	j := newJob(t, s.URL())
	limit := 0.5
	j.Phases[0].Concurrency, j.Phases[0].Requests, j.Phases[0].FailedRequestThreshold = 4, 100_000, &limit
	j.Phases = append(j.Phases, schema.Phase{
		Name: "next", Kind: "profiling", Type: "concurrency", Concurrency: 1,
		Requests: 1,
	})
	j.run(t)
	p := j.result.Phases[0]
	if len(j.result.Phases) != 1 || p.Stop != "failures" || p.Issued < 10 || p.Issued == 100_000 ||
		!strings.Contains(j.result.Cancelled, "failed-request-threshold exceeded") {
		t.Errorf("%d phases, the first issued %d and ended by %s, the run by %q", len(j.result.Phases), p.Issued,
			p.Stop, j.result.Cancelled)
	}
}

// Every kind of failure at once is counted as it is.
func TestMixedFailures(t *testing.T) {
	t.Parallel()
	var turn atomic.Int64
	answers := []string{
		good(), fs.Answer("500 No", "text/plain", "no"), fs.Stream("[DONE]"), fs.Stream(content("a")),
		good(),
	}
	s := fs.Start(t, fs.Script{fs.Loop(fs.Read(), func(c *fs.Conn) bool {
		return fs.Send(answers[int(turn.Add(1)-1)%len(answers)])(c)
	})})
	j := newJob(t, s.URL())
	j.Phases[0].Concurrency, j.Phases[0].Requests = 8, 500
	j.run(t)
	got := map[string]int{}
	for _, r := range j.records {
		got[strings.TrimSpace(string(r.Status)+" "+r.ErrorKind)]++
	}
	for kind, want := range map[string]int{
		"ok": 200, "http_error http_500": 100, "parse_error no_content": 100,
		"truncated no_end": 100,
	} {
		if got[kind] != want {
			t.Errorf("%d requests ended as %q, want %d: %v", got[kind], kind, want, got)
		}
	}
}

// An API's own mark ends an answer whose body stays open, at the time when it came.
func TestOwnMarkEndsAnswer(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, fs.Script{fs.Read(), fs.Send(fs.StreamHead() + fs.Event(`{"content":"Hello","stop":false}`) +
		fs.Event(`{"content":"","stop":true,"stop_type":"limit"}`)), fs.UntilClosed()})
	j := newJob(t, s.URL())
	j.Spec, _ = endpoint.Lookup("llamacpp_completion")
	j.Endpoint.Type, j.Phases[0].Requests = "llamacpp_completion", 2
	j.run(t)
	if r := j.one(t); r.Status != record.OK || r.FinishReason != "limit" || r.End != r.Chunks[len(r.Chunks)-1].At &&
		r.End < r.LastToken {
		t.Errorf("%s %s %q, ended at %d, the last content at %d", r.Status, r.ErrorKind, r.ErrorMessage, r.End,
			r.LastToken)
	}
	if e := j.stats.Endless; len(e) != 1 || e[0].Answers != 2 {
		t.Errorf("endless: %v", e)
	}
}
