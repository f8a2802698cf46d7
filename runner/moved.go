package runner

import (
	"path/filepath"
	"strings"
)

// movedFiles finds inputs that lay among the results that were moved aside, as
// when inputs.json of the last run is played again into its own directory.
type movedFiles struct{ from, to string } // absolute; to is "" when nothing was moved

// now is where a file is that was found at path before the move.
func (m movedFiles) now(path string) string {
	if m.to == "" || path == "" {
		return path
	}
	rel, err := filepath.Rel(m.from, absolute(path))
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	if there := filepath.Join(m.to, rel); exists(there) {
		return there
	}
	return path
}

// absolute is path from the root, with links followed as far as it exists; "" of
// nothing.
func absolute(path string) string {
	if path == "" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	at, rest := path, ""
	for {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		up := filepath.Dir(at)
		if up == at {
			return path
		}
		at, rest = up, filepath.Join(filepath.Base(at), rest)
	}
}
