package resultdir

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Unfinished is the newest directory that pattern names and that holds the
// plan of this hash, begun and not finished; "" if there is none.
func Unfinished(pattern, hash string) string {
	dirs, err := filepath.Glob(pattern)
	if err != nil {
		return ""
	}
	slices.Sort(dirs) // names end in a time
	for _, dir := range slices.Backward(dirs) {
		if lock, err := ReadLock(dir); err != nil || lock.PlanHash != hash {
			continue
		}
		if m, err := ReadManifest(dir); err != nil || m.Interrupted {
			return dir
		}
	}
	return ""
}

// Progress counts the runs that dir holds finished, of how many are needed, 0 where
// nobody can know; begun is false where no plan was ever begun.
func Progress(dir string) (done, total int, begun bool) {
	lock, err := ReadLock(dir)
	if err != nil {
		return 0, 0, false
	}
	done, spared := countDone(Events(dir))
	return done, max(len(lock.Runs)-spared, 0), true
}

// Done counts the runs that dir holds finished of the plan of this hash, and those that turned out
// not to be needed.
func Done(dir, hash string) (done, spared int, err error) {
	lock, err := ReadLock(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("no plan there")
	}
	if lock.PlanHash != hash {
		return 0, 0, fmt.Errorf("holds another plan")
	}
	events, _, err := readJournal(filepath.Join(dir, JournalName))
	done, spared = countDone(events)
	return done, spared, err
}

// countDone counts the runs whose last attempt ended well, and those that were
// not needed.
func countDone(events []Event) (done, spared int) {
	for _, e := range Last(events) {
		switch {
		case e.Event == "done":
			done++
		case e.Spared:
			spared++
		}
	}
	return done, spared
}
