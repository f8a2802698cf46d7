package transport_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"

	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

// echo answers every request on a connection.
func echo() fs.Script {
	return fs.Script{fs.Loop(fs.Read(), fs.Send(fs.JSON("1")))}
}

func reusing(mode string) func(*transport.Config) {
	return func(c *transport.Config) { c.Reuse = mode }
}

func TestReuse(t *testing.T) {
	t.Parallel()
	cases := []struct {
		mode     string
		sessions []string // of the requests, one after the other
		conns    []int    // the connections that carry them
		forget   int      // request before which its session is forgotten, 0 never
	}{
		{mode: "pooled", sessions: []string{"", "", ""}, conns: []int{0, 0, 0}},
		{mode: "never", sessions: []string{"", "", ""}, conns: []int{0, 1, 2}},
		{mode: "sticky-user-sessions", sessions: []string{"a", "b", "a", "b", ""}, conns: []int{0, 1, 0, 1, 2}},
		{mode: "sticky-user-sessions", sessions: []string{"a", "a", "a"}, conns: []int{0, 0, 1}, forget: 2},
	}
	for _, c := range cases {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			s := fs.Start(t, echo())
			r := open(t, s.URL(), reusing(c.mode))
			for i, session := range c.sessions {
				if c.forget > 0 && i == c.forget {
					r.Forget(session)
				}
				if x := r.do(func(x *transport.Exchange) { x.Affinity = session }); x.Status != record.OK {
					t.Fatalf("request %d: %s %s", i, x.Status, x.ErrorText)
				}
				if got := s.Requests()[i]; got.Conn != c.conns[i] {
					t.Errorf("request %d went over connection %d, want %d", i, got.Conn, c.conns[i])
				}
			}
			closes := s.Requests()[0].Header.Get("Connection") == "close"
			if closes != (c.mode == "never") {
				t.Errorf("asked to close: %v", closes)
			}
		})
	}
}

// A session that is forgotten while its request is under way loses its
// connection afterwards.
func TestForgetBusySession(t *testing.T) {
	t.Parallel()
	read, answer, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := fs.Start(t, fs.Script{
		fs.Read(), fs.Tell(read), fs.Wait(answer), fs.Send(fs.JSON("1")), fs.UntilClosed(),
		fs.Tell(gone),
	})
	r := open(t, s.URL(), reusing("sticky-user-sessions"))
	_, done := r.start(func(x *transport.Exchange) { x.Affinity = "a" })
	<-read
	r.Forget("a")
	close(answer)
	if x := await(t, done); x.Status != record.OK {
		t.Errorf("%s %s", x.Status, x.ErrorText)
	}
	<-gone
}

func TestPredial(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, echo())
	r := open(t, s.URL())
	const n = 200
	if err := r.Predial(context.Background(), n); err != nil {
		t.Fatal(err)
	}
	if err := r.Predial(context.Background(), n); err != nil {
		t.Fatal(err)
	}
	if d := r.Stats().Dials; d != n {
		t.Errorf("%d dials, want %d", d, n)
	}
	var wait sync.WaitGroup
	for range n {
		wait.Add(1)
		r.start(func(x *transport.Exchange) {
			x.Done = func(x *transport.Exchange) {
				defer wait.Done()
				if x.Status != record.OK || !x.Reused || x.Dial != record.None {
					t.Errorf("%s %s, reused %v, dial %d", x.Status, x.ErrorText, x.Reused, x.Dial)
				}
			}
		})
	}
	wait.Wait()
	if d := r.Stats().Dials; d != n {
		t.Errorf("%d dials after the burst, want %d", d, n)
	}
}

func TestPredialRefused(t *testing.T) {
	t.Parallel()
	s := fs.Start(t)
	r := open(t, s.URL())
	s.Stop()
	if err := r.Predial(context.Background(), 3); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	if err := r.Predial(ctx, 1); err == nil {
		t.Error("a context that had ended")
	}
}

// Done may start the next request; it then goes over the same connection.
func TestStartFromDone(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, echo())
	r := open(t, s.URL())
	const n = 500
	finished := make(chan struct{})
	left := n
	var again func(*transport.Exchange)
	again = func(x *transport.Exchange) {
		if x.Status != record.OK {
			t.Errorf("%s %s", x.Status, x.ErrorText)
		}
		r.Release(x)
		if left--; left == 0 {
			close(finished)
			return
		}
		r.start(func(x *transport.Exchange) { x.Done = again })
	}
	r.start(func(x *transport.Exchange) { x.Done = again })
	<-finished
	if s.Accepted() != 1 || len(s.Requests()) != n {
		t.Errorf("%d requests on %d connections", len(s.Requests()), s.Accepted())
	}
}

// Everything at once: many requests, cancellations and deadlines from many
// goroutines; each ends exactly once.
func TestStorm(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, fs.Script{fs.Loop(fs.Read(), fs.Send(fs.Stream("a", "b", "[DONE]")))})
	r := open(t, s.URL())
	const workers, each = 16, 60
	var wait sync.WaitGroup
	counts := make([]map[record.Status]int, workers)
	for w := range workers {
		counts[w] = map[record.Status]int{}
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range each {
				x, done := r.start(stream, func(x *transport.Exchange) {
					if i%5 == 1 {
						x.CancelAfter = int64(i) * 1000
					}
					if i%5 == 2 {
						x.Deadline = r.clock.Now() + int64(i)*1000
					}
				})
				if i%5 == 3 {
					r.Cancel(x)
				}
				await(t, done)
				counts[w][x.Status]++
				if x.Status == record.OK && strings.Join(texts(x), "") != "ab[DONE]" {
					t.Errorf("events %q", texts(x))
				}
				r.Release(x)
			}
		}()
	}
	wait.Wait()
	total := map[record.Status]int{}
	for _, m := range counts {
		for status, n := range m {
			total[status] += n
		}
	}
	if ok, other := total[record.OK], total[record.Cancelled]+total[record.Timeout]; ok+other != workers*each ||
		ok < workers*each*2/5 {
		t.Errorf("ended as %v", total)
	}
}

func TestSourceAddresses(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, echo())
	r := open(t, s.URL(), reusing("never"),
		func(c *transport.Config) { c.SourceAddresses = []string{"127.0.0.2", "127.0.0.3"} })
	for range 4 {
		if x := r.do(); x.Status != record.OK {
			t.Skipf("no second loopback address here: %s", x.ErrorText)
		}
	}
	if got := strings.Join(s.Peers(), " "); got != "127.0.0.3 127.0.0.2 127.0.0.3 127.0.0.2" {
		t.Errorf("peers %s", got)
	}
}

// A name with several addresses of which one is served works, and keeps to that one.
func TestLocalhost(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, echo())
	r := open(t, strings.Replace(s.URL(), "127.0.0.1", "localhost", 1), reusing("never"))
	for i := range 4 {
		x := r.do()
		if x.Status != record.OK {
			t.Fatalf("%s %s", x.Status, x.ErrorText)
		}
		if (x.DNS != record.None) != (i == 0) {
			t.Errorf("request %d: DNS took %d ns", i, x.DNS)
		}
	}
}

// The addresses of a name take turns, connection by connection; one that does
// not answer is left out from then on.
func TestAddressesTakeTurns(t *testing.T) {
	t.Parallel()
	const each = 3
	var servers []*fs.Server
	var addrs []netip.AddrPort
	for range 3 {
		s := fs.Start(t, echo())
		servers, addrs = append(servers, s), append(addrs, netip.MustParseAddrPort(s.Addr()))
	}
	r := open(t, servers[0].URL(), reusing("never"))
	transport.Resolved(r.Client, addrs...)
	send := func() (got [3]int) {
		t.Helper()
		for range each * len(servers) {
			if x := r.do(); x.Status != record.OK {
				t.Errorf("%s %s", x.Status, x.ErrorText)
			}
		}
		for i, s := range servers {
			got[i] = len(s.Requests())
		}
		return got
	}
	if got := send(); got != [3]int{each, each, each} {
		t.Errorf("requests by address: %v, want %d each", got, each)
	}
	servers[1].Stop()
	if got := send(); got[1] != each || got[0]+got[2] != 5*each || got[0] < 2*each || got[2] < 2*each {
		t.Errorf("requests by address: %v, want none more for the second", got)
	}
}

// A server that sends a second answer to one request shifts all that follow on its
// connection, as far as anybody can tell; so what comes when nothing was asked is told.
func TestUnaskedAnswerIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, extra string
		want        int
	}{{"an answer", fs.JSON("{}"), 1}, {"an empty line", "\r\n", 0}} {
		over, gone := make(chan struct{}), make(chan struct{})
		s := fs.Start(t, fs.Script{
			fs.Read(), fs.Send(fs.JSON("{}")), fs.Wait(over), fs.Send(c.extra), fs.UntilClosed(),
			fs.Tell(gone),
		})
		r := open(t, s.URL())
		if x := r.do(); x.Status != record.OK {
			t.Fatalf("%s %s", x.Status, x.ErrorText)
		}
		over <- struct{}{}
		<-gone // the connection is closed, whatever it was
		if got := r.Stats().Unasked; len(got) != c.want {
			t.Errorf("%s after the answer: told %v, want %d", c.name, got, c.want)
		}
	}
}
