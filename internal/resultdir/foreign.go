package resultdir

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A result directory may be one that holds other things already, such as the
// directory of a project. What was there before stays as it is: it is not
// overwritten, not listed in the manifest, and not removed by --overwrite.

// occupied names what is in the way of a plan in a directory without a plan of
// ours: tables that somebody brought there, an experiment of that name.
func occupied(dir string, writes []string) string {
	if holds(dir) != "" {
		return ""
	}
	names := []string{MarkdownName, AnswerName, ViewName, ResolvedName, ReceiptName, RulesName}
	for _, ending := range SourceEndings {
		names = append(names, SourceName+ending)
	}
	names = append(names, LogDir+"/"+LogName, AsideName)
	for _, name := range append(names, writes...) {
		if holdsAny(filepath.Join(dir, filepath.FromSlash(name))) {
			return name
		}
	}
	return ""
}

// strangers are the names that lie in a directory that is about to become a
// result directory.
func strangers(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Name() != lockName {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// beside are the names that were there before the first run.
func beside(events []Event) map[string]bool {
	names := map[string]bool{}
	for _, e := range events {
		for _, name := range e.Beside {
			names[name] = true
		}
	}
	return names
}

// foreign reports whether a path below the result directory, with slashes, is
// somebody else's. The folder of logs may be shared.
func foreign(names map[string]bool, rel string) bool {
	first, _, _ := strings.Cut(rel, "/")
	return names[first] && rel != path.Join(LogDir, LogName)
}

// walk visits what is ours below dir, which may be a link to a directory. rel is
// the path from dir, with slashes.
func walk(dir string, others map[string]bool, visit func(path, rel string, e fs.DirEntry) error) error {
	root := filepath.Clean(dir) + string(filepath.Separator) // a link is followed
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case !foreign(others, rel):
			return visit(path, rel, e)
		case e.IsDir() && rel != LogDir:
			return filepath.SkipDir
		}
		return nil
	})
}
