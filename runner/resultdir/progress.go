package resultdir

import (
	"fmt"
	"path/filepath"
	"slices"

	"aiperf.dev/aiperf/sweep"
)

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
		if ReadJSON(filepath.Join(dir, LockName), &lock) != nil || lock.PlanHash != plan.Hash {
			continue
		}
		if m, err := ReadManifest(dir); err != nil || m.Interrupted {
			return dir
		}
	}
	return ""
}

// Progress counts the runs that dir holds finished, of how many are needed; begun
// is false where no plan was ever begun.
func Progress(dir string) (done, total int, begun bool) {
	var lock sweep.Lock
	if ReadJSON(filepath.Join(dir, LockName), &lock) != nil {
		return 0, 0, false
	}
	events, _, _ := readJournal(filepath.Join(dir, journalName)) // a damaged journal counts for nothing
	done, spared := countDone(events)
	return done, len(lock.Runs) - spared, true
}

// Done counts the runs of plan that dir holds finished, and those that turned out
// not to be needed.
func Done(dir string, plan *sweep.Plan) (done, spared int, err error) {
	var lock sweep.Lock
	if err := ReadJSON(filepath.Join(dir, LockName), &lock); err != nil {
		return 0, 0, fmt.Errorf("no plan there")
	}
	if lock.PlanHash != plan.Hash {
		return 0, 0, fmt.Errorf("holds another plan")
	}
	events, _, err := readJournal(filepath.Join(dir, journalName))
	done, spared = countDone(events)
	return done, spared, err
}

// countDone counts the runs whose last attempt ended well, and those that were
// not needed.
func countDone(events []Event) (done, spared int) {
	for _, e := range Last(events) {
		switch e.Event {
		case "done":
			done++
		case "spared":
			spared++
		}
	}
	return done, spared
}
