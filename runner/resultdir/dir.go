// Package resultdir keeps what a plan leaves on disk: the lock that keeps other
// processes out, the plan as it was begun, the append-only journal that makes
// --resume possible, the files that were there before, and the manifest that is
// written last. Open gives a Dir; Note appends to its journal; WriteManifest
// completes it; Close gives the lock back.
package resultdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sweep"
)

// The files that make a directory a result directory.
const (
	LockName     = "plan.lock.json"
	ManifestName = "manifest.json"
	ResolvedName = "resolved.json"
	ReportName   = "run.json"
	StreamName   = "stream.arrow"
)

// Where the log stands in a result directory, and in that of a run.
const (
	LogDir  = "logs"
	LogName = "aiperf.log"
)

// refusal says why a result directory cannot be used; nothing was sent. lines
// are what differs, where something does.
func refusal(dir, message, hint string, lines ...string) *diag.Error {
	return &diag.Error{Message: dir + ": " + message, Hint: hint, More: lines}
}

// Dir is an open result directory. Close gives its lock back.
type Dir struct {
	Path     string
	Events   []Event   // of the journal, as it was opened
	Finished *Manifest // set when nothing is left to do
	lock     *os.File
	journal  *journal
}

// Open creates dir for plan, or opens it again if resume is set; the runs in redo
// then count as not done. It never touches a directory that holds other results:
// MoveAside does.
func Open(dir string, plan *sweep.Plan, resume bool, redo ...sweep.Run) (_ *Dir, err error) {
	if held := holds(dir); held != "" && !resume {
		return nil, refusal(dir, "holds results already ("+held+")", "--resume continues them; another --artifact-dir keeps them")
	}
	if file := occupied(dir, plan); file != "" {
		return nil, refusal(dir, "holds "+file+", which a run would write", "name another --artifact-dir")
	}
	if err := makeDir(dir); err != nil {
		return nil, refusal(dir, "cannot be made: "+reason(err), "name a directory you may write to with --artifact-dir")
	}
	var others []string
	if holds(dir) == "" {
		if others, err = strangers(dir); err != nil {
			return nil, refusal(dir, "cannot be read: "+reason(err), "name another --artifact-dir")
		}
	}
	d := &Dir{Path: dir}
	if d.lock, err = lockDir(filepath.Join(dir, lockName)); err != nil {
		return nil, lockRefusal(dir, err)
	}
	if err := d.checkPlan(plan); err != nil {
		return nil, errors.Join(err, d.unlock())
	}
	if d.journal, d.Events, err = openJournal(dir); err != nil {
		return nil, errors.Join(err, d.unlock())
	}
	if len(others) > 0 {
		e := Event{Event: "beside", Beside: others}
		if err := d.journal.add(e); err != nil {
			return nil, errors.Join(err, d.Close())
		}
		d.Events = append(d.Events, e)
	}
	if err := d.redo(plan, redo); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if m, err := ReadManifest(dir); err == nil && !m.Interrupted && allDone(d.Events) {
		d.Finished = &m
		if err := d.checkFinished(); err != nil {
			return nil, errors.Join(err, d.Close())
		}
		return d, nil
	}
	// What a manifest said is about to change: a directory without one is unfinished.
	if err := os.Remove(filepath.Join(dir, ManifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, d.Close())
	}
	return d, removeTemporaries(dir, beside(d.Events))
}

// makeDir makes dir. Where it is a link to a directory that is gone, as when its
// results were moved aside, that one is made.
func makeDir(dir string) error {
	for range 40 { // links to links; the kernel follows no more either
		target, err := os.Readlink(dir)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(dir), target)
		}
		dir = target
	}
	return os.MkdirAll(dir, 0o755)
}

// redo notes the runs of which another attempt shall be made. What the others
// measured must still be there: once a plan is done its runs' streams become
// tables, and cannot be brought together with a new run.
func (d *Dir) redo(plan *sweep.Plan, runs []sweep.Run) error {
	if len(runs) == 0 {
		return nil
	}
	last := Last(d.Events)
	again := map[string]bool{}
	for _, r := range runs {
		again[r.ID] = true
	}
	for _, r := range plan.Runs {
		if again[r.ID] || last[r.ID].Event != "done" || holdsAny(filepath.Join(d.Path, r.Dir, StreamName)) {
			continue
		}
		return refusal(d.Path, "its runs are in the tables already: one alone cannot be measured again", "--keep-streams, when a plan is measured, leaves room for --redo; else run it in another --artifact-dir")
	}
	for _, r := range runs {
		e := Event{Event: "redo", Run: r.ID, Attempt: last[r.ID].Attempt}
		if err := d.journal.add(e); err != nil {
			return err
		}
		d.Events = append(d.Events, e)
	}
	return nil
}

func lockRefusal(dir string, err error) error {
	hint := "name a directory you may write to with --artifact-dir"
	if errors.Is(err, errLocked) {
		hint = "wait for it to end, or name another --artifact-dir"
	}
	return refusal(dir, reason(err), hint)
}

// allDone tells whether no run failed: failed runs are tried again on resume.
func allDone(events []Event) bool {
	for _, e := range Last(events) {
		if e.Event != "done" && e.Event != "spared" {
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

// holds names the file that shows that dir holds results, "" if none does.
func holds(dir string) string {
	for _, name := range []string{ManifestName, LockName, journalName, "profile_export_aiperf.json", "profile_export.jsonl"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return name
		}
	}
	return ""
}

// lockName is the file that a process locks while it fills a directory.
const lockName = ".lock"

// errLocked is what lockDir says when another process has the lock.
var errLocked = errors.New("another aiperf is writing there")

// checkPlan writes plan.lock.json, or compares the plan with the one there.
func (d *Dir) checkPlan(plan *sweep.Plan) error {
	path := filepath.Join(d.Path, LockName)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return WriteJSON(path, plan.Lock())
	}
	if err != nil {
		return err
	}
	var old sweep.Lock
	if err := json.Unmarshal(b, &old); err != nil {
		return refusal(d.Path, LockName+" cannot be read: "+err.Error(), "start anew in another --artifact-dir")
	}
	plan.Adopt(old)
	changed := d.changedGates(plan)
	if now := plan.Lock(); old.PlanHash != now.PlanHash {
		changed = append(sweep.Diff(old, now), changed...)
	}
	if len(changed) > 0 {
		return refusal(d.Path, "the plan is not the one that was begun here", "run it in another --artifact-dir", changed...)
	}
	return nil
}

// changedGates says how the gates differ from those of the experiment that was
// begun. They are no part of the plan's hash: no request depends on them, but
// the exit code does.
func (d *Dir) changedGates(plan *sweep.Plan) []string {
	var then struct{ Experiment struct{ Gates []string } }
	if err := ReadJSON(filepath.Join(d.Path, ResolvedName), &then); err != nil {
		return nil // killed before it was written
	}
	now := plan.Experiment.Gates
	if slices.Equal(then.Experiment.Gates, now) {
		return nil
	}
	return []string{fmt.Sprintf("gates: %q → %q", then.Experiment.Gates, now)}
}

// checkFinished refuses to call damaged results complete.
func (d *Dir) checkFinished() error {
	if bad := d.Finished.Verify(d.Path); len(bad) > 0 {
		lines := bad[:min(len(bad), mostDamaged)]
		return refusal(d.Path, fmt.Sprintf("complete, but %d of %d files are not as they were written", len(bad), len(d.Finished.Files)), "bring them back, or run it in another --artifact-dir", lines...)
	}
	return nil
}

// mostDamaged is how many damaged files are named one by one.
const mostDamaged = 5

// Note appends e to the journal and waits until it is on disk.
func (d *Dir) Note(e Event) error { return d.journal.add(e) }

// Close ends the journal and gives the lock back.
func (d *Dir) Close() error {
	return errors.Join(d.journal.close(), d.unlock())
}

// unlock lets others in and leaves no trace.
func (d *Dir) unlock() error {
	return errors.Join(os.Remove(d.lock.Name()), d.lock.Close())
}

// SetAside moves what an unfinished attempt left into incomplete/, so that
// nothing is overwritten. Only files of that run are moved. Attempt 0 is one
// that the journal does not know.
func (d *Dir) SetAside(run sweep.Run, attempt int) error {
	from := filepath.Join(d.Path, run.Dir)
	base := filepath.Join(d.Path, "incomplete", fmt.Sprintf("%s-attempt%d", run.ID, attempt))
	to := base
	for i := 2; holdsAny(to); i++ {
		to = fmt.Sprintf("%s-%d", base, i)
	}
	for _, name := range runFiles(run) {
		if _, err := os.Lstat(filepath.Join(from, name)); err != nil {
			continue
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(from, name), target); err != nil {
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
	names, err := aiperf.ProfileNames(prefix)
	if err != nil {
		names, _ = aiperf.ProfileNames("") // always has an answer
	}
	return append([]string{StreamName, ReportName, "server_log.jsonl", "phases", aiperf.TraceName}, names.All()...)
}

// reason is the cause without the path, which the message names already.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return strings.TrimSpace(err.Error())
}
