// Package hook runs a command that an experiment names. In go its words and the
// folder it runs in; out comes nil when it ended well, or one line that says why
// it did not, with the last line it printed. A command has this program's
// environment, no shell and no input, and what it leaves running stays.
package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/words"
)

const (
	// patience is how long a command that is told to end may take.
	patience = 2 * time.Second
	// tail is how much of its output is looked at, and shown how much is repeated.
	tail, shown = 4096, 200
)

// Run runs a command to its end, or until ctx ends; then everything that it
// started in its group is ended, too.
func Run(ctx context.Context, dir string, command []string) error {
	// Not a pipe: what the command leaves running may keep it open for ever.
	out, err := os.CreateTemp("", "aiperf-hook-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name()) //nolint:errcheck // it is in the folder for such files
	defer out.Close()           //nolint:errcheck // it was only written by others
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, out, out, patience
	end := OwnGroup(cmd)
	err = cmd.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		end()
		if err = ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("took too long")
		}
	}
	said := fmt.Sprintf("%s: %v", strings.Join(command, " "), err)
	if last := lastLine(out); last != "" {
		said += ": " + last
	}
	return errors.New(words.Line(said))
}

// lastLine is the last line of the file that says something.
func lastLine(f *os.File) string {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	b := make([]byte, min(size, tail))
	if _, err := f.ReadAt(b, size-int64(len(b))); err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return words.Clip(lines[len(lines)-1], shown)
}
