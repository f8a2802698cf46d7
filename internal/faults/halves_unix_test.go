//go:build unix

package faults

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	server "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/validity"
)

// Every other answer is at fault, of each kind once: the program ends by itself,
// the run is in doubt by its errors, each request is counted once, the failed
// ones are in no latency and in the table of errors with the server's own words.
func TestHalfOfTheAnswersFail(t *testing.T) {
	t.Parallel()
	const half = 4
	begun := server.StreamHead() + server.Event(content("Hel"))
	long := strings.Repeat("many words, ", 200) // more than 1 KB
	for _, c := range []struct {
		name   string
		fault  []server.Step
		status string
		kind   string // as the table of errors has it
		words  string
		more   []string
	}{
		{name: "429", fault: []server.Step{server.Send(server.Answer("429 Slow down", "application/json", `{"error":{"message":"3 per minute"}}`, "Retry-After: 7"))}, status: "http_error", kind: "rate_limited", words: "3 per minute (Retry-After: 7)"},
		{name: "503 with a long page", fault: []server.Step{server.Send(server.Answer("503 No", "text/plain", "overloaded, "+long))}, status: "http_error", kind: "http_503", words: "overloaded, many words"},
		{name: "500 that repeats the key", fault: []server.Step{server.Send(server.Answer("500 No", "text/plain", "bad key "+secret))}, status: "http_error", kind: "http_500", words: "bad key ***"},
		{name: "reset before an answer", fault: []server.Step{server.Reset()}, status: "connection", kind: "connection reset", words: "before an answer", more: []string{"--connection-reuse-strategy", "never"}},
		{name: "reset in a stream", fault: []server.Step{server.Send(begun), server.Reset()}, status: "truncated", kind: "truncated reset", words: "before the end of the answer"},
		{name: "closed in a stream", fault: []server.Step{server.Send(begun), hangUp}, status: "truncated", kind: "truncated", words: "closed before the end"},
		{name: "no end mark", fault: []server.Step{server.Send(server.Stream(content("Hello")))}, status: "truncated", kind: "truncated no_end", words: "without a finish reason"},
		{name: "error in a stream", fault: []server.Step{server.Send(server.Stream(content("Hel"), `{"error":{"message":"out of memory"}}`))}, status: "parse_error", kind: "parse_error server_error", words: "out of memory"},
		{name: "malformed chunk", fault: []server.Step{server.Send(server.Stream(content("Hel"), `{"choices`))}, status: "parse_error", kind: "parse_error bad_json", words: "event 2 of the stream"},
		{name: "no content", fault: []server.Step{server.Send(server.Stream("[DONE]"))}, status: "parse_error", kind: "parse_error no_content", words: "no content"},
		{name: "wrong length", fault: []server.Step{server.Send(server.Head("200 OK", "application/json", "Content-Length: 99") + "{}"), hangUp}, status: "truncated", kind: "truncated", words: "before the end of the answer"},
		{name: "silence", fault: []server.Step{server.UntilClosed()}, status: "timeout", kind: "timeout header_timeout", words: "no answer before the deadline", more: []string{"--request-timeout-seconds", "1.5"}},
		{name: "stall", fault: []server.Step{server.Send(begun), server.UntilClosed()}, status: "timeout", kind: "timeout stall_timeout", words: "not complete at the deadline", more: []string{"--request-timeout-seconds", "1.5"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var calls calls
			var turn atomic.Int64
			s := server.Start(t, server.Script{server.Loop(calls.read, func(k *server.Conn) bool {
				if turn.Add(1)%2 == 1 {
					return server.Send(good())(k)
				}
				for _, step := range c.fault {
					if !step(k) {
						return false
					}
				}
				return true
			})})
			p := start(t, t.TempDir(), nil,
				profiling(s.URL(), append(c.more, "--concurrency", "1", "--request-count", "8")...)...)
			p.exit(0, 4) // 4: this machine is busy
			if got := p.ended(); got["ok"] != half || got[c.status] != half || len(got) != 2 ||
				calls.n.Load() != 2*half {
				t.Errorf("requests ended as %v, the server read %d; want %d ok and %d %s", got, calls.n.Load(), half,
					half, c.status)
			}
			p.told(c.kind, c.words, half)
			p.counted(half)
		})
	}
}

// hangUp closes the connection in the orderly way.
func hangUp(*server.Conn) bool { return false }

// told: the failures are one row of the table of errors, n times, with words.
func (p *program) told(kind, words string, n int64) {
	p.t.Helper()
	var report struct {
		Verdict validity.Verdict
		Errors  []struct {
			Kind, Message string
			Count         int64
		}
	}
	if err := json.Unmarshal(artifacts(p.t, p.dir)["run.json"], &report); err != nil {
		p.t.Fatal(err)
	}
	if len(report.Errors) != 1 || report.Errors[0].Kind != kind || report.Errors[0].Count != n ||
		!strings.Contains(report.Errors[0].Message, words) || len(report.Errors[0].Message) > 1<<10 {
		p.t.Errorf("errors %+.300v, want %d × %s …%s… of at most 1 KB", report.Errors, n, kind, words)
	}
	if report.Verdict != validity.Degraded && report.Verdict != validity.Invalid { // INVALID: by a busy machine
		p.t.Errorf("the run is %s", report.Verdict)
	}
	if out := flat(p.stdout.String() + p.stderr.String()); !strings.Contains(out, strings.Fields(words)[0]) {
		p.t.Errorf("%q is not in what was said:\n%s", words, out)
	}
}

// counted: n successes are in the latencies, and no failure is.
func (p *program) counted(n int) {
	p.t.Helper()
	seen := 0
	for _, m := range p.table("metrics") {
		if m["level"] != "run" || m["span"] != "full" || m["stat"] != "avg" {
			continue
		}
		switch m["metric"] {
		case "time_to_first_token", "request_latency":
			if seen++; m["n"] != strconv.Itoa(n) {
				p.t.Errorf("%s of %s requests, want %d", m["metric"], m["n"], n)
			}
		}
	}
	if seen != 2 {
		p.t.Errorf("%d of two latencies are in the table of metrics", seen)
	}
	for _, c := range p.table("checks") {
		if c["check"] == "errors" && (c["verdict"] != "warn" ||
			!strings.HasPrefix(c["detail"], fmt.Sprintf("%d of %d requests failed: ", n, 2*n))) {
			p.t.Errorf("errors is %s: %s", c["verdict"], c["detail"])
		}
		if c["check"] == "flow_balance" && c["verdict"] != "pass" {
			p.t.Errorf("flow_balance is %s: %s", c["verdict"], c["detail"])
		}
	}
}
