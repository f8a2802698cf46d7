//go:build unix

package faults

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	server "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/sinks"
)

// home is where the program is built.
var home string

// built makes the program once for all tests.
var built = sync.OnceValues(func() (string, error) {
	exe := filepath.Join(home, "aiperf")
	out, err := exec.Command("go", "build", "-o", exe, "aiperf.dev/aiperf/cmd/aiperf").CombinedOutput()
	if err != nil {
		err = errors.New(string(out))
	}
	return exe, err
})

// program is a running aiperf.
type program struct {
	*exec.Cmd
	t              *testing.T
	dir            string
	stdout, stderr bytes.Buffer
	exited         chan struct{}
}

// patience bounds the life of a program; no result depends on it.
const patience = 2 * time.Minute

// start runs aiperf with results in dir. Whatever it prints holds no key, no
// stack trace and, as nothing here is a terminal, no escape sequence.
func start(t *testing.T, dir string, change func(*exec.Cmd), args ...string) *program {
	t.Helper()
	exe, err := built()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, dir: dir, exited: make(chan struct{})}
	p.Cmd = exec.Command(exe, append(args, "--artifact-dir", dir)...)
	p.Env = append(os.Environ(), "NO_COLOR=1", "COLUMNS=20")
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	if change != nil {
		change(p.Cmd)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	tooLong := time.AfterFunc(patience, func() { p.Process.Kill() }) //nolint:errcheck // it may have ended
	go func() {
		defer close(p.exited)
		defer tooLong.Stop()
		p.Wait() //nolint:errcheck // its state tells
	}()
	t.Cleanup(func() {
		p.Process.Kill() //nolint:errcheck // it may have ended
		<-p.exited
	})
	return p
}

// exit waits for the end and wants one of codes.
func (p *program) exit(codes ...int) {
	p.t.Helper()
	<-p.exited
	got := p.ProcessState.ExitCode()
	for _, s := range []string{"goroutine ", secret, "\x1b"} {
		if strings.Contains(p.stdout.String()+p.stderr.String(), s) {
			p.t.Errorf("%s printed %q:\n%s%s", strings.Join(p.Args[1:], " "), s, &p.stdout, &p.stderr)
		}
	}
	for _, c := range codes {
		if c == got {
			return
		}
	}
	p.t.Fatalf("%s: exit code %d, want %v:\n%s%s", strings.Join(p.Args[1:], " "), got, codes, &p.stdout, &p.stderr)
}

// profiling are the arguments of a small run against url.
func profiling(url string, more ...string) []string {
	return append([]string{
		"profile", "-m", "m", "-u", url, "--streaming", "--tokenizer", "builtin", "--api-key", secret,
		"--random-seed", "3", "--isl", "8", "--osl", "4", "--exit-codes", "full",
	}, more...)
}

// artifacts checks that every JSON file of the results is JSON (which has no
// NaN) and that none shows the key; it returns their contents by name.
func artifacts(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path) //nolint:errcheck // path lies below dir
		files[name] = b
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("%s shows the API key", name)
		}
		if strings.HasSuffix(name, ".json") && !json.Valid(b) {
			t.Errorf("%s is not JSON", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// lines parses a file of one JSON object per line.
func lines(t *testing.T, b []byte) (out []map[string]any) {
	t.Helper()
	for _, line := range bytes.Split(bytes.TrimSpace(b), []byte("\n")) {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, v)
	}
	return out
}

// table reads a table of the results: one map from column to text per row.
func (p *program) table(name string) (rows []map[string]string) {
	p.t.Helper()
	var b bytes.Buffer
	if err := sinks.Export(p.dir, "csv", name, &b); err != nil {
		p.t.Fatalf("no table %s: %v\n%s%s", name, err, &p.stdout, &p.stderr)
	}
	all, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, c := range cells {
			row[all[0][i]] = c
		}
		rows = append(rows, row)
	}
	return rows
}

// ended counts the requests by status.
func (p *program) ended() map[string]int {
	p.t.Helper()
	n := map[string]int{}
	for _, r := range p.table("requests") {
		n[r["status"]]++
	}
	return n
}

// calls counts the requests for inference that a server has read.
type calls struct{ n atomic.Int64 }

// read reads one of them. What is asked besides is not found.
func (k *calls) read(c *server.Conn) bool {
	for {
		r, err := http.ReadRequest(c.In)
		if err != nil {
			return false
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return false
		}
		if r.Method == http.MethodPost {
			k.n.Add(1)
			return true
		}
		if !server.Send(server.Answer("404 Not Found", "text/plain", "no"))(c) {
			return false
		}
	}
}

// When every request fails the program says so and fails, and its files hold
// no latencies and no NaN.
func TestEverythingFails(t *testing.T) {
	t.Parallel()
	s := server.Start(t, again(server.Answer("500 No", "application/json",
		`{"error":{"message":"no GPU left; `+secret+`"}}`)))
	p := start(t, t.TempDir(), nil, profiling(s.URL(), "--concurrency", "2", "--request-count", "6")...)
	p.exit(1)
	if got := p.ended(); got["http_error"] != 6 || len(got) != 1 {
		t.Errorf("requests ended as %v, want 6 http_error", got)
	}
	if !strings.Contains(p.stdout.String()+p.stderr.String(), "no GPU left") {
		t.Errorf("the server's words are missing:\n%s%s", &p.stdout, &p.stderr)
	}
	for _, m := range p.table("metrics") {
		if strings.HasPrefix(m["metric"], "request_latency") || strings.HasPrefix(m["metric"], "time_to_first") {
			t.Errorf("a latency of failures only: %v", m)
		}
		for column, v := range m {
			if strings.Contains(v, "NaN") || strings.Contains(v, "Inf") {
				t.Errorf("%s: %s is %s", m["metric"], column, v)
			}
		}
	}
}

// A server that is not there is named at once, without the password of its URL.
func TestRefusedAtStart(t *testing.T) {
	t.Parallel()
	s := server.Start(t)
	url := strings.Replace(s.URL(), "//", "//me:"+secret+"@", 1)
	s.Stop()
	p := start(t, t.TempDir(), nil, profiling(url, "--concurrency", "2", "--request-count", "6")...)
	p.exit(1)
	artifacts(t, p.dir)
	if out := flat(p.stdout.String() + p.stderr.String()); !strings.Contains(out, "connection refused") ||
		!strings.Contains(out, s.Addr()) {
		t.Errorf("said:\n%s", out)
	}
}

// The first SIGINT, SIGTERM or SIGHUP ends the sending: what is under way is answered,
// counted and written down, and the results say that they are partial.
func TestInterruptedOnce(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			var got calls
			read := make(chan struct{})
			s := server.Start(t, server.Script{server.Loop(got.read, server.Tell(read),
				server.Await("drain"), server.Send(good()))})
			p := start(t, t.TempDir(), nil, profiling(s.URL(), "--concurrency", "4", "--request-count", "1000000")...)
			for range 4 {
				<-read
			}
			p.Process.Signal(sig) //nolint:errcheck // its end tells
			go func() {           // more may be sent before the signal is seen
				for {
					select {
					case <-read:
					case <-p.exited:
						return
					}
				}
			}()
			s.Notify("drain")
			p.exit(130)
			if ended, sent := p.ended(), int(got.n.Load()); ended["ok"] != sent || len(ended) != 1 || sent < 4 {
				t.Errorf("requests ended as %v, the server read %d; want all of them ok", ended, sent)
			}
			if !bytes.Contains(artifacts(t, p.dir)["manifest.json"], []byte(`"interrupted": true`)) {
				t.Error("the manifest does not say that the run was interrupted")
			}
		})
	}
}

// The second signal ends everything: what was under way is recorded as
// cancelled.
func TestInterruptedTwice(t *testing.T) {
	t.Parallel()
	var calls calls
	read := make(chan struct{})
	s := server.Start(t, server.Script{calls.read, server.Tell(read), server.UntilClosed()})
	p := start(t, t.TempDir(), nil, profiling(s.URL(), "--concurrency", "4", "--request-count", "1000000")...)
	for range 4 {
		<-read
	}
	p.Process.Signal(os.Interrupt)    //nolint:errcheck // its end tells
	p.Process.Signal(syscall.SIGTERM) //nolint:errcheck // its end tells
	p.exit(130)
	if got := p.ended(); got["cut"] != 4 || len(got) != 1 {
		t.Errorf("requests ended as %v, want 4 cut", got)
	}
}

// With 64 descriptors 200 requests cannot be in flight: said before anything
// is sent, with the numbers.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	var calls calls
	s := server.Start(t, server.Script{server.Loop(calls.read, server.Send(good()))})
	args := profiling(s.URL(), "--concurrency", "200", "--request-count", "400")
	p := start(t, t.TempDir(), func(c *exec.Cmd) {
		c.Args = append([]string{"sh", "-c", `ulimit -n 64 && exec "$0" "$@"`, c.Path}, c.Args[1:]...)
		c.Path = "/bin/sh"
	}, args...)
	p.exit(1, 2)
	if out := p.stdout.String() + p.stderr.String(); !strings.Contains(flat(out),
		"file descriptors and the limit is 64") {
		t.Errorf("said:\n%s", out)
	}
	if n := calls.n.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// flat undoes the wrapping of lines.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// A reader of stdout that goes away ends nothing: the results are written.
func TestClosedStdout(t *testing.T) {
	t.Parallel()
	s := server.Start(t, again(good()))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	p := start(t, t.TempDir(), func(c *exec.Cmd) { c.Stdout = w }, profiling(s.URL(), "--concurrency", "2",
		"--request-count", "6", "--allow-invalid")...)
	w.Close()
	p.exit(0, 1)
	if got := p.ended(); got["ok"] != 6 {
		t.Errorf("requests ended as %v, want 6 ok", got)
	}
}

// matrix is an experiment of four cells of two trials.
const matrix = `package experiment
import "aiperf.dev/schema"
schema.#Experiment & {
	name:        "matrix"
	random_seed: 9
	benchmark: {
		model: "demo"
		endpoint: {type: "chat", streaming: true, url: "URL", api_key: "` + secret + `"}
		tokenizer: name: "builtin"
		dataset: {type: "synthetic", entries: 8, isl: 16, osl: 3}
		phases: {type: "concurrency", concurrency: 1, requests: 4}
	}
	sweep: {type: "grid", parameters: {concurrency: [1, 2], "dataset.isl": [8, 16]}}
	multi_run: num_runs: 2
}
`

// journal is what the results in dir say about the runs: attempts that began
// and those that were completed, by run.
func journal(t *testing.T, dir string) (begun, done map[string]int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	begun, done = map[string]int{}, map[string]int{}
	for _, e := range lines(t, b) {
		run, _ := e["run"].(string)
		switch e["event"] {
		case "start":
			begun[run]++
		case "done":
			done[run]++
		}
	}
	return begun, done
}

// A program whose terminal goes away ends as if it was interrupted: the run in
// progress is partial and nothing else is lost. Resumed, it repeats that run alone.
func TestHungUpAndResumed(t *testing.T) {
	t.Parallel()
	const at = 18 // the signal comes while this request is under way, of 32
	var calls calls
	var once sync.Once
	reached, gone := make(chan struct{}), make(chan struct{})
	s := server.Start(t, server.Script{server.Loop(calls.read, func(*server.Conn) bool {
		n := calls.n.Load() // one at a time is under way, or two: then the second may be the first to pass
		if n >= at {
			once.Do(func() { close(reached) })
			<-gone
		}
		return true
	}, server.Send(good()))})
	dir := t.TempDir()
	file := filepath.Join(dir, "matrix.cue")
	if err := os.WriteFile(file, []byte(strings.Replace(matrix, "URL", s.URL(), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	results := filepath.Join(dir, "results")
	p := start(t, results, nil, "run", file, "--allow-invalid")
	<-reached
	p.Process.Signal(syscall.SIGHUP) //nolint:errcheck // its end tells
	close(gone)
	p.exit(130)
	_, before := journal(t, results)
	start(t, results, nil, "run", file, "--allow-invalid", "--resume").exit(0)
	begun, done := journal(t, results)
	if len(done) != 8 {
		t.Errorf("%d runs are done, want 8", len(done))
	}
	for run, n := range done {
		if n != 1 || begun[run] > 2 || begun[run] == 2 && before[run] > 0 {
			t.Errorf("run %s was begun %d times and done %d times", run, begun[run], n)
		}
	}
	artifacts(t, results)
}

// A server that is killed under a run ends it: soon, as a failure, which is the
// first thing that is said, and without thousands of attempts.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	var read atomic.Int64
	die := make(chan struct{})
	s := server.Start(t, server.Script{server.Loop(server.Read(), func(c *server.Conn) bool {
		if n := read.Add(1); n == 20 {
			close(die)
		}
		return true
	}, server.Send(good()))})
	go func() { <-die; s.Stop() }()
	p := start(t, t.TempDir(), nil, "profile", "-m", "m", "-u", s.URL(), "--streaming", "--tokenizer", "builtin",
		"--isl", "8",
		"--concurrency", "2", "--benchmark-duration", "600", "--unreachable-timeout", "0.4")
	p.exit(1)
	if got := p.ended(); got["connection"] == 0 || got["connection"] > 2*10 || got["ok"] < 10 {
		t.Errorf("requests ended as %v; want a few attempts for each of the 2 slots", got)
	}
	out := p.stdout.String()
	first, table := strings.Index(out, "FAILED: the server was gone: no connection for 400ms"), strings.Index(out, "┏")
	if first < 0 || table < first || !strings.Contains(flat(out), "the run failed: the server was gone") {
		t.Errorf("the failure is not said first, or not again above the report:\n%s", out)
	}
}
