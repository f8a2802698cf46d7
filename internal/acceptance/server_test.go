package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"
)

// foreign is a running server that nobody here wrote.
type foreign struct {
	url  string
	log  *logbook
	stop func() // asks it to end and waits; its log is complete then
}

// address is how these servers say that they listen, and where.
var address = regexp.MustCompile(`(?:Uvicorn running|Listening) on (http://127\.0\.0\.1:[1-9]\d*)`)

// serve starts a program of the servers' Python environment on a port that the
// kernel picks, in a directory of its own, and returns when it listens.
func serve(t *testing.T, python, name string, args ...string) *foreign {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(python), name), args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PYTHONUNBUFFERED=1", "NO_COLOR=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second // after which it is killed
	f := &foreign{log: &logbook{listens: make(chan string, 1)}}
	cmd.Stdout, cmd.Stderr = f.log, f.log
	if name == "fakellm" {
		prepare(t, cmd.Path, cmd.Dir)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // a server that was asked to end may say so in its exit code
		close(ended)
	}()
	f.stop = func() { cancel(); <-ended }
	t.Cleanup(f.stop)
	timeout := time.NewTimer(2 * time.Minute) // Python on a busy machine
	defer timeout.Stop()
	select {
	case f.url = <-f.log.listens:
	case <-ended:
		t.Fatalf("%s ended: %s", name, f.log)
	case <-timeout.C:
		t.Fatalf("%s does not listen: %s", name, f.log)
	}
	return f
}

// prepare writes fakellm's starting configuration, without which it refuses.
func prepare(t *testing.T, exe, dir string) {
	t.Helper()
	cmd := exec.Command(exe, "init")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("fakellm init: %v %s", err, out)
	}
}

// ask decodes what the server answers at path.
func (f *foreign) ask(t *testing.T, path string, v any) {
	t.Helper()
	resp, err := http.Get(f.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// logbook keeps everything a server prints, and notices its address.
type logbook struct {
	mu      sync.Mutex
	b       bytes.Buffer
	listens chan string
	heard   bool
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Write(p)
	if m := address.FindSubmatch(l.b.Bytes()); m != nil && !l.heard {
		l.heard = true
		l.listens <- string(m[1])
	}
	return len(p), nil
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
