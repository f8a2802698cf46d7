package sinks

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// RewriteTable copies a table of the result directory from to the directory to, as Parquet,
// with every text in it replaced, those of its own keys too. column is "" for these.
func RewriteTable(from, to, table string, text func(column, s string) string) (err error) {
	in, file, err := openTable(from, table)
	if err != nil {
		return err
	}
	defer file.Close()
	a, err := CreateArtifact(to, table+".parquet")
	if err != nil {
		return err
	}
	defer a.Abort()
	meta := in.meta()
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		meta[key] = text("", meta[key])
	}
	out, err := newOutput("parquet", a, table, in.fs, meta, newCodec())
	if err != nil {
		return err
	}
	err = in.each(func(b *batch) error {
		for i := range in.fs {
			if in.fs[i].Kind == Text {
				replaceTexts(b.cols[i].texts[:b.n], func(s string) string { return text(in.fs[i].Name, s) })
			}
		}
		return out.write(b)
	})
	if err = errors.Join(err, out.close()); err != nil {
		return fmt.Errorf("%s: %w", file.Name(), err)
	}
	_, err = a.Commit("table", "", 0)
	return err
}

// replaceTexts replaces each of texts, most of which repeat the one before.
func replaceTexts(texts []string, by func(string) string) {
	last, replaced := "", ""
	for i, s := range texts {
		if s == "" {
			continue
		}
		if s != last {
			last, replaced = s, by(s)
		}
		texts[i] = replaced
	}
}

// RewriteArchive copies the archive of records of the result directory from to the directory to.
// about gives what stands beside the records and the folders of the runs as it was, in
// order; folder is what one is called in the copy, and text what stands for a text.
func RewriteArchive(
	from, to string, about func([]byte) (is []byte, folders []string, err error), folder, text func(string) string,
) error {
	a, err := OpenArchive(from)
	if err != nil {
		return err
	}
	defer a.Close()
	is, folders, err := about(a.About)
	if err != nil {
		return fmt.Errorf("%s: %w", a.file.Name(), err)
	}
	tmp, err := os.MkdirTemp(to, ".records-*.tmp")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // copies
	copied := make([]string, len(folders))
	for i, run := range folders {
		journal, err := a.Journal(run, tmp)
		if err != nil {
			return err
		}
		copied[i] = folder(run)
		into := filepath.Join(tmp, "copy", copied[i])
		if err := os.MkdirAll(into, 0o755); err != nil {
			return err
		}
		if err := rewriteJournal(journal, filepath.Join(into, filepath.Base(entryOf(run))), text); err != nil {
			return err
		}
	}
	file, err := WriteArchive(filepath.Join(tmp, "copy"), is, copied)
	if err != nil {
		return err
	}
	return os.Rename(filepath.Join(tmp, "copy", file.Path), filepath.Join(to, file.Path))
}

// rewriteJournal copies a journal with every text of a record replaced.
func rewriteJournal(from, to string, text func(string) string) error {
	cols := inJournal(requestColumns())
	var texts []func(*requestRow) *string
	for _, c := range cols {
		if c.text != nil {
			texts = append(texts, c.text)
		}
	}
	var j *Journal
	_, err := readJournal(from, &pool{}, cols,
		func(m RunMeta) (err error) {
			m.Experiment = text(m.Experiment)
			for _, name := range slices.Sorted(maps.Keys(m.Axes)) {
				if s, ok := m.Axes[name].(string); ok {
					m.Axes[name] = text(s)
				}
			}
			j, err = NewJournal(to, m)
			return err
		},
		func(b *rowBatch) error {
			for i := range b.rows {
				for _, of := range texts {
					if s := of(&b.rows[i]); *s != "" {
						*s = text(*s)
					}
				}
				if err := j.Write(&b.rows[i].Record); err != nil {
					return err
				}
			}
			return nil
		})
	if j == nil {
		return errors.Join(err, errors.New("a run without any record"))
	}
	return errors.Join(err, j.Close())
}
