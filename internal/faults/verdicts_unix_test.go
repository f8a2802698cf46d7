//go:build unix

package faults

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	server "aiperf.dev/aiperf/internal/faultserver"
)

// What a server, or a limit, does to a measurement flips the check that is about
// it, and none of the others that are not about the measuring machine.
func TestVerdictOnWhatServersDo(t *testing.T) {
	t.Parallel()
	const quiet = "mock:?ttft=20ms&itl=4ms&role=none"
	two := []string{"--concurrency", "2"}
	slow := []string{"--request-rate", "50", "--arrival-pattern", "constant"}
	served := func(script server.Script) string { return server.Start(t, script).URL() }
	for _, c := range []struct {
		name, url string
		more      []string
		want      map[string]string // check → severity; all else of the list below is none, or absent
		absent    []string          // does not apply, whatever the machine does
	}{
		{"as asked", quiet, two, nil, []string{"admission_wait", "offered_rate"}},
		{"usage that lies", quiet + "&lie=1.5", two, map[string]string{"osl_honoured": "degraded"}, nil},
		{"usage that lies, and is believed", quiet + "&lie=1.5", []string{"--concurrency", "2", "--use-server-token-count"}, map[string]string{"osl_honoured": "degraded"}, nil},
		{"shorter than asked", quiet + "&max_osl=2", two, map[string]string{"osl_honoured": "degraded"}, nil},
		{"from its cache", quiet + "&cached=0.5", two, map[string]string{"prefix_cache": "degraded"}, nil},
		{"a conversation's own turns from its cache", quiet + "&cache=100000&block=1", append([]string{"--conversation-turn-mean", "3", "--isl", "64"}, two...), nil, nil},
		{"more than a conversation's own turns", quiet + "&cached=1", append([]string{"--conversation-turn-mean", "3", "--isl", "64"}, two...), map[string]string{"prefix_cache": "degraded"}, nil},
		{"prefixes that its cache does not keep", quiet + "&cached=0.1", append([]string{"--prompt-prefix-pool-size", "1", "--prompt-prefix-length", "64"}, two...), map[string]string{"cache_hits": "degraded"}, []string{"prefix_cache"}},
		{"a cap below the rate", quiet, []string{"--request-rate", "200", "--arrival-pattern", "constant", "--concurrency", "1"}, map[string]string{"admission_wait": "degraded"}, []string{"turnaround", "concurrency_held"}},
		{"users slower than their pace", quiet, []string{"--user-centric-rate", "100", "--num-users", "2", "--conversation-turn-mean", "6"}, map[string]string{"admission_wait": "degraded"}, []string{"turnaround", "concurrency_held"}},
		{"a second limit", quiet, []string{"--concurrency", "2", "--prefill-concurrency", "1"}, nil, []string{"turnaround", "concurrency_held"}},
		{"errors", quiet + "&error_rate=1&error_status=503", two, map[string]string{"errors": "degraded"}, nil},
		{"vectors of two lengths", quiet + "&dims=8", append([]string{"-u", quiet + "&dims=16", "--endpoint-type", "embeddings"}, two...), map[string]string{"dimensions": "degraded"}, nil},
		{"several tokens at once", served(again(good())), slow, nil, nil},
		{"one piece though streams were asked for", served(again(whole("m"))), slow, map[string]string{"streamed": "degraded"}, nil},
		{"another model in its answers midway", served(server.Script{server.Loop(changingAnswers(12))}), slow, map[string]string{"identity": "degraded"}, nil},
		{"closes instead of answering, having read", served(server.Script{server.Read(), server.Send(good()), server.Read()}), slow, map[string]string{"resent": "degraded"}, nil},
		{"another model at the end", served(server.Script{server.Loop(changing())}), slow, map[string]string{"identity": "degraded"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, t.TempDir(), nil, profiling(c.url, append(c.more, "--request-count", "24")...)...)
			p.exit(0, 1, 4)
			got := map[string]string{}
			for _, row := range p.table("checks") {
				if row["level"] == "run" && slices.Contains(c.absent, row["check"]) {
					t.Errorf("%s speaks: %s", row["check"], row["detail"])
				}
				if row["level"] == "run" && row["severity"] != "none" {
					got[row["check"]] = row["severity"]
				}
			}
			for _, check := range []string{
				"offered_rate", "admission_wait", "turnaround", "concurrency_held", "coalesced", "littles_law", "flow_balance", "errors",
				"tokens", "osl_honoured", "streamed", "resent", "prefix_cache", "cache_hits", "dimensions", "identity", "clock", "sink", "client_errors",
			} {
				if disturbing(check) && c.want[check] == "" {
					continue
				}
				if got[check] != c.want[check] {
					t.Errorf("%s is %q, want %q", check, got[check], c.want[check])
				}
			}
		})
	}
}

// disturbing reports whether a check may also be in doubt because the machine has
// other things to do.
func disturbing(check string) bool {
	switch check {
	case "offered_rate", "turnaround", "coalesced", "concurrency_held", "littles_law":
		return true
	}
	return false
}

// A request that the server read whole before it closed a kept connection is sent
// once more: it has its own column, and the check counts it.
func TestSentAgainIsCounted(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Script{server.Read(), server.Send(good()), server.Read()})
	// Each turn follows long after the answer before, by the client's own clock.
	p := start(t, t.TempDir(), nil, profiling(s.URL(), "--concurrency", "1", "--conversation-num", "1",
		"--conversation-turn-mean", "24", "--conversation-turn-delay-mean", "25")...)
	p.exit(0)
	posts := 0
	for _, r := range s.Requests() {
		if len(r.Body) > 0 {
			posts++
		}
	}
	again := 0
	for _, row := range p.table("requests") {
		if row["status"] != "ok" || row["resent"] != row["resent_read"] {
			t.Errorf("request %s: %s, resent %s, after it was read %s", row["request_id"], row["status"], row["resent"],
				row["resent_read"])
		}
		if row["resent_read"] == "true" {
			again++
		}
	}
	if again != 3 || posts != 24+again { // then it gives each request a fresh connection
		t.Errorf("%d requests were sent again, the server read %d for 24", again, posts)
	}
	for _, row := range p.table("checks") {
		if row["check"] == "resent" && row["level"] == "run" &&
			(row["severity"] != "degraded" || !strings.Contains(row["detail"], fmt.Sprint(again))) {
			t.Errorf("resent: %s: %s, want %d of 24", row["severity"], row["detail"], again)
		}
	}
}

// whole is an answer of a model in one piece.
func whole(model string) string {
	return server.JSON(`{"object":"chat.completion","model":"` + model +
		`","choices":[{"index":0,"message":{"role":"assistant","content":"Hello world"},"finish_reason":"stop"}]}`)
}

// changingAnswers answers as m, and after so many requests as another model.
func changingAnswers(after int64) server.Step {
	var answers atomic.Int64
	return func(c *server.Conn) bool {
		r, err := http.ReadRequest(c.In)
		if err != nil {
			return false
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return false
		}
		model := "m"
		if r.Method == http.MethodPost && answers.Add(1) > after {
			model = "another"
		}
		named := func(event string) string { return `{"model":"` + model + `",` + event[1:] }
		return server.Send(server.Stream(named(content("Hello")), named(content(" world")), named(finish), "[DONE]"))(c)
	}
}

// changing answers well, and shows another list of models once it has answered.
func changing() server.Step {
	var answered atomic.Bool
	return func(c *server.Conn) bool {
		r, err := http.ReadRequest(c.In)
		if err != nil {
			return false
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return false
		}
		if r.Method == http.MethodPost {
			answered.Store(true)
			return server.Send(good())(c)
		}
		model := "m"
		if answered.Load() {
			model = "another"
		}
		return server.Send(server.JSON(`{"object":"list","data":[{"id":"` + model + `","object":"model"}]}`))(c)
	}
}
