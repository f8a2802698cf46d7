package acceptance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A session that passed through aiperf capture is replayed from its trace, and the receipt
// of the replay agrees: arrivals, lengths, and how much of the prompts a prefix cache knew.
// Each server starts afresh for the replay, since its cache is warm after the session.
func TestCaptureReplays(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"hash", "keep", "lengths"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			mock := []string{
				"mock-server", "--port", "0", "ttft=1ms", "itl=100us", "cache=100000", "block=16", "model=demo",
			}
			got := captureAndReplay(t, listening(t, mock...).url, func() string { return listening(t, mock...).url },
				"--text", text)
			if want := *got.Trace; text == "lengths" && want != 0 || text != "lengths" && want < 0.3 {
				t.Errorf("%s: the trace shares %v of its tokens", text, want)
			}
			// Requests that overtake each other on a busy machine find another cache.
			if math.Abs(*got.Server-*got.Trace) > 0.05 {
				t.Errorf("%s: the server knew %v, the trace has %v", text, *got.Server, *got.Trace)
			}
		})
	}
}

// The same with llama.cpp's own server, by the address that AIPERF_LLAMA_SERVER names; its
// tokenizer is in the folder AIPERF_LLAMA_TOKENIZER. Its cache is that of the slots that
// it happens to choose.
func TestCaptureReplaysToLlamaServer(t *testing.T) {
	t.Parallel()
	url := llamaServer(t)
	tok := os.Getenv("AIPERF_LLAMA_TOKENIZER")
	if tok == "" {
		tok = "builtin"
	}
	got := captureAndReplay(t, url, func() string { return url }, "--tokenizer", tok)
	if got.Trace == nil || got.Server == nil || *got.Trace < 0.3 || math.Abs(*got.Server-*got.Trace) > 0.15 {
		t.Errorf("prefix hits: the trace has %v, the server knew %v", got.Trace, got.Server)
	}
}

// receipt is what a run says about its replay.
type receipt struct {
	Rows    int      `json:"rows"`
	Missing int      `json:"missing"`
	OnTime  *float64 `json:"on_time"`
	Kept    float64  `json:"dependencies_kept"`
	Input   *float64 `json:"input_length"`
	Output  float64  `json:"output_length"`
	Trace   *float64 `json:"prefix_hit_rate_trace"`
	Server  *float64 `json:"prefix_hit_rate_server"`
}

// captureAndReplay has conversations with the server at to through a capture, replays the
// trace to the one that again names, and compares.
func captureAndReplay(t *testing.T, to string, again func() string, more ...string) receipt {
	t.Helper()
	dir := t.TempDir()
	trace := filepath.Join(dir, "trace.jsonl")
	c := listening(t, append([]string{"capture", "--listen", "127.0.0.1:0", "--to", to, "-o", trace}, more...)...)
	tok := "builtin"
	for i, w := range more {
		if w == "--tokenizer" {
			tok = more[i+1]
		}
	}
	measure(t, "profile", "-m", "demo", "-u", c.url, "--streaming", "--num-conversations", "6",
		"--conversation-turn-mean", "3", "--conversation-turn-delay-mean", "20", "--request-rate", "20", "--isl", "60", "--osl", "12",
		"--shared-system-prompt-length", "50", "--random-seed", "3", "--tokenizer", tok, "--report", "none",
		"--artifact-dir", filepath.Join(dir, "session"))
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	said := c.rest(t)
	if !strings.Contains(said, "18 requests in 6 conversations") {
		t.Errorf("the capture says %s", said)
	}
	out := filepath.Join(dir, "replay")
	measure(t, "profile", "-m", "demo", "-u", again(), "--streaming", "--input-file", trace, "--fixed-schedule",
		"--tokenizer", tok, "--report", "none", "--artifact-dir", out)
	var run struct {
		Replay *receipt `json:"replay_fidelity"`
	}
	b, err := os.ReadFile(filepath.Join(out, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &run); err != nil || run.Replay == nil {
		t.Fatalf("no receipt: %v", err)
	}
	r := *run.Replay
	if r.Rows != 18 || r.Missing != 0 || r.OnTime == nil || r.Kept != 1 || r.Input == nil || *r.Input != 1 ||
		r.Output != 1 {
		t.Errorf("receipt %s", b)
	}
	arrivals(t, trace, table(t, out, "requests"))
	return r
}

// arrivals compares when the requests of a replay were due with when those of the trace came.
func arrivals(t *testing.T, trace string, rows []map[string]string) {
	t.Helper()
	f, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	came := map[string][]float64{}
	for s := bufio.NewScanner(f); s.Scan(); {
		var row struct {
			Timestamp float64
			Session   string `json:"session_id"`
		}
		if err := json.Unmarshal(s.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		came[row.Session] = append(came[row.Session], row.Timestamp)
	}
	zero := math.Inf(1)
	due := func(row map[string]string) float64 {
		ns, err := strconv.ParseFloat(row["intended_ns"], 64)
		if err != nil {
			t.Fatal(err)
		}
		return ns / 1e6
	}
	for _, row := range rows {
		zero = min(zero, due(row))
	}
	for _, row := range rows {
		turn, err := strconv.Atoi(row["turn"])
		if list := came[row["conversation_id"]]; err != nil || turn >= len(list) {
			t.Errorf("turn %s of %s is not in the trace", row["turn"], row["conversation_id"])
		} else if got := due(row) - zero; math.Abs(got-list[turn]) > 0.002 {
			t.Errorf("turn %d of %s was due at %v ms, it came at %v", turn, row["conversation_id"], got, list[turn])
		}
	}
}

// listener is aiperf in the background, at an address that it says.
type listener struct {
	cmd  *exec.Cmd
	url  string
	out  *bufio.Reader
	errs bytes.Buffer
}

// listening starts a command that says where it listens.
func listening(t testing.TB, args ...string) *listener {
	t.Helper()
	exe, err := program()
	if err != nil {
		t.Fatalf("go build ./cmd/aiperf: %v", err)
	}
	l := &listener{cmd: exec.Command(exe, args...)}
	l.cmd.Stderr = &l.errs
	out, err := l.cmd.StdoutPipe()
	if err == nil {
		err = l.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.cmd.Process.Kill()
		_ = l.cmd.Wait()
	})
	l.out = bufio.NewReader(out)
	line, err := l.out.ReadString('\n')
	at, ok := strings.CutPrefix(line, "listening ")
	if err != nil || !ok {
		t.Fatalf("aiperf %s: %q, %v", strings.Join(args, " "), line, err)
	}
	l.url = strings.Trim(strings.Fields(at)[0], ",\n")
	return l
}

// rest is what it prints until it ends.
func (l *listener) rest(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	if _, err := l.out.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if err := l.cmd.Wait(); err != nil {
		t.Fatalf("%v: %s%s", err, &b, &l.errs)
	}
	return b.String()
}
