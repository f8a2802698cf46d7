//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/diag"
)

// paced is a matrix whose four runs take long enough to be caught at work.
const paced = `name: paced
random_seed: 5
benchmark:
  model: demo
  endpoint: {url: "mock:?ttft=4ms&itl=4ms&log=true", type: chat, streaming: true}
  tokenizer: {name: builtin}
  dataset: {type: synthetic, entries: 12, isl: {mean: 24, stddev: 6}, osl: {mean: 4, stddev: 1, min: 2}}
  phases: {type: concurrency, concurrency: 2, requests: 12}
sweep: {type: grid, parameters: {dataset.osl: [3, 5]}}
multi_run: {num_runs: 2}
`

// identity is what two measurements of one plan have in common.
var identity = []string{
	"cell", "trial", "phase", "conversation_id", "turn", "isl",
	"osl", "osl_requested", "prompt_sha", "status",
}

// undisturbed runs paced to its end.
func undisturbed(t *testing.T) (requests, runs []string) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "paced.yaml", paced)
	aiperf(t, dir, "run", "paced.yaml", "--artifact-dir", "out", "--allow-invalid").wants(0)
	out := filepath.Join(dir, "out")
	requests, runs = rows(t, out, "requests", identity...), rows(t, out, "runs", "cell", "trial", "sent", "ok", "seed",
		"path")
	if len(requests) != 2*2*12 || len(runs) != 4 {
		t.Fatalf("an undisturbed run has %d requests in %d runs", len(requests), len(runs))
	}
	return requests, runs
}

// same compares a resumed directory with an undisturbed one.
func same(t *testing.T, out string, requests, runs []string) {
	t.Helper()
	if d := cmp.Diff(requests, rows(t, out, "requests", identity...)); d != "" {
		t.Errorf("requests differ from an undisturbed run (-undisturbed +resumed):\n%s", d)
	}
	if d := cmp.Diff(runs, rows(t, out, "runs", "cell", "trial", "sent", "ok", "seed", "path")); d != "" {
		t.Errorf("runs differ from an undisturbed run (-undisturbed +resumed):\n%s", d)
	}
	if err := checkTables(out); err != nil {
		t.Error(err)
	}
	if m := manifest(t, out); m.Interrupted {
		t.Error("the manifest of a completed plan says it was interrupted")
	}
	for _, pattern := range []string{
		"*.tmp", "*/*.tmp", "*/*/*/*.tmp", "stream.arrow", "*/stream.arrow",
		"*/*/*/stream.arrow",
	} {
		if left, _ := filepath.Glob(filepath.Join(out, pattern)); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	}
	aiperf(t, filepath.Dir(out), "validate", "out").wants(0)
}

// TestKilledAnywhereAndResumed: after SIGKILL at any moment the same command
// with --resume ends with the cells and requests of an undisturbed run, and
// the built-in server has not outlived its parent.
func TestKilledAnywhereAndResumed(t *testing.T) {
	t.Parallel()
	requests, runs := undisturbed(t)
	moments := []struct {
		name            string
		events, answers int    // lines of the journal and of the server's log to wait for
		file            string // or a file of the result directory
	}{
		{name: "plan written", file: "plan.lock.json"},
		{name: "begun", events: 1},
		{name: "first run started", events: 2},
		{name: "first run half done", events: 2, answers: 6},
		{name: "first run done", events: 3},
		{name: "second run half done", events: 4, answers: 18},
		{name: "third run started", events: 6},
		{name: "fourth run nearly done", events: 8, answers: 47},
		{name: "last run done", events: 9},
		{name: "tables being written", file: "requests.parquet"},
	}
	caught := make(chan bool, len(moments))
	t.Run("at", func(t *testing.T) {
		for _, m := range moments {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				write(t, dir, "paced.yaml", paced)
				out := filepath.Join(dir, "out")
				p := aiperf(t, dir, "run", "paced.yaml", "--artifact-dir", "out", "--allow-invalid")
				p.until(m.name, func() bool {
					if m.file != "" {
						return exists(filepath.Join(out, m.file))
					}
					return lines(filepath.Join(out, "journal.jsonl")) >= m.events &&
						lines(filepath.Join(out, "server_log*.jsonl")) >= m.answers
				})
				children := childrenOf(p.cmd.Process.Pid)
				if err := p.cmd.Process.Kill(); err != nil && m.file == "" {
					t.Logf("kill: %v", err)
				}
				caught <- p.code() == -1
				for _, pid := range children {
					p.waitGone(pid)
				}
				aiperf(t, dir, "run", "paced.yaml", "--artifact-dir", "out", "--allow-invalid", "--resume").wants(0)
				same(t, out, requests, runs)
			})
		}
	})
	close(caught)
	n := 0
	for killed := range caught {
		if killed {
			n++
		}
	}
	if n < len(moments)/2 {
		t.Errorf("only %d of %d runs were still there to be killed", n, len(moments))
	}
}

// waitGone waits for the end of a process that is not a child of this test.
func (p *process) waitGone(pid int) {
	p.t.Helper()
	again := &process{t: p.t, ended: make(chan struct{})}
	again.until(fmt.Sprintf("the end of process %d, a child of aiperf", pid), func() bool { return gone(pid) })
}

// TestInterrupted: the first Ctrl-C (or SIGTERM, or a terminal that goes away) drains the run in progress
// and leaves partial results marked so; --resume completes them.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	requests, runs := undisturbed(t)
	// What is started while hangups are ignored, as under nohup, goes on ignoring
	// them; what is started while they are caught does not.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "paced.yaml", paced)
			out := filepath.Join(dir, "out")
			p := aiperf(t, dir, "run", "paced.yaml", "--artifact-dir", "out", "--allow-invalid")
			at := p.until("answers of the second run", func() bool {
				return lines(filepath.Join(out, "journal.jsonl")) >= 4 &&
					lines(filepath.Join(out, "server_log*.jsonl")) >= 14
			})
			if !at {
				t.Fatalf("ended by itself\nstderr:\n%s", &p.err)
			}
			children := childrenOf(p.cmd.Process.Pid)
			p.signal(sig)
			p.wants(diag.Interrupted)
			for _, pid := range children {
				p.waitGone(pid)
			}
			if m := manifest(t, out); !m.Interrupted || m.ExitCode != diag.Interrupted {
				t.Errorf("manifest says interrupted %v, exit code %d", m.Interrupted, m.ExitCode)
			}
			if !strings.Contains(p.out.String(), "interrupted") {
				t.Errorf("the report does not say that it is partial:\n%s", &p.out)
			}
			if err := checkTables(out); err != nil {
				t.Error(err)
			}
			// What was sent is kept, and it drained: nothing was cut off.
			partial := rows(t, out, "requests", "status")
			if n := len(partial); n < 14 || n >= len(requests) {
				t.Errorf("partial results hold %d requests of %d", n, len(requests))
			}
			for _, status := range partial {
				if status != "ok" {
					t.Errorf("a drained request is %q", status)
				}
			}
			// The run that was cut short is no trial of its cell.
			counted, trials := journalled(t, out, "done"), 0
			for _, n := range rows(t, out, "cells", "trials") {
				k, err := strconv.Atoi(n)
				if err != nil {
					t.Fatal(err)
				}
				trials += k
			}
			if cut := journalled(t, out, "interrupted"); trials != counted || cut == 1 &&
				!strings.Contains(p.out.String(), "interrupted after ") {
				t.Errorf("%d trials in the cells, %d runs were done, %d cut short:\n%s", trials, counted, cut, &p.out)
			}
			aiperf(t, dir, "validate", "out").wants(0)
			aiperf(t, dir, "run", "paced.yaml", "--artifact-dir", "out", "--allow-invalid").wants(diag.Usage)
			aiperf(t, dir, "run", "paced.yaml", "--artifact-dir", "out", "--allow-invalid", "--resume").wants(0)
			same(t, out, requests, runs)
		})
	}
}

// journalled counts the runs of a directory whose attempt ended so.
func journalled(t *testing.T, dir, event string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), `{"event":"`+event+`"`)
}

// endless is a run whose answers take an hour.
const endless = `name: endless
random_seed: 5
benchmark:
  model: demo
  endpoint: {url: "mock:?ttft=1h", type: chat, streaming: true}
  tokenizer: {name: builtin}
  dataset: {type: synthetic, entries: 4, isl: 8, osl: 4}
  phases: {type: concurrency, concurrency: 2, duration: 2h, grace_period: 1h}
`

// TestSecondInterruptStopsAtOnce: the first waits for answers that take an
// hour, the second does not; results are written all the same.
func TestSecondInterruptStopsAtOnce(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "endless.yaml", endless)
			out := filepath.Join(dir, "out")
			p := aiperf(t, dir, "run", "endless.yaml", "--artifact-dir", "out")
			p.until("the run to start", func() bool {
				return lines(filepath.Join(out, "journal.jsonl")) >= 2 && exists(filepath.Join(out, "stream.arrow"))
			})
			p.signal(sig)
			if !p.until("word that it drains", func() bool { return strings.Contains(p.err.String(), "interrupt") }) {
				t.Fatalf("ended at the first signal\nstderr:\n%s", &p.err)
			}
			children := childrenOf(p.cmd.Process.Pid)
			p.signal(sig)
			p.wants(diag.Interrupted)
			for _, pid := range children {
				p.waitGone(pid)
			}
			if m := manifest(t, out); !m.Interrupted {
				t.Error("the manifest does not say that it was interrupted")
			}
			if err := checkTables(out); err != nil {
				t.Error(err)
			}
		})
	}
}

// What is prepared when a signal comes: texts of one word each, whose counting
// takes many seconds in all, or in one piece.
var preparations = []struct {
	name             string
	records, letters int
	signals          int
}{
	{"many records", 600, 64 << 10, 1},
	{"one huge record", 1, 48 << 20, 2},
}

// TestInterruptedWhilePreparing: nothing is sent yet, so the first signal ends
// the preparation at the end of a record, and the second one at once.
func TestInterruptedWhilePreparing(t *testing.T) {
	t.Parallel()
	for _, c := range preparations {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := rand.New(rand.NewPCG(1, 2))
			var file strings.Builder
			for range c.records {
				file.WriteString(`{"text": "`)
				for range c.letters {
					file.WriteByte(byte('a' + r.IntN(26)))
				}
				file.WriteString("\"}\n")
			}
			write(t, dir, "prompts.jsonl", file.String())
			p := aiperf(t, dir, "profile", "-m", "demo", "-u", "mock:?log=true", "--tokenizer", "builtin",
				"--input-file", "prompts.jsonl", "--request-count", "2", "--exit-codes", "full", "--artifact-dir", "out")
			out := filepath.Join(dir, "out")
			if !p.until("the run to begin", func() bool { return lines(filepath.Join(out, "journal.jsonl")) >= 2 }) {
				t.Fatalf("ended by itself\nstderr:\n%s", &p.err)
			}
			for range c.signals {
				p.signal(syscall.SIGINT)
			}
			p.wants(diag.Interrupted)
			if n := lines(filepath.Join(out, "server_log*.jsonl")); n > 0 {
				t.Errorf("%d requests were sent", n)
			}
			if m := manifest(t, out); !m.Interrupted {
				t.Error("the manifest does not say that it was interrupted")
			}
		})
	}
}

// A run that waits for its input ends at the first signal: nothing is written.
func TestInterruptedBeforeThePipeSaysAnything(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"profile": {"profile", "-m", "demo", "-u", "mock:", "--tokenizer", "builtin", "--input-file", "pipe", "--artifact-dir", "out"},
	} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			t.Run(name+" "+sig.String(), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				pipe := filepath.Join(dir, "pipe")
				if err := syscall.Mkfifo(pipe, 0o600); err != nil {
					t.Skip(err)
				}
				p := aiperf(t, dir, args...)
				w := -1
				defer func() { _ = syscall.Close(w) }()
				if !p.until("the pipe is open at its other end", func() bool {
					var err error
					w, err = syscall.Open(pipe, syscall.O_WRONLY|syscall.O_NONBLOCK, 0)
					return err == nil
				}) {
					t.Fatalf("it ended: %s", p.err.String())
				}
				if err := p.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				p.wants(diag.Interrupted)
				if !strings.Contains(p.err.String(), "aiperf: interrupted; nothing is written") {
					t.Errorf("stderr: %s", p.err.String())
				}
				if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
					t.Error("there is a result directory")
				}
			})
		}
	}
}

// A pipe is read once, into a file that is gone when the run is over. One that an experiment
// names is refused: it would be read again and again.
func TestPipeIsReadOnce(t *testing.T) {
	t.Parallel()
	dir, temporary := t.TempDir(), t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		write("pipe", `{"text":"a"}`+"\n"+`{"text":"b"}`+"\n") // which waits for its reader
	}()
	p := aiperfWith(t, dir, []string{"TMPDIR=" + temporary}, "profile", "-m", "demo", "-u", "mock:?ttft=1ms",
		"--tokenizer", "builtin", "--input-file", "pipe", "--request-count", "5", "--artifact-dir", "out")
	p.wants(diag.OK)
	<-done
	b, err := os.ReadFile(filepath.Join(dir, "out", "inputs.json"))
	if err != nil || !strings.Contains(string(b), `"content": "a"`) || !strings.Contains(string(b), `"content": "b"`) {
		t.Errorf("inputs.json: %v\n%s", err, b)
	}
	if left, err := filepath.Glob(filepath.Join(temporary, "aiperf-input-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	write("x.yaml", "benchmark: {model: demo, endpoint: {url: \"mock:\", type: chat}, datasets: [{name: main, type: file, path: pipe}], phases: [{name: profiling, type: concurrency, concurrency: 1, requests: 1}]}\n")
	p = aiperf(t, dir, "run", "x.yaml", "--artifact-dir", "none")
	p.wants(diag.Usage)
	if want := "x.yaml:1:106: benchmark.datasets.main.path: pipe is a pipe, which gives its records only once"; !strings.Contains(p.err.String(), want) {
		t.Errorf("stderr: %s", p.err.String())
	}
}
