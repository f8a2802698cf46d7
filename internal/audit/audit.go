// Package audit judges a benchmark client by a server that keeps a log of what it really
// received and sent, and when. A Recipe says how the client is started, a Scenario what is asked
// of it and how the server behaves; Run carries both out, and Score holds each quantity of the
// client's own report against the log.
package audit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner/hook"
)

// Result is what became of one scenario.
type Result struct {
	Scenario string   `json:"scenario"`
	Doc      string   `json:"description"`
	Version  string   `json:"version,omitempty"` // of the client, where it tells
	Command  []string `json:"command"`
	Lines    []Line   `json:"lines"`
}

// longest is how long a client may take for one scenario, of which none needs a minute.
const longest = 5 * time.Minute

// What lies in the folder of a scenario.
const (
	outName     = "out"           // the client's report
	promptsName = "prompts.jsonl" // what it is to send, where it takes such a file
	logName     = "client.log"    // what it printed
	truthName   = "truth.jsonl"   // the server's log
)

// Run starts the server, and the client against it; exe is this program. The client's report
// and output and the server's log stay in dir. A scenario that the recipe has no command for
// is nil.
func Run(ctx context.Context, exe string, r *Recipe, s *Scenario, dir string) (*Result, error) {
	if r.words(s) == nil {
		return nil, nil //nolint:nilnil // nothing to carry out
	}
	if s.Tokenizer == "" && r.uses(s, "folder") {
		return nil, diag.New(r.Name+" counts with a tokenizer of its own",
			"--tokenizer DIR names a folder with tokenizer.json for both sides")
	}
	truthFile := filepath.Join(dir, truthName)
	if err := os.MkdirAll(filepath.Join(dir, outName), 0o755); err != nil {
		return nil, err
	}
	if r.uses(s, "prompts") {
		if err := writePrompts(ctx, exe, s, filepath.Join(dir, promptsName)); err != nil {
			return nil, err
		}
	}
	server, err := mockserver.Spawn(ctx, exe, s.address(), truthFile)
	if err != nil {
		return nil, err
	}
	fill := places(s, exe, server.URL, dir)
	command := r.command(s, fill)
	for name, text := range r.Files {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(fill.Replace(text)), 0o644)
		}
	}
	if err == nil {
		err = client(ctx, r, command, filepath.Join(dir, logName))
	}
	if stopped := server.Stop(); err == nil {
		err = stopped
	}
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	truth, err := ReadTruth(truthFile, r.warmup(s))
	if err != nil {
		return nil, err
	}
	report, version, err := readReport(filepath.Join(dir, outName))
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	if len(r.Version) > 0 && version == "" {
		version = r.version(ctx, fill)
	}
	return &Result{s.Name, s.Doc, version, command, Score(s, report, truth)}, nil
}

// client runs the command; what it prints goes to a file. Whatever it started ends with it.
func client(ctx context.Context, r *Recipe, command []string, log string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("%s was not done after %v", r.Name, longest))
	defer cancel()
	f, err := os.Create(log)
	if err != nil {
		return err
	}
	defer f.Close()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	if cmd.Stdout, cmd.Stderr = f, f; r.known {
		cmd.Dir = filepath.Dir(log) // for what it leaves where it is started
	}
	cmd.WaitDelay = 5 * time.Second
	end := hook.OwnGroup(cmd)
	defer end()
	switch err := cmd.Run(); {
	case err == nil || ctx.Err() == nil && r.ended(cmd.ProcessState):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return diag.New(command[0]+" is not on the PATH", "install it, or activate the environment that has it")
	default:
		return diag.New(fmt.Sprintf("%s: %v: %s", r.Name, err, lastLine(log)), "all that it printed: "+log)
	}
}

// aVersion is what a version looks like in what a client prints.
var aVersion = regexp.MustCompile(`\d+\.\d+[\w.+-]*`)

// version is what the client says of itself; "" where it says nothing.
func (r *Recipe) version(ctx context.Context, fill *strings.Replacer) string {
	var words []string
	for _, w := range r.Version {
		words = append(words, fill.Replace(w))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	said, err := exec.CommandContext(ctx, words[0], words[1:]...).Output()
	if err != nil {
		return ""
	}
	return string(aVersion.Find(said))
}

// writePrompts writes a file with a prompt of the scenario's length a line, as many as are
// sent: {"prompt": TEXT}.
func writePrompts(ctx context.Context, exe string, s *Scenario, path string) error {
	set := path + ".made"
	defer os.Remove(set) //nolint:errcheck // its folder has no other use for it
	made := exec.CommandContext(ctx, exe, "dataset", "make", "-m", "demo", "-u", "mock:", "-o", set,
		"--isl", strconv.Itoa(s.ISL), "--isl-stddev", "0", "--num-dataset-entries", strconv.Itoa(s.Warmup+s.Requests),
		"--tokenizer", cmp.Or(s.Tokenizer, "builtin"))
	if said, err := made.CombinedOutput(); err != nil {
		return fmt.Errorf("prompts: %w: %s", err, words.Line(string(said)))
	}
	b, err := os.ReadFile(set)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	for line := range bytes.Lines(b) {
		var of struct {
			Turns []struct {
				Texts []string `json:"texts"`
			} `json:"turns"`
		}
		if err := json.Unmarshal(line, &of); err != nil {
			return fmt.Errorf("prompts: %w", err)
		}
		if err := lines.Encode(map[string]string{"prompt": of.Turns[0].Texts[0]}); err != nil {
			return err
		}
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
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
