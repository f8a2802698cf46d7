package main

import (
	"errors"
	"io"
	"os"
	"sync"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
)

// temporaries are files that are gone when the command is over.
type temporaries struct {
	mu    sync.Mutex
	names []string
	over  bool
}

// add takes name, or removes it at once when the command is over.
func (t *temporaries) add(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names = append(t.names, name); t.over {
		_ = os.RemoveAll(name)
	}
}

func (t *temporaries) remove() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	for _, name := range t.names {
		_ = os.RemoveAll(name) // what is left lies where the system tidies up
	}
}

// pipedFile is where flags name the records.
const pipedFile = "benchmark.datasets.main.path"

// readPipes replaces a pipe that flags name as the file of records, as in
// --input-file <(zcat set.jsonl.gz), by a copy of what it says: a pipe can be read once, and
// records are looked at, counted and played.
func (a *app) readPipes(p *argv.Line) error {
	for i := range p.Assigns {
		at := &p.Assigns[i]
		path := at.Value.Text()
		if at.Path != pipedFile || !runner.IsPipe(path) {
			continue
		}
		name, err := a.copied(path)
		if err != nil {
			return &diag.Error{
				Place: "--input-file", Message: path + ": " + err.Error(),
				Hint:  "is there room for a copy of it in " + os.TempDir() + "? (TMPDIR names another place)",
				Cause: err,
			}
		}
		*at = schema.Assign(at.Path, name, at.Origin)
	}
	return nil
}

// copied reads a pipe to its end into a file that lasts as long as the command.
func (a *app) copied(path string) (_ string, err error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.CreateTemp("", "aiperf-input-*.jsonl")
	if err != nil {
		return "", err
	}
	a.temporary.add(out.Name())
	_, err = io.Copy(out, in)
	return out.Name(), errors.Join(err, out.Close())
}
