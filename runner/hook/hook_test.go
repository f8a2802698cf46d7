//go:build unix

package hook_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"aiperf.dev/aiperf/runner/hook"
)

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct{ line, want string }{
		{"echo fine > here", ""},
		{"sleep 60 & echo $! > left", ""}, // what it leaves running holds nobody up
		{"echo first; echo the last line >&2; exit 7", "exit status 7: the last line"},
		{`printf '\033[31mred\033[0m\n\n'; exit 1`, "exit status 1: red"},
		{"exit 2", "exit status 2"},
	} {
		err := hook.Run(t.Context(), dir, []string{"sh", "-c", c.line})
		if said := ""; err != nil {
			said = err.Error()
			if !strings.HasSuffix(said, c.want) || c.want == "" || strings.ContainsAny(said, "\x1b\n") {
				t.Errorf("%s: %q, want …%q", c.line, said, c.want)
			}
		} else if c.want != "" {
			t.Errorf("%s: no error, want %q", c.line, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "here")); err != nil {
		t.Error(err)
	}
	if err := hook.Run(t.Context(), dir, []string{"sh", "-c", "kill $(cat left)"}); err != nil {
		t.Errorf("what was left running is gone: %v", err)
	}
	if err := hook.Run(t.Context(), dir, []string{"./nothing"}); err == nil ||
		!strings.Contains(err.Error(), "./nothing: ") {
		t.Errorf("a program that is not there: %v", err)
	}
}

// expired is a context whose time is over as soon as the test says so.
type expired struct {
	context.Context
	done chan struct{}
}

func (e expired) Done() <-chan struct{} { return e.done }

func (e expired) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// Who takes too long is ended with all that it started. The child holds a pipe
// open: it says there that it has begun, and the pipe ends when no process has it
// any more. A process id would not tell, for the dead keep theirs until somebody
// asks after them, and nobody has to.
func TestTooLong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := expired{t.Context(), make(chan struct{})}
	left := make(chan error, 1)
	go func() {
		defer close(left)
		pipe, err := os.Open(name)
		if err == nil {
			defer pipe.Close() //nolint:errcheck // it was only read
			_, err = io.ReadFull(pipe, make([]byte, len("begun")))
		}
		close(ctx.done)
		if err == nil {
			_, err = io.Copy(io.Discard, pipe)
		}
		left <- err
	}()
	err := hook.Run(ctx, dir, []string{
		"sh", "-c",
		"sh -c 'trap : TERM; exec 3> pipe; printf begun >&3; while :; do sleep 1; done' & wait",
	})
	if err == nil || !strings.Contains(err.Error(), "took too long") {
		t.Errorf("error %v", err)
	}
	if err := <-left; err != nil { // for ever, if the child lives on
		t.Errorf("the child's pipe: %v", err)
	}
}
