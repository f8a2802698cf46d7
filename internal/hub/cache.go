// Package hub finds files of models and data sets in the cache that Hugging
// Face's own tools keep, and puts them there when it is allowed to ask the
// network. In goes a repository and a revision, out comes the folder of its
// files. Finding never touches the network; only a Fetcher does.
//
// The layout is that of huggingface_hub: <hub>/datasets--org--name/ holds
// refs/<revision> (a commit), snapshots/<commit>/<files> and blobs/<sha>.
package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Repo is a repository of the hub.
type Repo struct {
	Kind     string // models or datasets
	Name     string // org/name, or name
	Revision string // branch, tag or commit; "" is main, or what there is
}

// String is the repository as a person would look for it.
func (r Repo) String() string {
	if r.Revision == "" || r.Revision == main {
		return r.Name
	}
	return r.Name + "@" + r.Revision
}

const main = "main"

// Folders are the caches Hugging Face's own tools would use, in their order.
func Folders() []string {
	for _, name := range []string{"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"} {
		if dir := os.Getenv(name); dir != "" {
			return []string{dir}
		}
	}
	if dir := os.Getenv("HF_HOME"); dir != "" {
		return []string{filepath.Join(dir, "hub")}
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		cache = filepath.Join(home, ".cache")
	}
	return []string{filepath.Join(cache, "huggingface", "hub")}
}

// Offline reports whether the environment forbids asking the hub.
func Offline() bool {
	for _, name := range []string{"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"} {
		if v := strings.ToLower(os.Getenv(name)); v == "1" || v == "true" || v == "yes" || v == "on" {
			return true
		}
	}
	return false
}

// Folder is the repository's own folder in a cache.
func (r Repo) Folder(cache string) string {
	return filepath.Join(cache, r.Kind+"--"+strings.ReplaceAll(r.Name, "/", "--"))
}

// Snapshot is a commit of a repository whose files, or some of them, are here.
type Snapshot struct {
	Dir    string
	Commit string
}

// ErrMissing says that no cache has the repository at that revision.
var ErrMissing = errors.New("not in the cache")

// Find is the snapshot of the revision: the commit that refs/<revision> names,
// or the revision itself where it is a commit. Where no revision was said and
// there is no refs/main, it is the snapshot most recently written.
func (r Repo) Find() (Snapshot, error) {
	if err := r.check(); err != nil {
		return Snapshot{}, err
	}
	var looked []string
	for _, cache := range Folders() {
		dir := r.Folder(cache)
		looked = append(looked, dir)
		if s, ok := r.in(dir); ok {
			return s, nil
		}
		if have := revisions(dir); r.Revision != "" && len(have) > 0 {
			return Snapshot{}, fmt.Errorf("%s: %w: revision %s; there are %s", r.Name,
				ErrMissing, r.Revision, strings.Join(have, ", "))
		}
	}
	return Snapshot{}, fmt.Errorf("%s: %w; looked in %s", r, ErrMissing, strings.Join(looked, ", "))
}

var (
	names   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$`)
	commits = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// check refuses names that are none: they become paths and addresses.
func (r Repo) check() error {
	if !names.MatchString(r.Name) || strings.Contains(r.Name, "..") || strings.Contains(r.Name, "--") {
		return fmt.Errorf("%q is not the name of a repository (org/name)", r.Name)
	}
	if r.Revision != "" && (!filepath.IsLocal(filepath.FromSlash(r.Revision)) ||
		strings.ContainsAny(r.Revision, "\\?#% \t\r\n\x00")) {
		return fmt.Errorf("%q is not a revision", r.Revision)
	}
	return nil
}

func (r Repo) in(dir string) (Snapshot, bool) {
	want := r.Revision
	if want == "" {
		want = main
	}
	if ref, err := os.ReadFile(filepath.Join(dir, "refs", filepath.FromSlash(want))); err == nil {
		want = filepath.Base(strings.TrimSpace(string(ref)))
	}
	at := filepath.Join(dir, "snapshots", want)
	if st, err := os.Stat(at); err == nil && st.IsDir() && want != "." {
		return Snapshot{at, want}, true
	}
	if r.Revision != "" && r.Revision != main {
		return Snapshot{}, false
	}
	return newest(dir)
}

// newest is the snapshot most recently written.
func newest(dir string) (s Snapshot, ok bool) {
	list, err := os.ReadDir(filepath.Join(dir, "snapshots"))
	if err != nil {
		return s, false
	}
	last := int64(0)
	for _, e := range list {
		info, err := e.Info()
		if at := int64(0); err == nil && e.IsDir() {
			if at = info.ModTime().UnixNano(); !ok || at > last {
				s, ok, last = Snapshot{filepath.Join(dir, "snapshots", e.Name()), e.Name()}, true, at
			}
		}
	}
	return s, ok
}

// revisions are the names under refs/ that a cached repository has.
func revisions(dir string) (have []string) {
	root := filepath.Join(dir, "refs")
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if rel, err := filepath.Rel(root, path); err == nil {
				have = append(have, filepath.ToSlash(rel))
			}
		}
		return nil
	})
	return have
}

// Files are the paths of all files of a snapshot or another folder, with
// slashes, sorted; links to blobs are files.
func Files(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := os.Stat(path)
		if err != nil || !st.Mode().IsRegular() {
			return nil // a link whose blob is gone is no file
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil && !strings.HasSuffix(path, incomplete) {
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	slices.Sort(out)
	return out, err
}
