// Package pycode runs Python programs that a model wrote against tests. In goes the code
// and what it is asked, out comes whether it gave what was expected, or why it cannot be
// told.
//
// The code runs in a process group of its own, with limits on time, memory, processes
// and sizes of files, in an empty folder, with an empty environment; on Linux also apart
// from the network and from other processes, where the system allows that. Python itself
// refuses other programs, connections, and files outside. This bounds what goes wrong; a
// program that means harm is kept out only by a machine of its own.
//
// What is expected never reaches the process: it is compared here.
package pycode

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed harness.py
var harness string

// Test is one input and what must come of it.
type Test struct {
	Input  string `json:"input"`
	Output string `json:"output"`
}

// Job is a program and its tests.
type Job struct {
	Code     string
	Function string // to be called with JSON values, one a line; "" for stdin and stdout
	Tests    []Test
	Each     time.Duration // for one test
	All      time.Duration // for all

	groupOnly bool // without namespaces, as on a system that does not allow them
}

// ErrNoInterpreter says that there is no Python to run code with, or not here.
var ErrNoInterpreter = errors.New("no python3 on PATH")

// ErrTogether says that the time for all tests was over before one had failed.
var ErrTogether = errors.New("all tests together took too long")

// The limits of one test.
const (
	maxMemory = 4 << 30
	maxFile   = 16 << 20
	maxOutput = 16 << 20
)

// Run plays the tests, up to the first that fails. It returns why it failed, "" for none;
// an error says that nothing can be told.
func Run(ctx context.Context, j Job) (failed string, err error) {
	python, err := interpreter(ctx)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "aiperf-code-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "harness.py"), []byte(harness), 0o600); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "answer.py"), []byte(j.Code), 0o600); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, j.All, ErrTogether)
	defer cancel()
	for i, t := range j.Tests {
		why := j.play(ctx, python, dir, t)
		if errors.Is(context.Cause(ctx), ErrTogether) {
			return "", ErrTogether
		}
		if why != "" {
			return fmt.Sprintf("test %d of %d: %s", i+1, len(j.Tests), why), nil
		}
	}
	return "", nil
}

// play runs one test and says why it failed.
func (j Job) play(ctx context.Context, python, dir string, t Test) string {
	ctx, cancel := context.WithTimeoutCause(ctx, j.Each, errors.New("took too long"))
	defer cancel()
	work, err := os.MkdirTemp(dir, "work-")
	if err != nil {
		return err.Error()
	}
	mark := rand.Text() // so that nothing that the code prints is taken for its result
	cmd := exec.CommandContext(ctx, python, "-I", "-B", filepath.Join(dir, "harness.py"), work,
		filepath.Join(dir, "answer.py"), j.Function, strconv.Itoa(maxMemory), strconv.Itoa(int(j.Each.Seconds())+1),
		strconv.Itoa(maxFile), mark)
	cmd.Dir = work
	cmd.Env = []string{"HOME=" + work, "TMPDIR=" + work, "LANG=C.UTF-8", "PYTHONHASHSEED=0"}
	cmd.Stdin = strings.NewReader(t.Input)
	out, mistakes := &bounded{most: maxOutput, full: cancel}, &bounded{most: 64 << 10}
	cmd.Stdout, cmd.Stderr = out, mistakes
	err = contained(cmd, j.groupOnly)
	switch {
	case out.over:
		return "printed too much"
	case context.Cause(ctx) != nil:
		return context.Cause(ctx).Error()
	case err != nil:
		return "ended with " + lastLine(mistakes.String(), err)
	}
	if j.Function != "" {
		return sameValue(t.Output, out.String(), mark)
	}
	return sameLines(t.Output, out.String())
}

// contained runs a command apart from the rest, and ends all that it began.
func contained(cmd *exec.Cmd, groupOnly bool) error {
	apart(cmd, groupOnly)
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return err
	}
	err := cmd.Wait()
	_ = killGroup(cmd.Process.Pid)
	return err
}

// lastLine is the last line of what Python says about a mistake.
func lastLine(text string, err error) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return last[:min(len(last), 200)]
	}
	return err.Error()
}

// bounded keeps the beginning of an output, and says once that it was too much. The
// buffer is not embedded: it would be read into without a bound.
type bounded struct {
	kept bytes.Buffer
	most int
	over bool
	full func()
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - b.kept.Len()
	b.kept.Write(p[:min(room, len(p))])
	if room < len(p) && !b.over {
		if b.over = true; b.full != nil {
			b.full()
		}
	}
	return len(p), nil
}

func (b *bounded) String() string { return b.kept.String() }

// interpreters are the programs behind the names that PATH gives, which may be scripts
// that look for them.
var interpreters sync.Map

// interpreter is the Python that PATH names.
func interpreter(ctx context.Context) (string, error) {
	if !supported {
		return "", fmt.Errorf("%w: code is not run on this system", ErrNoInterpreter)
	}
	name, err := exec.LookPath("python3")
	if err != nil {
		return "", ErrNoInterpreter
	}
	if found, ok := interpreters.Load(name); ok {
		return found.(string), nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, "-I", "-c", "import sys; print(sys.executable)").Output()
	found := strings.TrimSpace(string(out))
	if err != nil || found == "" {
		return "", fmt.Errorf("%w: %s does not start", ErrNoInterpreter, name)
	}
	interpreters.Store(name, found)
	return found, nil
}
