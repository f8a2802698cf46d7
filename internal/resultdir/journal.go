package resultdir

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Event is one line of journal.jsonl: what has been decided or done so far.
// The file is only ever appended to; each line is on disk before the next
// step begins, so a killed program loses at most the run in progress.
type Event struct {
	// beside, begin, start, cell, decision, done, failed, aborted, lost, interrupted, redo, flip, hook, end
	Event   string    `json:"event"`
	Time    time.Time `json:"time"`
	Plan    string    `json:"plan,omitempty"`
	Run     string    `json:"run,omitempty"`
	Cell    string    `json:"cell,omitempty"`  // of start, as Trial
	Trial   int       `json:"trial,omitempty"` // from 0
	Attempt int       `json:"attempt,omitempty"`
	Dir     string    `json:"dir,omitempty"`
	Records int64     `json:"records,omitempty"`
	SHA256  string    `json:"sha256,omitempty"` // of stream.arrow followed by run.json
	Error   string    `json:"error,omitempty"`
	Version string    `json:"version,omitempty"`
	Spared  bool      `json:"spared,omitempty"` // of decision: the run is not needed
	Why     string    `json:"why,omitempty"`    // of decision: what in the outcomes made the plan's source take it
	// Standing, of decision, is what a search knew before the run, and what was left of its budget.
	Standing string    `json:"standing,omitempty"`
	Made     *LockCell `json:"made,omitempty"`  // of cell: one that the plan's source made up
	State    string    `json:"state,omitempty"` // of flip: the cell that the server was brought into its state for; of hook: what it does

	Beside  []string          `json:"beside,omitempty"`  // of beside: names of others that were in the directory before
	Sources map[string]string `json:"sources,omitempty"` // of begin: SHA-256 of the files that hold the requests
}

// journal appends events to DIR/journal.jsonl.
type journal struct{ f *os.File }

// openJournal opens the file for appending and cuts a torn last line, which a
// kill may have left: what it would have said was never acted upon.
func openJournal(dir string) (*journal, []Event, error) {
	path := filepath.Join(dir, JournalName)
	events, whole, err := readJournal(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, err
	}
	if err := f.Truncate(whole); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(whole, 0); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return &journal{f}, events, nil
}

// Events are those of the journal in dir: a damaged one has none.
func Events(dir string) []Event {
	events, _, _ := readJournal(filepath.Join(dir, JournalName))
	return events
}

// readJournal returns the complete lines and how many bytes they take. A
// missing file is an empty journal. A power cut may leave the last line without
// its end or as zeros, so a tail that holds no event is no part of the journal;
// damage before an event is.
func readJournal(path string) (events []Event, whole int64, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	damaged, read, n := 0, int64(0), 0
	for line := range bytes.Lines(b) {
		n++
		read += int64(len(line))
		var e Event
		switch {
		case json.Unmarshal(line, &e) != nil || line[len(line)-1] != '\n':
			damaged = cmp.Or(damaged, n)
		case damaged > 0:
			return nil, 0, refusal(filepath.Dir(path), fmt.Sprintf("%s:%d is damaged", JournalName, damaged),
				"start anew in another --artifact-dir")
		default:
			events, whole = append(events, e), read
		}
	}
	return events, whole, nil
}

// add appends e and waits until it is on disk.
func (j *journal) add(e Event) error {
	e.Time = time.Now().UTC()
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := j.f.Write(append(b, '\n')); err != nil {
		return err
	}
	return j.f.Sync()
}

func (j *journal) close() error { return j.f.Close() }

// settled reports whether nothing is left to do of the run that e is the last event of.
func (e *Event) settled() bool { return e.Event == "done" || e.Spared }

// Begun are the last events of the runs that were begun in dir, in the order in which
// they first were.
func Begun(dir string) ([]Event, error) {
	events, _, err := readJournal(filepath.Join(dir, JournalName))
	last, seen := Last(events), map[string]bool{}
	var out []Event
	for _, e := range events {
		if e.Event == "start" && !seen[e.Run] && (e.Dir == "" || filepath.IsLocal(e.Dir)) {
			seen[e.Run] = true
			run := last[e.Run]
			run.Dir = e.Dir
			out = append(out, run)
		}
	}
	return out, err
}

// Last is what a journal says about each run: its last attempt and how
// that ended ("start" means it did not).
func Last(events []Event) map[string]Event {
	last := map[string]Event{}
	for _, e := range events {
		if e.Run != "" {
			last[e.Run] = e
		}
	}
	return last
}
