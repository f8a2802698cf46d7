package faults

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"aiperf.dev/aiperf/runner/verdict"
)

// harmful is a check of the kind harm, and the fault that flips it in a run of the
// program, for each kind of arrival stamps.
type harmful struct {
	check               string
	kernel, application string // a test, or why there is none
}

// harms is the table of them. What no fault from outside can do is flipped in the
// evidence alone: TestEachCheckFlips of runner/verdict has every check.
func harms() []harmful {
	const (
		ours     = "bookkeeping: only a bug of the program itself flips it"
		refilled = "no: slots are filled again at once, and a client that is stopped before that shows in turnaround"
	)
	return []harmful{
		{"dispatch_lateness", "TestHarmOfAStoppedClient", "TestHarmOfAStoppedClient"},
		{"offered_rate", "TestHarmOfACap", "TestHarmOfACap"},
		{"turnaround", "TestHarmOfAStoppedClient", "TestHarmOfASlowTemplate"},
		{"concurrency_held", refilled, refilled},
		{"stamp_error", "no: kernel stamps are exact, and a burst flips nothing", "TestHarmOfAStoppedClient"},
		{"coalesced", "TestAnswersInOneRead", "TestAnswersInOneRead"},
		{"littles_law", ours, ours},
		{"flow_balance", ours, ours},
		{"stamps", "of a plan, not of a run: TestMixedStamps of runner/verdict", "the same"},
		{"sink", "testdata/script/full_disk.txtar", "testdata/script/full_disk.txtar"},
		{"clock", "TestWallClockIsSet of loadgen/transport: the clock of the machine stays as it is", "spans use the monotonic clock"},
		{"client_errors", "TestNoDescriptors and TestNoPorts of loadgen/transport, counted in TestEachCheckFlips", "the same"},
	}
}

// Every check of harm has its line.
func TestEveryHarmHasItsFault(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	sources := map[string]string{}
	for _, h := range harms() {
		listed[h.check] = true
		for _, at := range []string{h.kernel, h.application} {
			if at == "" {
				t.Errorf("%s: neither a fault nor why there is none", h.check)
			}
			if strings.HasPrefix(at, "Test") && !strings.Contains(at, " ") &&
				!exists(t, sources, proof{"internal/faults", at}) {
				t.Errorf("%s: there is no %s", h.check, at)
			}
		}
	}
	n := 0
	for _, c := range verdict.Describe() {
		if !strings.HasPrefix(c[1], string(verdict.Harm)) {
			continue
		}
		if n++; !listed[c[0]] {
			t.Errorf("no fault is named for %s", c[0])
		}
	}
	if n != len(listed) {
		t.Errorf("%d checks of harm, %d lines", n, len(listed))
	}
}

// severities are what the checks of a finished program's run came to.
func (p *program) severities() map[string]string {
	p.t.Helper()
	out := map[string]string{}
	for _, row := range p.table("checks") {
		if row["level"] == "run" {
			out[row["check"]] = row["severity"]
		}
	}
	return out
}

// application makes the program speak through a proxy, where arrival stamps are its
// own: h answers for every host.
func application(t *testing.T, h http.Handler) (url string, change func(*exec.Cmd), more []string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return "http://model.test", func(c *exec.Cmd) {
		c.Env = append(c.Env, "HTTP_PROXY="+s.URL, "http_proxy="+s.URL, "NO_PROXY=", "no_proxy=")
	}, []string{"--proxy", "env"}
}

// bothWays runs f with stamps of the kernel's and with the program's own.
func bothWays(
	t *testing.T, name string, h func() http.Handler,
	f func(t *testing.T, stamps, url string, change func(*exec.Cmd), more []string),
) {
	t.Helper()
	t.Run(name+"kernel", func(t *testing.T) {
		t.Parallel()
		s := httptest.NewServer(h())
		t.Cleanup(s.Close)
		f(t, "kernel", s.URL, nil, nil)
	})
	t.Run(name+"application", func(t *testing.T) {
		t.Parallel()
		url, change, more := application(t, h())
		f(t, "application", url, change, more)
	})
}

// streamed answers POSTs with a stream; before is done once its header is out.
func streamed(before func(), event func(i int)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		before()
		for i := range 4 {
			event(i)
			fmt.Fprintf(w, "data: %s\n\n", content("word "))
			if i == 0 {
				w.(http.Flusher).Flush()
			}
		}
		fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", finish)
	})
}

// A burst reaches many streams at once, and a client with one processor takes its
// time to read them. Its own stamps are late by that, which is measured, and the
// check has its number; those of the kernel are not, and there is nothing to say.
// How late they are is the machine's affair: TestEachCheckFlips has the limits.
func TestStampsOfBursts(t *testing.T) {
	t.Parallel()
	const streams = 128
	burst := func() http.Handler {
		var mu sync.Mutex
		waiting, release := 0, make(chan struct{})
		return streamed(func() {
			mu.Lock()
			mine := release
			if waiting++; waiting == streams {
				waiting, release = 0, make(chan struct{})
				close(mine)
			}
			mu.Unlock()
			<-mine
		}, func(int) {})
	}
	bothWays(t, "", burst, func(t *testing.T, stamps, url string, change func(*exec.Cmd), more []string) {
		p := start(t, t.TempDir(), func(c *exec.Cmd) {
			if change != nil {
				change(c)
			}
			c.Env = append(c.Env, "GOMAXPROCS=1")
		}, profiling(url, append(more, "--concurrency", fmt.Sprint(streams),
			"--request-count", fmt.Sprint(4*streams))...)...)
		p.exit(0, 4)
		measured := 0.0
		for _, row := range p.table("checks") {
			if row["check"] == "stamp_error" && row["level"] == "run" {
				measured, _ = strconv.ParseFloat(row["value"], 64)
			}
		}
		if (measured > 0) != (stamps == "application") {
			t.Errorf("%s stamps: stamp_error is %v", stamps, measured)
		}
	})
}

// An answer of which the header comes first and all tokens come in one read, 40 ms
// later: when each came is not known, and nobody is told a gap.
func TestAnswersInOneRead(t *testing.T) {
	t.Parallel()
	late := func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				http.NotFound(w, r)
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-time.After(40 * time.Millisecond) // how long is of no importance: gaps are bounded by it
			_, _ = io.WriteString(w, strings.Repeat("data: "+content("word ")+"\n\n", 4)+"data: "+finish+
				"\n\ndata: [DONE]\n\n")
		})
	}
	bothWays(t, "", late, func(t *testing.T, stamps, url string, change func(*exec.Cmd), more []string) {
		p := start(t, t.TempDir(), change,
			profiling(url, append(more, "--concurrency", "4", "--request-count", "40")...)...)
		p.exit(0, 4)
		if got := p.severities()["coalesced"]; got != "invalid" {
			t.Errorf("%s stamps: coalesced is %q, want invalid", stamps, got)
		}
	})
}

// A client that takes longer to write the next turn of a conversation than the server
// to answer one, because its template counts to thirty thousand first: the load pauses
// between its requests, whoever dates the answers. How much of a latency that is depends
// on what else the machine does.
func TestHarmOfASlowTemplate(t *testing.T) {
	t.Parallel()
	const body = `payload_template:{% for a in range(30000) %}{% set b = a * 2 %}{% endfor %}{"model": "m", "prompt": {{ text|tojson }}}`
	atOnce := func() http.Handler { return streamed(func() {}, func(int) {}) }
	bothWays(t, "", atOnce, func(t *testing.T, stamps, url string, change func(*exec.Cmd), more []string) {
		p := start(t, t.TempDir(), change, profiling(url+"/generate", append(more,
			"--endpoint-type", "template", "--extra-inputs", body, "--extra-inputs", "response_field:choices[0].delta.content",
			"--concurrency", "1", "--num-conversations", "1", "--conversation-turn-mean", "30")...)...)
		p.exit(0, 4) // only rates are wrong: the rest holds
		if got := p.severities()["turnaround"]; got != "invalid" && got != "degraded" {
			t.Errorf("%s stamps: turnaround is %q", stamps, got)
		}
	})
}

// A cap holds back what the schedule wants until the run is over.
func TestHarmOfACap(t *testing.T) {
	t.Parallel()
	slow := func() http.Handler { return streamed(func() { <-time.After(20 * time.Millisecond) }, func(int) {}) }
	bothWays(t, "", slow, func(t *testing.T, stamps, url string, change func(*exec.Cmd), more []string) {
		p := start(t, t.TempDir(), change, profiling(url, append(more, "--request-rate", "200", "--arrival-pattern",
			"constant", "--concurrency", "1", "--benchmark-duration", "0.5")...)...)
		p.exit(0, 4)
		if got := p.severities()["offered_rate"]; got != "invalid" && got != "degraded" {
			t.Errorf("%s stamps: offered_rate is %q", stamps, got)
		}
	})
}

// A client that is stopped in the middle of its run and goes on: an open loop sends
// late, and a closed loop has paused between an answer and the next request; where it
// dates answers itself, it has dated those too late that came meanwhile.
func TestHarmOfAStoppedClient(t *testing.T) {
	t.Parallel()
	const at, away = 30, 600 * time.Millisecond
	for _, c := range []struct {
		name, stamps string
		load         []string
		want         string // the check that is not VALID
	}{
		{"open", "kernel", []string{"--request-rate", "100", "--arrival-pattern", "constant", "--request-count", "120"}, "dispatch_lateness"},
		{"open", "application", []string{"--request-rate", "100", "--arrival-pattern", "constant", "--request-count", "120"}, "dispatch_lateness"},
		{"closed", "kernel", []string{"--concurrency", "2", "--request-count", "120"}, "turnaround"},
		{"closed", "application", []string{"--concurrency", "2", "--request-count", "120"}, "stamp_error"},
	} {
		t.Run(c.name+", "+c.stamps, func(t *testing.T) {
			t.Parallel()
			reached, stopped := make(chan struct{}), make(chan struct{})
			var mu sync.Mutex
			n := 0
			quick := streamed(func() {
				mu.Lock()
				defer mu.Unlock()
				if n++; n == at { // nothing is answered until the client is stopped
					close(reached)
					<-stopped
				}
			}, func(int) {})
			url, change, more := "", (func(*exec.Cmd))(nil), []string(nil)
			if c.stamps == "kernel" {
				s := httptest.NewServer(quick)
				t.Cleanup(s.Close)
				url = s.URL
			} else {
				url, change, more = application(t, quick)
			}
			p := start(t, t.TempDir(), change, profiling(url, append(more, c.load...)...)...)
			<-reached
			stop(t, p.Process.Pid)
			close(stopped)
			<-time.After(away) // as long as it is stopped at least
			if err := p.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			p.exit(0, 4)
			if got := p.severities()[c.want]; got != "invalid" && got != "degraded" {
				t.Errorf("%s is %q", c.want, got)
			}
		})
	}
}
