//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// started is a profile run into a directory that holds results already, caught
// when it says that it sends. Nothing ends it but a signal.
func started(t *testing.T, url string, more ...string) (p *process, dir string, before map[string]string) {
	t.Helper()
	dir, before = measuredOnce(t)
	line := append([]string{
		"profile", "-m", "demo", "-u", url, "--tokenizer", "builtin", "--concurrency", "2",
		"--benchmark-duration", "7200", "--benchmark-grace-period", "3600", "--artifact-dir", "out",
	}, more...)
	p = aiperf(t, dir, line...)
	if !p.until(profiling, func() bool { return strings.Contains(p.out.String(), profiling+"\n") }) {
		t.Fatalf("ended by itself\nstdout:\n%s\nstderr:\n%s", &p.out, &p.err)
	}
	return p, dir, before
}

// measuredOnce is a directory whose out holds the results of a short run.
func measuredOnce(t *testing.T) (dir string, before map[string]string) {
	t.Helper()
	dir = t.TempDir()
	aiperf(t, dir, "profile", "-m", "demo", "-u", "mock:?ttft=1ms", "--tokenizer", "builtin",
		"--request-count", "4", "--artifact-dir", "out").wants(diag.OK)
	return dir, sums(t, filepath.Join(dir, "out"))
}

// kept checks that the results from before are whole: where they were, or beside.
func kept(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	if whole, _ := wholeResults(t, dir, before, false); whole == "" {
		t.Error("the results from before are nowhere whole")
	}
}

// TestContractOneSignal: profile ended by one signal is a success with complete
// files that say they are cancelled.
func TestContractOneSignal(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			p, dir, before := started(t, "mock:?ttft=20ms")
			p.signal(sig)
			p.wants(diag.OK)
			kept(t, dir, before)
			for _, name := range []string{
				"inputs.json", "logs/aiperf.log", "profile_export.jsonl",
				"profile_export_aiperf.csv", "profile_export_console.txt",
			} {
				if !exists(filepath.Join(dir, "out", filepath.FromSlash(name))) {
					t.Errorf("no file %s", name)
				}
			}
			var ready struct {
				Ready     bool
				Cancelled bool `json:"was_cancelled"`
				Partial   *bool
			}
			readJSON(t, filepath.Join(dir, "out", ".aiperf_results_ready.json"), &ready)
			if !ready.Ready || !ready.Cancelled || ready.Partial == nil || *ready.Partial {
				t.Errorf("the file that says results are ready: %+v", ready)
			}
			var summary struct {
				Cancelled bool `json:"was_cancelled"`
				Complete  bool `json:"is_complete"`
			}
			readJSON(t, filepath.Join(dir, "out", "profile_export_aiperf.json"), &summary)
			if !summary.Cancelled || summary.Complete {
				t.Errorf("the summary of a cancelled run: %+v", summary)
			}
			for _, word := range []string{"\nCLI Command:", "\nJSON Export:", "\nLog File:"} {
				if !strings.Contains(p.out.String(), word) {
					t.Errorf("stdout lacks %q:\n%s", word, &p.out)
				}
			}
			for _, word := range []string{"─ Cancellation in Progress ─", "BENCHMARK CANCELLED"} {
				if strings.Count(p.err.String(), word) != 1 {
					t.Errorf("stderr has not one %q:\n%s", word, &p.err)
				}
			}
		})
	}
}

// TestContractSecondSignal: the second signal does not wait for answers that
// take an hour. It is a failure, and takes nothing that was there before.
func TestContractSecondSignal(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]string{"moved aside": nil, "overwrite": {"--overwrite"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, dir, before := started(t, "mock:?ttft=1h", more...)
			p.signal(syscall.SIGINT)
			if !p.until("word that it drains",
				func() bool { return strings.Contains(p.err.String(), "interrupt again to stop at once") }) {
				t.Fatalf("ended at the first signal\nstderr:\n%s", &p.err)
			}
			p.signal(syscall.SIGINT)
			p.wants(diag.Failed)
			if !strings.Contains(p.err.String(), "FORCE QUIT") {
				t.Errorf("stderr lacks the panel of the second signal:\n%s", &p.err)
			}
			kept(t, dir, before)
			if exists(filepath.Join(dir, "out", "profile_export_aiperf.json")) && len(more) == 0 {
				t.Error("a summary, though nothing succeeded")
			}
			if !exists(filepath.Join(dir, "out", "inputs.json")) {
				t.Error("no inputs.json")
			}
		})
	}
}

// TestContractFullDisk: files that can grow no further end the run in one line.
// A limit on the size of a file stands for the disk, so that no root is needed.
func TestContractFullDisk(t *testing.T) {
	t.Parallel()
	if err := exec.Command("sh", "-c", "ulimit -f 8").Run(); err != nil {
		t.Skipf("this shell sets no limit on the size of files: %v", err)
	}
	for name, more := range map[string]string{
		"moved aside": "", "overwrite": "--overwrite", "sweep": "--concurrency 1,2", "sweep overwrites": "--concurrency 1,2 --overwrite",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, before := measuredOnce(t)
			p := &process{t: t, cmd: exec.Command("sh", "-c",
				"ulimit -f 8; exec aiperf profile -m demo -u 'mock:?ttft=1ms' --tokenizer builtin --request-count 400 --artifact-dir out "+more), ended: make(chan struct{})}
			p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = dir, &p.out, &p.err, ownGroup()
			p.cmd.Env = append(os.Environ(), "HF_HOME="+filepath.Join(dir, "no-hub"), "HF_HUB_CACHE=")
			p.run()
			p.wants(diag.Failed)
			kept(t, dir, before)
			for _, word := range []string{"file too large", "hint: free disk space"} {
				if strings.Count(p.err.String(), word) != 1 {
					t.Errorf("stderr has not one %q:\n%s", word, &p.err)
				}
			}
			if strings.Contains(p.out.String(), "JSON Export:") {
				t.Errorf("stdout names files that were not written:\n%s", &p.out)
			}
		})
	}
}

// TestContractRecordsLost: a run whose journal could not take all records has
// failed, whatever is allowed; validate says so, and --resume measures it again.
func TestContractRecordsLost(t *testing.T) {
	t.Parallel()
	if err := exec.Command("sh", "-c", "ulimit -f 60").Run(); err != nil {
		t.Skipf("this shell sets no limit on the size of files: %v", err)
	}
	dir := t.TempDir()
	// Chunks make the journal by far the largest file: it alone reaches the limit.
	line := "aiperf run q.cue --artifact-dir out --report none"
	if err := os.WriteFile(filepath.Join(dir, "q.cue"), []byte(`
name: "q"
benchmark: {
	model: "m"
	endpoint: {type: "chat", url: "mock:?ttft=1ms&itl=0ms", streaming: true}
	tokenizer: name: "builtin"
	dataset: {type: "synthetic", entries: 4, prompts: {isl: 8, osl: 200}}
	phases: {type: "concurrency", concurrency: 2, requests: 400}
	artifacts: {records: false}
}
tables: {formats: ["parquet"], chunks: false}
allow_invalid: true
`), 0o600); err != nil {
		t.Fatal(err)
	}
	shell := func(script string) *process {
		p := &process{t: t, cmd: exec.Command("sh", "-c", script), ended: make(chan struct{})}
		p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = dir, &p.out, &p.err, ownGroup()
		p.cmd.Env = append(os.Environ(), "HF_HOME="+filepath.Join(dir, "no-hub"), "HF_HUB_CACHE=")
		p.run()
		return p
	}
	events := func() string {
		b, err := os.ReadFile(filepath.Join(dir, "out", "journal.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	p := shell("ulimit -f 60; exec " + line)
	p.wants(diag.Failed)
	if e := events(); strings.Contains(e, `"event":"done"`) || !strings.Contains(e, `"event":"lost"`) {
		t.Errorf("the journal says\n%s", e)
	}
	if said := p.out.String() + p.err.String(); strings.Contains(said, "report it as a bug") ||
		!strings.Contains(said, "lost") {
		t.Errorf("lost records are not said, or as a bug of ours:\n%s", said)
	}
	p = shell("exec aiperf validate out")
	p.wants(diag.Failed)
	if !strings.Contains(p.err.String(), "lost") {
		t.Errorf("validate does not say that records are missing:\n%s", &p.err)
	}
	shell("exec " + line + " --resume").wants(diag.OK)
	if e := events(); strings.Count(e, `"event":"done"`) != 1 || !strings.Contains(e, `"records":400`) {
		t.Errorf("after --resume the journal says\n%s", e)
	}
	shell("exec aiperf validate out").wants(diag.OK)
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
