package mockserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Child is a server in a process of its own.
type Child struct {
	URL string // http://127.0.0.1:PORT
	PID int

	stdin io.Closer
	ended chan struct{} // closed when the process has been waited for
	err   error         // how it ended; read after ended
	errs  *lastWords
}

// startTimeout is how long a child may take to listen; it needs milliseconds,
// more on a machine that is busy.
const startTimeout = 20 * time.Second

// stopTimeout is how long a child may take to end once asked to.
const stopTimeout = 5 * time.Second

// Spawn starts "exe mock-server" for a mock: URL on a free loopback port and
// returns when it listens. logPath may be "". ctx bounds the start only. The
// child ends when Stop is called, or with this process however that ends.
func Spawn(ctx context.Context, exe, url, logPath string) (*Child, error) {
	if _, err := ParseURL(url); err != nil {
		return nil, err
	}
	args := []string{"mock-server", "--parent", strconv.Itoa(os.Getpid())}
	if logPath != "" {
		args = append(args, "--log", logPath)
	}
	cmd := exec.Command(exe, append(args, url)...)
	cmd.SysProcAttr = childAttributes()
	c := &Child{ended: make(chan struct{}), errs: &lastWords{}}
	cmd.Stderr = c.errs
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start mock server: %w", err)
	}
	c.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start mock server: %w", err)
	}
	if err := c.start(cmd); err != nil {
		return nil, fmt.Errorf("start mock server: %w", err)
	}
	if err := c.listening(ctx, stdout); err != nil {
		return nil, errors.Join(err, c.kill(cmd.Process))
	}
	return c, nil
}

// start runs the child from a thread that lives as long as the child does:
// the kernel's parent-death signal is about the thread, not the process.
func (c *Child) start(cmd *exec.Cmd) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		c.PID = cmd.Process.Pid
		started <- nil
		c.err = cmd.Wait()
		close(c.ended)
	}()
	return <-started
}

// listening reads the child's first line.
func (c *Child) listening(ctx context.Context, stdout io.ReadCloser) error {
	line := make(chan string, 1)
	go func() { // ends when the child closes its stdout, at the latest when it ends
		defer stdout.Close()
		r := bufio.NewReader(stdout)
		first, _ := r.ReadString('\n')
		line <- first
		_, _ = io.Copy(io.Discard, r)
	}()
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	select {
	case first := <-line:
		url, ok := strings.CutPrefix(strings.TrimSpace(first), "listening ")
		if !ok {
			<-c.ended
			return fmt.Errorf("start mock server: it ended before it listened: %s", c.errs.line())
		}
		c.URL = url
		return nil
	case <-ctx.Done():
		return fmt.Errorf("start mock server: %w", context.Cause(ctx))
	case <-timeout.C:
		return fmt.Errorf("start mock server: not listening after %v", startTimeout)
	}
}

// Stop asks the child to end and waits for it; its log is complete then.
func (c *Child) Stop() error {
	_ = c.stdin.Close()
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	select {
	case <-c.ended:
	case <-timeout.C:
		p, err := os.FindProcess(c.PID)
		if err != nil {
			return err
		}
		return errors.Join(fmt.Errorf("mock server: did not end within %v and was killed", stopTimeout), c.kill(p))
	}
	if s := c.errs.line(); s != "" {
		return fmt.Errorf("mock server: %s", s)
	}
	return c.err
}

func (c *Child) kill(p *os.Process) error {
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-c.ended
	return nil
}

// lastWords keeps the last 4 KB of what is written to it.
type lastWords struct {
	mu sync.Mutex
	b  []byte
}

func (t *lastWords) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if over := len(t.b) - 4096; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

// line is the last line.
func (t *lastWords) line() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := bytes.TrimSpace(t.b)
	return string(b[bytes.LastIndexByte(b, '\n')+1:])
}
