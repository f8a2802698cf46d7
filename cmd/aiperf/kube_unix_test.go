//go:build unix

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/launch/kube/kubetest"
)

const kubeRate = `schemaVersion: "2.0"
random_seed: 11
allow_invalid: true
benchmark:
  model: demo
  endpoint: {url: "mock:?ttft=2ms&itl=0.1ms", type: chat, streaming: true}
  datasets: [{name: default, type: synthetic, entries: 16, prompts: {isl: {mean: 32}, osl: {mean: 4}}}]
  tokenizer: {name: builtin}
  phases: [{name: profiling, type: poisson, rate: 200, requests: 60}]
`

// testCluster is one for tests, whose pods are processes of this program.
func testCluster(t *testing.T) (c *kubetest.Cluster, dir string) {
	t.Helper()
	exe, err := exec.LookPath("aiperf") // TestMain has put it on the path
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	write(t, dir, "rate.yaml", kubeRate)
	return kubetest.Start(t, exe), dir
}

// kube profile places a load, shows it, fetches its results and leaves nothing behind, though
// the log breaks off once in the middle. --on k8s is the same.
func TestKubeProfile(t *testing.T) {
	t.Parallel()
	c, dir := testCluster(t)
	p := aiperf(t, dir, "run", "rate.yaml", "--workers", "2", "--on", "k8s", "--kubeconfig", c.Kubeconfig, "--image", "x",
		"--name", "one", "--artifact-dir", "out", "--console", "ours")
	p.wants(0)
	if n := lines(filepath.Join(dir, "out", "requests.csv")); n != 61 {
		t.Errorf("%d lines of requests, want a head and 60\n%s\n%s", n, &p.out, &p.err)
	}
	if left := c.Names(); len(left) > 0 {
		t.Errorf("left in the cluster: %v", left)
	}
	said := p.out.String()
	if strings.Count(said, "waiting for 2 workers") != 1 {
		t.Errorf("the coordinator's words came %d times:\n%s", strings.Count(said, "waiting for 2 workers"), said)
	}
	if strings.Contains(said+p.err.String(), "kubetest-token") {
		t.Error("a token is shown")
	}
}

// A load that was left alone is found, fetched and removed later.
func TestKubeLater(t *testing.T) {
	t.Parallel()
	c, dir := testCluster(t)
	do := func(code int, args ...string) *process {
		t.Helper()
		p := aiperf(t, dir, append(append([]string{"kube"}, args...), "--kubeconfig", c.Kubeconfig)...)
		p.wants(diag.Code(code))
		return p
	}
	do(0, "profile", "rate.yaml", "--total-workers", "2", "--image", "x", "--name", "one", "--detach")
	if p := do(1, "results", "one"); !strings.Contains(p.err.String(), "its results are not whole yet") &&
		!strings.Contains(p.err.String(), "one is done") {
		t.Errorf("results: %s", &p.err)
	}
	do(0, "attach")
	if p := do(0, "list"); !strings.Contains(p.out.String(), "one   done") {
		t.Errorf("list:\n%s", &p.out)
	}
	if p := do(0, "logs", "one", "--tail", "5"); !strings.Contains(p.out.String(), "== one-coordinator-0-0\n") ||
		!strings.Contains(p.out.String(), "== one-worker-1-0\n") {
		t.Errorf("logs:\n%s", &p.out)
	}
	do(0, "results", "one")
	if n := lines(filepath.Join(dir, "artifacts", "one", "requests.csv")); n != 61 {
		t.Errorf("%d lines of requests, want a head and 60", n)
	}
	if p := do(2, "results", "one"); !strings.Contains(p.err.String(), "is not empty") {
		t.Errorf("results again: %s", &p.err)
	}
	if p := do(0, "cleanup", "--dry-run"); p.out.String() != "one (done)\n" || len(c.Names()) == 0 {
		t.Errorf("cleanup --dry-run: %s", &p.out)
	}
	do(0, "cleanup")
	if left := c.Names(); len(left) > 0 {
		t.Errorf("left in the cluster: %v", left)
	}
	do(1, "delete", "one")
	do(0, "delete", "one", "--ignore-not-found")
}

// The coordinator's exit code is the launcher's, and a mistake is shown; one that can be seen
// beforehand is said before anything is placed.
func TestKubeProfileOfAMistake(t *testing.T) {
	t.Parallel()
	c, dir := testCluster(t)
	write(t, dir, "nine.yaml", strings.Replace(kubeRate, "type: poisson, rate: 200", "type: concurrency, concurrency: 2", 1))
	p := aiperf(t, dir, "kube", "profile", "nine.yaml", "--kubeconfig", c.Kubeconfig, "--image", "x", "--total-workers", "3")
	p.wants(2)
	if !strings.Contains(p.err.String(), "is less than one for each of 3 workers") || strings.Contains(p.err.String(), "placed") {
		t.Errorf("%s\n%s", &p.out, &p.err)
	}
	write(t, dir, "gone.yaml", strings.Replace(kubeRate, "mock:?ttft=2ms&itl=0.1ms", "http://127.0.0.1:1", 1))
	p = aiperf(t, dir, "kube", "profile", "gone.yaml", "--kubeconfig", c.Kubeconfig, "--image", "x", "--total-workers", "3")
	p.wants(1)
	if !strings.Contains(p.out.String(), "cannot reach http://127.0.0.1:1") {
		t.Errorf("%s\n%s", &p.out, &p.err)
	}
	if left := c.Names(); len(left) > 0 {
		t.Errorf("left in the cluster: %v", left)
	}
}
