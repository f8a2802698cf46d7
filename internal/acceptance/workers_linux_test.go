package acceptance

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// longRun is an experiment with a bound for its load.
const longRun = `schemaVersion: "2.0"
allow_invalid: true
benchmark:
  model: demo
  endpoint: {url: "mock:?ttft=2ms&itl=0.1ms", type: chat, streaming: true}
  datasets: [{name: default, type: synthetic, entries: 8, prompts: {isl: {mean: 16}, osl: {mean: 2}}}]
  tokenizer: {name: builtin}
  phases: [{name: profiling, type: constant, rate: 100, %s}]
`

// deaths is how many workers and coordinators die at drawn moments.
var deaths = flag.Int("deaths", 2, "deaths at drawn moments in TestWorkersThatDie")

var sentSoFar = regexp.MustCompile(`"sent":(\d+)`)

// workersOf are the processes that pid has started as workers, when at least so many requests
// have been sent.
func workersOf(t *testing.T, pid int, events io.Reader, sent int) (workers []int) {
	t.Helper()
	lines := bufio.NewScanner(events)
	for n := 0; n < sent; {
		if !lines.Scan() {
			t.Fatalf("only %d of %d requests were sent: %v", n, sent, lines.Err())
		}
		if found := sentSoFar.FindStringSubmatch(lines.Text()); found != nil {
			n, _ = strconv.Atoi(found[1])
		}
	}
	go func() { _, _ = io.Copy(io.Discard, events) }() // it ends with the program
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tasks {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // a thread that has ended
		}
		for _, word := range strings.Fields(string(b)) {
			child, _ := strconv.Atoi(word)
			if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)); bytes.Contains(line, []byte("\x00worker\x00")) {
				workers = append(workers, child)
			}
		}
	}
	return workers
}

// A worker that dies ends the run, which says so and is sent again by another in its place; its
// requests are then there once. No process is left. When the coordinator dies its workers end, too.
func TestWorkersThatDie(t *testing.T) {
	t.Parallel()
	type death struct {
		name   string
		worker bool
		signal syscall.Signal
		sent   int // requests before it
		code   int
		says   string
	}
	killed := "of 3 was lost: signal: killed; the run is sent again"
	all := []death{
		{"a worker", true, syscall.SIGKILL, 1, 0, killed},
		{"a worker stands still", true, syscall.SIGSTOP, 1, 0, "of 3 was lost: nothing was heard of it for"},
		{"the coordinator", false, syscall.SIGKILL, 1, -1, ""},
		{"Ctrl-C", false, syscall.SIGINT, 1, 130, "interrupted"},
	}
	draw := rand.New(rand.NewPCG(26, 1))
	for i := range *deaths {
		sent := 1 + draw.IntN(200)
		d := death{fmt.Sprintf("a worker after %d requests (%d)", sent, i), true, syscall.SIGKILL, sent, 0, killed}
		if draw.IntN(3) == 0 {
			d = death{fmt.Sprintf("the coordinator after %d requests (%d)", sent, i), false, syscall.SIGKILL, sent, -1, ""}
		}
		all = append(all, d)
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "long.yaml")
			bound := "duration: 600"
			if c.worker {
				bound = "requests: 300"
			}
			if err := os.WriteFile(file, fmt.Appendf(nil, longRun, bound), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(built(t), "run", file, "--workers", "3", "--progress", "json",
				"--artifact-dir", filepath.Join(dir, "out"), "--report", "none")
			cmd.Env = append(os.Environ(), "TMPDIR="+dir)
			var said bytes.Buffer
			cmd.Stdout = &said
			pipe, err := cmd.StderrPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			var events bytes.Buffer
			workers := workersOf(t, cmd.Process.Pid, io.TeeReader(pipe, &events), c.sent)
			if len(workers) != 3 {
				_ = cmd.Process.Kill()
				t.Fatalf("workers are %v, want 3", workers)
			}
			var ends []unix.PollFd
			for _, pid := range workers {
				fd, err := unix.PidfdOpen(pid, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer unix.Close(fd)
				ends = append(ends, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
			}
			victim := cmd.Process.Pid
			if c.worker {
				victim = workers[1]
			}
			if err := syscall.Kill(victim, c.signal); err != nil {
				t.Fatal(err)
			}
			err = cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != c.code {
				t.Errorf("it ended with %v, want exit code %d\n%s%s", err, c.code, &said, &events)
			}
			for i := range ends { // all end: else the test's own deadline ends it
				for {
					if _, err := unix.Poll(ends[i:i+1], -1); !errors.Is(err, unix.EINTR) {
						break
					}
				}
			}
			if all := said.String() + events.String(); !strings.Contains(all, c.says) {
				t.Errorf("nothing says %q:\n%s", c.says, all)
			}
			if c.worker {
				sentOnce(t, filepath.Join(dir, "out", "requests.csv"), 300)
			}
			left, _ := filepath.Glob(filepath.Join(dir, "aiperf-workers-*"))
			if !strings.HasPrefix(c.name, "the coordinator") && len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// sentOnce asks that a table has n requests, each with a number of its own.
func sentOnce(t *testing.T, table string, n int) {
	t.Helper()
	f, err := os.Open(table)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != n+1 {
		t.Errorf("%v: %d rows, want a head and %d", err, len(rows), n)
		return
	}
	at, seen := slices.Index(rows[0], "request_id"), map[string]bool{}
	for _, row := range rows[1:] {
		seen[row[at]] = true
	}
	if len(seen) != n {
		t.Errorf("%d numbers of %d requests", len(seen), n)
	}
}

// When the coordinator of workers elsewhere dies, they send the run to its end and keep it: the
// plan that is resumed has it, and the server was asked for nothing twice.
func TestResumeFetchesWhatWorkersKeep(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		if id := r.Header.Get("X-Request-ID"); r.Method == http.MethodPost {
			mu.Lock()
			asked[id]++
			mu.Unlock()
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
	}))
	defer server.Close()
	dir := t.TempDir()
	file, token, out := filepath.Join(dir, "long.yaml"), filepath.Join(dir, "token"), filepath.Join(dir, "out")
	text := strings.NewReplacer(`"mock:?ttft=2ms&itl=0.1ms"`, strconv.Quote(server.URL), ", streaming: true", "").
		Replace(fmt.Sprintf(longRun, "requests: 300"))
	listener, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	err = errors.Join(listener.Close(), os.WriteFile(file, []byte(text), 0o644),
		os.WriteFile(token, []byte("0123456789abcdef0123456789abcdef\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	coordinator := func(more ...string) *exec.Cmd {
		cmd := exec.Command(built(t), append([]string{
			"run", file, "--workers", "2", "--listen", address, "--token-file", token,
			"--progress", "json", "--artifact-dir", out, "--report", "none",
		}, more...)...)
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		return cmd
	}
	first := coordinator()
	events, err := first.StderrPipe()
	if err == nil {
		err = first.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var workers []*exec.Cmd
	for range 2 {
		cmd := exec.Command(built(t), "worker", "--join", "nats://"+address, "--token-file", token, "--wait", "600")
		cmd.Env, cmd.Stderr = append(os.Environ(), "TMPDIR="+dir), &bytes.Buffer{}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		workers = append(workers, cmd)
	}
	workersOf(t, first.Process.Pid, events, 20)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // killed
	said, err := coordinator("--resume").CombinedOutput()
	if err != nil {
		t.Errorf("the plan that is resumed: %v\n%s", err, said)
	}
	for k, cmd := range workers {
		if err := cmd.Wait(); err != nil {
			t.Errorf("worker %d: %v: %s", k, err, cmd.Stderr)
		}
	}
	sentOnce(t, filepath.Join(out, "requests.csv"), 300)
	mu.Lock()
	defer mu.Unlock()
	for id, n := range asked {
		if n != 1 {
			t.Errorf("request %s was sent %d times", id, n)
		}
	}
	if len(asked) != 300 || !strings.Contains(string(said), "the coordinator died while the workers sent this run") {
		t.Errorf("the server was asked %d times, want 300\n%s", len(asked), said)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "aiperf-kept-*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
