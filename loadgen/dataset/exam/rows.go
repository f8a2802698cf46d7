package exam

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/public"
)

// cells are the columns of one row. The first one that is missing or of the wrong
// kind stays in err, so that a row is read in one go.
type cells struct {
	place string
	f     *files.Fields
	err   error
}

func (c *cells) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%s: "+format, append([]any{c.place}, args...)...)
	}
}

// has reports whether there is such a column, and a value in it.
func (c *cells) has(name string) bool { return c.f.Has(name) }

// into reads a column that must be there.
func (c *cells) into(name string, v any, want string) {
	said, err := c.f.Decode(name, v, want)
	switch {
	case err != nil:
		c.fail("%w", err)
	case !said:
		c.fail("no column %s; there are %s", name, strings.Join(c.f.Names(), ", "))
	}
}

func (c *cells) str(name string) (s string) {
	c.into(name, &s, "a text")
	return s
}

// maybe is a text that may be missing.
func (c *cells) maybe(name string) string {
	if !c.has(name) {
		return ""
	}
	return c.str(name)
}

func (c *cells) strs(name string) (list []string) {
	c.into(name, &list, "a list of texts")
	return list
}

// plain is a text or a number, as Python's str() writes it.
func (c *cells) plain(name string) string {
	var v any
	c.into(name, &v, "a text or a number")
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case nil:
		return ""
	}
	c.fail("%s: want a text or a number", name)
	return ""
}

// choice is the number of a choice among n: said as a number, as its letter, or as a
// text of digits.
func (c *cells) choice(name string, n int) int {
	said := c.plain(name)
	if c.err != nil {
		return 0
	}
	at := -1
	if len(said) == 1 && said[0] >= 'A' && said[0] <= 'Z' {
		at = int(said[0] - 'A')
	} else if _, err := fmt.Sscanf(said, "%d", &at); err != nil {
		at = -1
	}
	if at < 0 || at >= n {
		c.fail("%s: %q is not one of %d choices", name, said, n)
		return 0
	}
	return at
}

// errEnough ends the reading of a split before its end.
var errEnough = errors.New("enough")

// each hands over the rows of a split, up to one for which f returns errEnough.
func (m *maker) each(config, split string, f func(*cells) error) error {
	paths, err := m.paths(config, split)
	if err != nil {
		return err
	}
	n := 0
	err = files.EachOf(paths, func(r files.Record) error {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		n++
		c := &cells{place: r.Place, f: r.Fields}
		if err := f(c); err != nil {
			return err
		}
		return c.err
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	if err == nil && n == 0 {
		err = fmt.Errorf("%s: no records", paths[0])
	}
	return err
}

// paths are the files of a split, or one line that says which are wanted, from where,
// and under which licence.
func (m *maker) paths(config, split string) ([]string, error) {
	paths, err := m.find(m.b.Dataset, config, split)
	if err == nil && len(paths) > 0 {
		return paths, nil
	}
	what := m.b.Dataset
	if config != "" {
		what += ", " + config
	}
	message := fmt.Sprintf("%s: no files of the split %s (%s)", m.b.Name, split, what)
	if err != nil {
		message += ": " + err.Error()
	}
	hint := "the data set is at https://huggingface.co/datasets/" + m.b.Dataset
	hint += " (" + first(m.b.Licence, "its licence is not known here") + ")"
	if m.b.Gated {
		hint += ", whose terms must be accepted there first"
	}
	e := diag.New(message, hint+": hf download --repo-type dataset "+m.b.Dataset+"; or name a folder that holds its files")
	e.Cause = err
	return nil, e
}

// single reports whether one file was named, which holds one split only.
func (m *maker) single() bool {
	st, err := os.Stat(m.o.Path)
	return err == nil && st.Mode().IsRegular()
}

// examples refuses examples that stand in another split than the one file that was
// named.
func (m *maker) examples(split string) error {
	if m.shots == 0 || !m.single() {
		return nil
	}
	return diag.New(fmt.Sprintf("%s: its %d examples stand in the split %s, and %s is one file",
		m.b.Name, m.shots, split, m.o.Path), "name the folder of both splits, or ask for 0 examples")
}

// Set is the published data set that a benchmark's row means.
func Set(dataset, config, split string) public.Set {
	s := public.Set{Name: dataset, Repo: dataset, Subset: config, Split: split}
	if ext := filepath.Ext(config); ext == ".jsonl" || ext == ".parquet" {
		s.Subset, s.File = "", config
	}
	return s
}

// Local finds files on this machine: path itself if it is a file, a data set's folder
// or one that holds data sets by their names; without a path a folder named like the
// data set, then the hub's cache.
func Local(path string) Find {
	return func(dataset, config, split string) ([]string, error) {
		folder := path
		switch named := filepath.Join(path, filepath.FromSlash(dataset)); {
		case isFolder(named):
			folder = named
		case path != "" && holdsSets(path):
			return nil, fmt.Errorf("%s: holds no folder %s", path, dataset)
		}
		s := Set(dataset, config, split)
		at, err := s.Find(folder)
		if other := otherTask(dataset, config, at.Files); err == nil && other != "" {
			return nil, fmt.Errorf("%s: has files of %s, and none of %s", folder, other, config)
		}
		return at.Files, err
	}
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// holdsSets reports whether a folder holds copies of benchmarks' data sets by their names.
func holdsSets(path string) bool {
	return slices.ContainsFunc(catalogue(), func(b benchmark) bool {
		return isFolder(filepath.Join(path, filepath.FromSlash(b.Dataset)))
	})
}

// otherTask is the task whose name stands in the place of a file, where that of config,
// which is a task of the same benchmark, stands in none.
func otherTask(dataset, config string, files []string) string {
	named := func(task string) bool {
		return slices.ContainsFunc(files, func(f string) bool {
			return slices.Contains(strings.Split(filepath.ToSlash(f), "/"), task)
		})
	}
	for _, b := range catalogue() {
		if b.Dataset != dataset || !slices.Contains(b.Tasks, config) || named(config) {
			continue
		}
		if i := slices.IndexFunc(b.Tasks, named); i >= 0 {
			return b.Tasks[i]
		}
	}
	return ""
}
