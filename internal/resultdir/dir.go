package resultdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
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

// Plan is what a directory has to know of the plan that fills it.
type Plan struct {
	Lock Lock
	// Writes are the paths that its runs may write, with slashes, beside what every
	// plan does.
	Writes []string
	// Changed compares it with the plan that was begun in the directory: a line for
	// each thing that differs. nil is the same plan.
	Changed func(begun Lock) []string
}

// Open creates dir for plan, or opens it again if resume is set; the runs whose IDs
// are in redo then count as not done. It never touches a directory that holds other
// results: MoveAside does.
func Open(dir string, plan Plan, resume bool, redo ...string) (_ *Dir, err error) {
	if err := plan.fits(dir, resume); err != nil {
		return nil, err
	}
	if err := makeDir(dir); err != nil {
		return nil, refusal(dir, "cannot be made: "+reason(err),
			"name a directory you may write to with --artifact-dir")
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
	if err := d.redo(redo); err != nil {
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
	for _, name := range []string{ManifestName, ReportsName} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, removeTemporaries(dir, beside(d.Events))
}

// Check refuses what Open would refuse of the files that dir holds, and writes nothing.
func Check(dir string, plan Plan, resume bool) error {
	if err := plan.fits(dir, resume); err != nil {
		return err
	}
	if err := plan.same(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// fits refuses results that nobody wants to continue, and files in the way of new ones.
func (p Plan) fits(dir string, resume bool) error {
	if held := holds(dir); held != "" && !resume {
		return refusal(dir, "holds results already ("+held+")",
			"--resume continues them; another --artifact-dir keeps them")
	}
	if file := occupied(dir, p.Writes); file != "" {
		return refusal(dir, "holds "+file+", which a run would write", "name another --artifact-dir")
	}
	return nil
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

// redo notes the runs of which another attempt shall be made. What the other runs
// measured must still be there: once a plan is done its runs' streams become
// tables, and cannot be brought together with a new run.
func (d *Dir) redo(again []string) error {
	if len(again) == 0 {
		return nil
	}
	last := Last(d.Events)
	for id, e := range last {
		if slices.Contains(again, id) || e.Event != "done" || holdsAny(filepath.Join(d.Path, e.Dir, StreamName)) {
			continue
		}
		return refusal(d.Path, "its runs are in the tables already: one alone cannot be measured again",
			"--keep-streams, when a plan is measured, leaves room for --redo; else run it in another --artifact-dir")
	}
	for _, id := range again {
		e := Event{Event: "redo", Run: id, Attempt: last[id].Attempt}
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

// allDone reports whether no run failed: failed runs are tried again on resume.
func allDone(events []Event) bool {
	for _, e := range Last(events) {
		if !e.settled() {
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
	for _, name := range []string{ManifestName, LockName, JournalName, SummaryName, RecordsName} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return name
		}
	}
	return ""
}

// errLocked is what lockDir says when another process has the lock.
var errLocked = errors.New("another aiperf is writing there")

// checkPlan keeps the plan, or compares it with the one there.
func (d *Dir) checkPlan(plan Plan) error {
	err := plan.same(d.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return WriteJSON(filepath.Join(d.Path, LockName), plan.Lock)
	}
	return err
}

// same compares the plan with the one that was begun in dir; the error is
// fs.ErrNotExist where none was.
func (p Plan) same(dir string) error {
	old, err := ReadLock(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fs.ErrNotExist
	case err != nil:
		return refusal(dir, "cannot be read: "+reason(err), "start anew in another --artifact-dir")
	}
	if old.Schema != LockSchema {
		message := fmt.Sprintf("the plan was begun in the form %q, this program goes on with %q", old.Schema,
			LockSchema)
		return refusal(dir, message, "--resume with the version of aiperf that began it"+
			versionOf(dir)+", or run it in another --artifact-dir")
	}
	if changed := p.Changed(old); len(changed) > 0 {
		hint := "run it in another --artifact-dir"
		if len(changed) == 1 && strings.HasPrefix(changed[0], "trials: ") {
			hint = "run all of them in another --artifact-dir: " +
				"trials added after a look at the results find differences by chance too often"
		}
		return refusal(dir, "this plan is not the one that was started here", hint, changed...)
	}
	return nil
}

// versionOf is the version that began the plan in dir, in parentheses; "" where it does
// not say so.
func versionOf(dir string) string {
	for _, e := range Events(dir) {
		if e.Event == "begin" && e.Version != "" {
			return fmt.Sprintf(" (%q)", e.Version)
		}
	}
	return ""
}

// checkFinished refuses to call damaged results complete.
func (d *Dir) checkFinished() error {
	if bad := d.Finished.Verify(d.Path); len(bad) > 0 {
		lines := bad[:min(len(bad), mostDamaged)]
		return refusal(d.Path, fmt.Sprintf("complete, but %d of %d files are not as they were written", len(bad),
			len(d.Finished.Files)), "bring them back, or run it in another --artifact-dir", lines...)
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

// SetAside moves what an unfinished attempt of a run left into incomplete/, so that
// nothing is overwritten: files are what it may have written, from its folder dir.
// Attempt 0 is one that the journal does not know.
func (d *Dir) SetAside(run, dir string, files []string, attempt int) error {
	base := filepath.Join(d.Path, AsideName, fmt.Sprintf("%s-attempt%d", run, attempt))
	to := base
	for i := 2; holdsAny(to); i++ {
		to = fmt.Sprintf("%s-%d", base, i)
	}
	for _, name := range files {
		from := filepath.Join(d.Path, dir, name)
		if !holdsAny(from) {
			continue
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.Rename(from, target); err != nil {
			return err
		}
	}
	return nil
}

// RemoveEmpty removes the folders of runs in which nothing is left, and those around them.
func (d *Dir) RemoveEmpty(runs []string) {
	folders := map[string]bool{}
	for _, run := range runs {
		for up := filepath.Clean(run); up != "."; up = filepath.Dir(up) {
			folders[up] = true
		}
	}
	removeEmpty(d.Path, folders)
}

// holdsAny reports whether there is something of that name.
func holdsAny(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// reason is the cause without the path, which the message names already.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return strings.TrimSpace(err.Error())
}
