package resultdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// MoveAside makes room for new results in dir: what it holds goes, as a whole
// and in one step, to DIR.1, or the next number that is free. A mount point, or a
// directory beside which nothing can be made, keeps the old results inside, in
// DIR/previous.1. What lay in dir before the first results stays there. to is ""
// when there was nothing to move. Nothing is removed.
func MoveAside(dir string) (to string, err error) {
	if holds(dir) == "" {
		return "", nil
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", refusal(dir, "cannot be read: "+reason(err), "name another --artifact-dir")
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", err
	}
	lock, err := lockDir(filepath.Join(real, lockName))
	if err != nil {
		return "", lockRefusal(dir, err)
	}
	defer lock.Close()
	others := beside(Events(real))
	moved := false
	if len(others) == 0 && !inUse(real) {
		to, err = moveWhole(real, lock)
		moved = err == nil
	}
	for _, base := range []string{real, filepath.Join(real, previousName)} {
		if !moved {
			to = nextAside(base)
			err = moveEntries(real, to, others)
			moved = err == nil
		}
	}
	if !moved {
		return "", refusal(dir, "its results cannot be moved aside: "+reason(err), "name another --artifact-dir")
	}
	return shownFrom(dir, real, to), nil
}

// previousName is the folder, with a number behind it, that takes old results
// where none can be made beside the directory.
const previousName = "previous"

// shownFrom is the path to as somebody knows it who calls the directory real by
// the name dir, which may be a link.
func shownFrom(dir, real, to string) string {
	rel, err := filepath.Rel(real, to)
	if err != nil {
		return to
	}
	shown := filepath.Join(dir, rel)
	a, errA := os.Stat(shown)
	b, errB := os.Stat(to)
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		return to
	}
	return shown
}

// nextAside is DIR.1, or the next number that is free.
func nextAside(dir string) string {
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.%d", dir, n)
		if !holdsAny(to) {
			return to
		}
	}
}

func moveWhole(dir string, lock *os.File) (string, error) {
	to := nextAside(dir)
	if runtime.GOOS == "windows" { // a folder with an open file cannot be moved there
		_ = lock.Close()
	}
	if err := os.Rename(dir, to); err != nil {
		return "", err
	}
	return to, os.Remove(filepath.Join(to, lockName))
}

// moveEntries moves all of dir but others to the new folder to, or nothing. The
// manifest goes first: what is half moved must not look finished.
func moveEntries(dir, to string, others map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		switch name := e.Name(); {
		case name == lockName:
		case name == LogDir && others[name]:
			names = append(names, filepath.Join(LogDir, LogName)) // the folder is shared
		case !others[name]:
			names = append(names, name)
		}
	}
	if i := slices.Index(names, ManifestName); i > 0 {
		names[0], names[i] = names[i], names[0]
	}
	for i, name := range names {
		target := filepath.Join(to, name)
		err := os.MkdirAll(filepath.Dir(target), 0o755)
		if err == nil {
			err = os.Rename(filepath.Join(dir, name), target)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			moveBack(dir, to, names[:i])
			return err
		}
	}
	return os.Remove(filepath.Join(dir, lockName))
}

// moveBack undoes what moveEntries did before it could not go on.
func moveBack(dir, to string, names []string) {
	for _, name := range slices.Backward(names) {
		_ = os.Rename(filepath.Join(to, name), filepath.Join(dir, name))
	}
	_ = os.Remove(filepath.Join(to, LogDir)) // of a shared folder; one that holds something stays
	_ = os.Remove(to)
}

// inUse reports whether dir is the working directory or lies above it: then it
// keeps its place, and its entries move.
func inUse(dir string) bool {
	here, err := os.Getwd()
	if err != nil {
		return true
	}
	if resolved, err := filepath.EvalSymlinks(here); err == nil {
		here = resolved
	}
	rel, err := filepath.Rel(dir, here)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// Discard removes the results that were moved aside from dir to old, when new
// ones have taken their place: what their manifest lists, and nothing else. What
// else lies there goes back to dir where its name is free, and stays otherwise.
// gone is false when something stays, as when there is no manifest to go by.
func Discard(old, dir string) (gone bool, err error) {
	m, err := ReadManifest(old)
	if err != nil {
		return false, nil //nolint:nilerr // results that were not finished are nobody's to remove
	}
	// The manifest goes first: what is half removed must not look finished.
	if err := os.Remove(filepath.Join(old, ManifestName)); err != nil {
		return false, err
	}
	folders := map[string]bool{}
	for _, f := range m.Files {
		path := filepath.FromSlash(f.Path)
		if !filepath.IsLocal(path) {
			continue // a manifest names only what lies beside it
		}
		if err := os.Remove(filepath.Join(old, path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		for up := filepath.Dir(path); up != "."; up = filepath.Dir(up) {
			folders[up] = true
		}
	}
	removeEmpty(old, folders)
	return putBack(old, dir)
}

// removeEmpty removes the folders that hold nothing any more, the inner ones first.
func removeEmpty(root string, folders map[string]bool) {
	names := make([]string, 0, len(folders))
	for name := range folders {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	for _, name := range names {
		_ = os.Remove(filepath.Join(root, name)) // one that holds something stays
	}
}

func putBack(old, dir string) (gone bool, err error) {
	entries, err := os.ReadDir(old)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if to := filepath.Join(dir, e.Name()); !holdsAny(to) {
			if err := os.Rename(filepath.Join(old, e.Name()), to); err != nil {
				return false, err
			}
		}
	}
	return os.Remove(old) == nil, nil
}
