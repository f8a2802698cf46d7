package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
)

// The files that make a directory a result directory.
const (
	lockName     = "plan.lock.json"
	manifestName = "manifest.json"
	resolvedName = "resolved.json"
	reportName   = "run.json"
	streamName   = "stream.arrow"
)

// DirError says why a result directory cannot be used; nothing was sent.
type DirError struct {
	Dir, Message, Hint string
	Lines              []string // what changed, when a plan differs
}

func (e *DirError) Error() string { return e.Dir + ": " + e.Message }

// resultDir is an open result directory. Close gives its lock back.
type resultDir struct {
	path     string
	lock     *os.File
	journal  *journal
	events   []event
	finished *Manifest // nothing is left to do
}

// openDir creates dir for plan, or opens it again if resume is set. It never
// touches a directory that holds other results, unless overwrite says so.
func openDir(dir string, plan *sweep.Plan, resume, overwrite bool) (_ *resultDir, err error) {
	if overwrite {
		if err := clearResults(dir); err != nil {
			return nil, err
		}
	}
	if held := holds(dir); held != "" && !resume {
		return nil, &DirError{Dir: dir, Message: "holds results already (" + held + ")", Hint: "--resume continues them; another --artifact-dir keeps them"}
	}
	if file := occupied(dir, plan); file != "" {
		return nil, &DirError{Dir: dir, Message: "holds " + file + ", which a run would write", Hint: "name another --artifact-dir"}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, &DirError{Dir: dir, Message: "cannot be made: " + reason(err), Hint: "name a directory you may write to with --artifact-dir"}
	}
	var others []string
	if holds(dir) == "" {
		if others, err = strangers(dir); err != nil {
			return nil, &DirError{Dir: dir, Message: "cannot be read: " + reason(err), Hint: "name another --artifact-dir"}
		}
	}
	d := &resultDir{path: dir}
	if d.lock, err = lockDir(filepath.Join(dir, ".lock")); err != nil {
		hint := "name a directory you may write to with --artifact-dir"
		if errors.Is(err, errLocked) {
			hint = "wait for it to end, or name another --artifact-dir"
		}
		return nil, &DirError{Dir: dir, Message: reason(err), Hint: hint}
	}
	if err := d.checkPlan(plan); err != nil {
		return nil, errors.Join(err, d.unlock())
	}
	if d.journal, d.events, err = openJournal(dir); err != nil {
		return nil, errors.Join(err, d.unlock())
	}
	if len(others) > 0 {
		e := event{Event: "beside", Beside: others}
		if err := d.journal.add(e); err != nil {
			return nil, errors.Join(err, d.close())
		}
		d.events = append(d.events, e)
	}
	if m, err := ReadManifest(dir); err == nil && !m.Interrupted && allDone(d.events) {
		d.finished = &m
		if err := d.checkFinished(); err != nil {
			return nil, errors.Join(err, d.close())
		}
		return d, nil
	}
	return d, removeTemporaries(dir, beside(d.events))
}

// allDone tells whether no run failed: failed runs are tried again on resume.
func allDone(events []event) bool {
	for _, e := range progress(events) {
		if e.Event != "done" {
			return false
		}
	}
	return true
}

// removeTemporaries deletes files that a killed process was writing. The
// directory is locked, so nobody is at it now.
func removeTemporaries(dir string, others map[string]bool) error {
	return walk(dir, others, func(path, _ string, e fs.DirEntry) error {
		if e.IsDir() || !strings.HasPrefix(e.Name(), ".") || !strings.HasSuffix(e.Name(), ".tmp") {
			return nil
		}
		return os.Remove(path)
	})
}

// clearResults removes the finished results that a manifest lists, and nothing
// else. Results without a manifest are somebody's unfinished work.
func clearResults(dir string) error {
	held := holds(dir)
	if held == "" {
		return nil
	}
	m, err := ReadManifest(dir)
	if err != nil {
		return &DirError{Dir: dir, Message: "holds results that are not finished (" + held + "); they are not overwritten", Hint: "--resume finishes them; another --artifact-dir keeps them"}
	}
	// The manifest goes first: what is half removed must not look finished.
	if err := os.Remove(filepath.Join(dir, manifestName)); err != nil {
		return &DirError{Dir: dir, Message: reason(err), Hint: ""}
	}
	for _, f := range m.Files {
		path := filepath.FromSlash(f.Path)
		if !filepath.IsLocal(path) {
			continue // a manifest names only what lies beside it
		}
		if err := os.Remove(filepath.Join(dir, path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &DirError{Dir: dir, Message: reason(err), Hint: ""}
		}
	}
	return nil
}

// holds names the file that shows that dir holds results, "" if none does.
func holds(dir string) string {
	for _, name := range []string{manifestName, lockName, journalName, "profile_export_aiperf.json", "profile_export.jsonl"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return name
		}
	}
	return ""
}

// errLocked is what lockDir says when another process has the lock.
var errLocked = errors.New("another aiperf is writing there")

// checkPlan writes plan.lock.json, or compares the plan with the one there.
func (d *resultDir) checkPlan(plan *sweep.Plan) error {
	path := filepath.Join(d.path, lockName)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return writeJSON(path, plan.Lock())
	}
	if err != nil {
		return err
	}
	var old sweep.Lock
	if err := json.Unmarshal(b, &old); err != nil {
		return &DirError{Dir: d.path, Message: lockName + " cannot be read: " + err.Error(), Hint: "start anew in another --artifact-dir"}
	}
	plan.Adopt(old)
	changed := d.changedGates(plan)
	if now := plan.Lock(); old.PlanHash != now.PlanHash {
		changed = append(sweep.Diff(old, now), changed...)
	}
	if len(changed) > 0 {
		return &DirError{
			Dir: d.path, Message: "the plan is not the one that was begun here", Lines: changed,
			Hint: "run it in another --artifact-dir",
		}
	}
	return nil
}

// changedGates says how the gates differ from those of the experiment that was
// begun. They are no part of the plan's hash: no request depends on them, but
// the exit code does.
func (d *resultDir) changedGates(plan *sweep.Plan) []string {
	var then struct{ Experiment struct{ Gates []string } }
	if err := readJSON(filepath.Join(d.path, resolvedName), &then); err != nil {
		return nil // killed before it was written
	}
	now := plan.Experiment.Gates
	if slices.Equal(then.Experiment.Gates, now) {
		return nil
	}
	return []string{fmt.Sprintf("gates: %q → %q", then.Experiment.Gates, now)}
}

// checkFinished refuses to call damaged results complete.
func (d *resultDir) checkFinished() error {
	if bad := d.finished.Verify(d.path); len(bad) > 0 {
		lines := bad[:min(len(bad), mostDamaged)]
		return &DirError{
			Dir: d.path, Message: fmt.Sprintf("complete, but %d of %d files are not as they were written", len(bad), len(d.finished.Files)),
			Lines: lines, Hint: "bring them back, or run it in another --artifact-dir",
		}
	}
	return nil
}

// mostDamaged is how many damaged files are named one by one.
const mostDamaged = 5

func (d *resultDir) close() error {
	return errors.Join(d.journal.close(), d.unlock())
}

// unlock lets others in and leaves no trace.
func (d *resultDir) unlock() error {
	return errors.Join(os.Remove(d.lock.Name()), d.lock.Close())
}

// setAside moves what an unfinished attempt left into incomplete/, so that
// nothing is overwritten. Only files of that run are moved. Attempt 0 is one
// that the journal does not know.
func (d *resultDir) setAside(run sweep.Run, attempt int) error {
	from := filepath.Join(d.path, run.Dir)
	base := filepath.Join(d.path, "incomplete", fmt.Sprintf("%s-attempt%d", run.ID, attempt))
	to := base
	for i := 2; holdsAny(to); i++ {
		to = fmt.Sprintf("%s-%d", base, i)
	}
	for _, name := range runFiles(run) {
		if _, err := os.Lstat(filepath.Join(from, name)); err != nil {
			continue
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// holdsAny tells whether there is something of that name.
func holdsAny(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// runFiles are what one run may leave in its directory.
func runFiles(run sweep.Run) []string {
	prefix := ""
	if run.Cell != nil && run.Cell.Resolved != nil {
		prefix = run.Cell.Resolved.Benchmark.Artifacts.Prefix
	}
	names, err := sinks.ProfileNames(prefix)
	if err != nil {
		names, _ = sinks.ProfileNames("") // always has an answer
	}
	return append([]string{streamName, reportName, "server_log.jsonl", "phases", sinks.TraceName}, names.All()...)
}

// writeJSON writes v indented, atomically.
func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return atomicfile.Write(path, append(b, '\n'))
}

// reason is the cause without the path, which the message names already.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return strings.TrimSpace(err.Error())
}

// Unfinished is the newest directory that pattern names and that holds this
// plan, begun and not finished; "" if there is none.
func Unfinished(pattern string, plan *sweep.Plan) string {
	dirs, err := filepath.Glob(pattern)
	if err != nil {
		return ""
	}
	slices.Sort(dirs) // names end in a time
	for _, dir := range slices.Backward(dirs) {
		var lock sweep.Lock
		if readJSON(filepath.Join(dir, lockName), &lock) != nil || lock.PlanHash != plan.Hash {
			continue
		}
		if m, err := ReadManifest(dir); err != nil || m.Interrupted {
			return dir
		}
	}
	return ""
}

// Progress counts the runs that dir holds finished, of how many; begun is false
// where no plan was ever begun.
func Progress(dir string) (done, total int, begun bool) {
	var lock sweep.Lock
	if readJSON(filepath.Join(dir, lockName), &lock) != nil {
		return 0, 0, false
	}
	events, _, _ := readJournal(filepath.Join(dir, journalName)) // a damaged journal counts for nothing
	return countDone(events), len(lock.Runs), true
}

// Done counts the runs of plan that dir holds finished.
func Done(dir string, plan *sweep.Plan) (int, error) {
	var lock sweep.Lock
	if err := readJSON(filepath.Join(dir, lockName), &lock); err != nil {
		return 0, fmt.Errorf("no plan there")
	}
	if lock.PlanHash != plan.Hash {
		return 0, fmt.Errorf("holds another plan")
	}
	if m, err := ReadManifest(dir); err == nil && !m.Interrupted {
		return len(plan.Runs), nil
	}
	events, _, err := readJournal(filepath.Join(dir, journalName))
	return countDone(events), err
}

// countDone counts the runs whose last attempt ended well.
func countDone(events []event) int {
	n := 0
	for _, e := range progress(events) {
		if e.Event == "done" {
			n++
		}
	}
	return n
}
