package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Workers that are started elsewhere join where they are waited for, also by TLS, and the run
// is that of one process.
func TestWorkersJoinFromElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "rate.yaml", `schemaVersion: "2.0"
random_seed: 11
allow_invalid: true
benchmark:
  model: demo
  endpoint: {url: "mock:?ttft=2ms&itl=0.1ms", type: chat, streaming: true}
  datasets: [{name: default, type: synthetic, entries: 16, prompts: {isl: {mean: 32}, osl: {mean: 4}}}]
  tokenizer: {name: builtin}
  phases: [{name: profiling, type: poisson, rate: 200, requests: 60}]
`)
	called := regexp.MustCompile(`waiting for 2 workers, at most 30m00s: aiperf worker --join (?:nats|tls)://[^ ]+:([0-9]+) --token-file token`)
	for listen, scheme := range map[string]string{"127.0.0.1:0": "nats", "0.0.0.0:0": "tls"} {
		out := filepath.Join(dir, scheme)
		p := aiperf(t, dir, "run", "rate.yaml", "--artifact-dir", out, "--workers", "2", "--listen", listen, "--token-file", "token")
		var port string
		if !p.until("an address", func() bool {
			found := called.FindStringSubmatch(p.err.String())
			if found != nil {
				port = found[1]
			}
			return found != nil
		}) {
			t.Fatalf("%s: it ended\n%s", listen, &p.err)
		}
		if at, err := os.Stat(filepath.Join(dir, "token")); err != nil || at.Mode().Perm() != 0o600 {
			t.Errorf("the token's file: %v, %v", at, err)
		}
		join := []string{
			"worker", "--join", scheme + "://127.0.0.1:" + port, "--token-file", "token", "--wait", "100",
		}
		first, second := aiperf(t, dir, join...), aiperf(t, dir, join...)
		p.wants(0)
		first.wants(0)
		second.wants(0)
		if n := lines(filepath.Join(out, "requests.csv")); n != 61 {
			t.Errorf("%s: %d lines of requests, want a head and 60", scheme, n)
		}
	}
}
