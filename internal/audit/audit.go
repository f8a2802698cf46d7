// Package audit judges a benchmark client by a server that keeps a log of what it really
// received and sent, and when. A Recipe says how the client is started, a Scenario what is asked
// of it and how the server behaves; Run carries both out, and Score holds each quantity of the
// client's own report against the log.
package audit

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/words"
)

// Result is what became of one scenario.
type Result struct {
	Scenario string   `json:"scenario"`
	Doc      string   `json:"description"`
	Command  []string `json:"command"`
	Lines    []Line   `json:"lines"`
}

// longest is how long a client may take for one scenario, of which none needs a minute.
const longest = 5 * time.Minute

// Run starts the server, and the client against it; exe is this program. The client's report
// and output and the server's log stay in dir. A scenario that the recipe has no command for
// is nil.
func Run(ctx context.Context, exe string, r *Recipe, s *Scenario, dir string) (*Result, error) {
	if r.command(s, exe, "", "") == nil {
		return nil, nil //nolint:nilnil // nothing to carry out
	}
	out, log := filepath.Join(dir, "out"), filepath.Join(dir, "truth.jsonl")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	server, err := mockserver.Spawn(ctx, exe, s.address(), log)
	if err != nil {
		return nil, err
	}
	command := r.command(s, exe, server.URL, out)
	err = client(ctx, r, command, filepath.Join(dir, "client.log"))
	if stopped := server.Stop(); err == nil {
		err = stopped
	}
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	truth, err := ReadTruth(log, r.warmup(s))
	if err != nil {
		return nil, err
	}
	report, err := readReport(out)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return &Result{s.Name, s.Doc, command, Score(s, report, truth)}, nil
}

// client runs the command; what it prints goes to a file.
func client(ctx context.Context, r *Recipe, command []string, log string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("%s was not done after %v", r.Name, longest))
	defer cancel()
	f, err := os.Create(log)
	if err != nil {
		return err
	}
	defer f.Close()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = f, f
	cmd.WaitDelay = 5 * time.Second // for what it started, which may hold its output
	if err := cmd.Run(); err != nil && !r.ended(cmd.ProcessState) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return diag.New(fmt.Sprintf("%s: %v: %s", r.Name, err, lastLine(log)), "all that it printed: "+log)
	}
	return nil
}

// lastLine is what a client said last.
func lastLine(log string) string {
	b, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return words.Clip(words.Line(string(lines[len(lines)-1])), 200)
}
