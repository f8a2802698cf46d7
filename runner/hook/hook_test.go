//go:build unix

package hook_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	if err := hook.Run(t.Context(), dir, []string{"./nothing"}); err == nil || !strings.Contains(err.Error(), "./nothing: ") {
		t.Errorf("a program that is not there: %v", err)
	}
}

// Who takes too long is ended with all that it started.
func TestTooLong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	err := hook.Run(ctx, dir, []string{"sh", "-c", "sh -c 'trap : TERM; echo $$ > child; while :; do sleep 1; done' & wait"})
	if err == nil || !strings.Contains(err.Error(), "took too long") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "child")); err != nil {
		t.Skip("the child had no time to begin")
	}
	err = hook.Run(t.Context(), dir, []string{"sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 $(cat child) 2>/dev/null || exit 0; sleep 0.2; done; exit 1"})
	if err != nil {
		t.Errorf("the child lives on: %v", err)
	}
}
