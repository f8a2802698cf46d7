// Package bundle seals a finished result directory in one file that can be carried elsewhere,
// and checks such a file. Make copies what figures and verdict rest on, without what tells the
// machine and its owner, states what it is, and packs it; Check reads a bundle, says what holds
// and what does not, and leaves an ordinary result directory behind for those who go on.
package bundle

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/redact"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/rules"
	"aiperf.dev/aiperf/internal/seal"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sinks/importer"
	"aiperf.dev/aiperf/sinks/results"
)

// RedactionName is the file of a bundle that lists what was replaced in it.
const RedactionName = "redaction.json"

// Options say how a directory is sealed.
type Options struct {
	Key     *seal.PrivateKey // nil: unsigned
	Version string           // of this program
	Hide    *secret.Masker   // words that must be in no file
}

// Made is a bundle that was written.
type Made struct {
	Statement *seal.Statement
	Redacted  []redact.Done
	Bytes     int64
	Said      string // what was checked of the directory before
}

// Make seals the result directory dir in the file out. A directory that does not hold against
// itself is refused, and so is a text that looks like a credential.
func Make(dir, out string, opt Options) (*Made, error) {
	m, said, err := sound(dir)
	if err != nil {
		return nil, err
	}
	stage, err := os.MkdirTemp(filepath.Dir(filepath.Clean(out)), ".bundle-*.tmp")
	if err != nil {
		return nil, &diag.Error{Code: diag.Failed, Message: err.Error(), Cause: err}
	}
	defer os.RemoveAll(stage) //nolint:errcheck // copies
	c := &copier{from: dir, to: stage, manifest: m, words: redact.New(), hide: opt.Hide}
	if err := c.all(); err != nil {
		return nil, err
	}
	st, err := state(stage)
	if err != nil {
		return nil, err
	}
	st.Predicate.Tool = opt.Version
	if err := list(st, stage); err != nil {
		return nil, err
	}
	envelope, err := seal.New(st)
	if err != nil {
		return nil, err
	}
	if opt.Key != nil {
		if err := envelope.Sign(opt.Key); err != nil {
			return nil, err
		}
	}
	made := &Made{Statement: st, Redacted: c.words.List(), Said: said}
	made.Bytes, err = write(out, envelope, stage)
	return made, err
}

// sound is the manifest of a directory that may be sealed.
func sound(dir string) (resultdir.Manifest, string, error) {
	refuse := func(why, hint string, more ...string) (resultdir.Manifest, string, error) {
		return resultdir.Manifest{}, "", &diag.Error{Place: dir, Message: why, Hint: hint, More: more}
	}
	if importer.Holds(dir) {
		return refuse("imported results are not sealed: this program did not judge them",
			"pass the original files on, with the tool that wrote them")
	}
	m, err := resultdir.ReadManifest(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return refuse("not a finished result directory: it has no "+resultdir.ManifestName,
			"name a directory that aiperf run or profile has written; --resume finishes one")
	}
	if err != nil {
		return refuse(err.Error(), "the directory is damaged: run the experiment again")
	}
	said, bad, err := results.Recheck(dir)
	if err != nil {
		return m, "", err
	}
	if len(bad) > 0 {
		const most = 5
		more := bad[:min(most, len(bad))]
		if n := len(bad) - len(more); n > 0 {
			more = append(more, fmt.Sprintf("and %d more", n))
		}
		return refuse("not sealed: it is not as it was written", "aiperf validate "+dir, more...)
	}
	return m, said, nil
}

// copier makes the directory that goes into the bundle.
type copier struct {
	from, to string
	manifest resultdir.Manifest
	words    *redact.Redactor
	hide     *secret.Masker
	file     string // that is being copied
	leak     error  // a secret in it, the first
}

// text is a text without the words of the list; one with a secret in it stops everything.
func (c *copier) text(s string) string {
	if c.leak == nil && c.hide.Text(s) != s {
		c.leak = &diag.Error{
			Place: filepath.Join(c.from, c.file), Message: "holds a text that looks like a credential: nothing is sealed",
			Hint: "aiperf masks the secrets that an experiment names; make the credential void, and take the text out where it came from",
		}
	}
	return c.words.Text(s)
}

// documents are the files of JSON that a bundle has, beside those of the runs.
var documents = []string{
	resultdir.LockName, resultdir.ResolvedName, resultdir.JournalName, resultdir.ReportsName,
}

func (c *copier) all() error {
	var texts, tables []string
	for _, f := range c.manifest.Files {
		switch base := path.Base(f.Path); {
		case slices.Contains(documents, f.Path) || base == resultdir.ReportName && f.Kind == "run":
			texts = append(texts, f.Path)
		case f.Kind == "plan": // the experiment as it was given
			texts = append(texts, f.Path)
		case f.Kind == "table" && path.Ext(f.Path) == ".parquet":
			tables = append(tables, strings.TrimSuffix(f.Path, ".parquet"))
		}
	}
	archive := slices.ContainsFunc(c.manifest.Files, func(f resultdir.ManifestFile) bool {
		return f.Path == resultdir.RecordsKept
	})
	if !archive { // then AIPerf's files have the records
		theirs, err := c.theirs()
		if err != nil {
			return err
		}
		texts = append(texts, theirs...)
	}
	if err := c.learn(texts); err != nil {
		return err
	}
	for _, name := range texts {
		if err := c.document(name); err != nil {
			return err
		}
	}
	for _, name := range tables {
		if err := c.table(name); err != nil {
			return err
		}
	}
	if archive {
		if err := c.archive(); err != nil {
			return err
		}
	}
	return c.finish()
}

// theirs are AIPerf's summaries beside records, of a directory that has them.
func (c *copier) theirs() (names []string, err error) {
	dirs, err := aiperf.RecheckDirs(c.from)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		rel, err := filepath.Rel(c.from, dir)
		if err != nil {
			return nil, err
		}
		records, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		if err != nil {
			return nil, err
		}
		var stems []string
		for _, r := range records {
			stems = append(stems, strings.TrimSuffix(filepath.Base(r), ".jsonl"))
		}
		usual, _ := aiperf.ProfileNames("")
		for _, f := range c.manifest.Files {
			base, ext := path.Base(f.Path), path.Ext(f.Path)
			pair := (ext == ".json" || ext == ".jsonl" || ext == ".csv") &&
				slices.Contains(stems, strings.TrimSuffix(base, ext))
			if path.Dir(f.Path) == filepath.ToSlash(rel) && f.Kind == "aiperf" &&
				(pair || base == usual.JSON || base == usual.CSV) {
				names = append(names, f.Path)
			}
		}
	}
	return names, nil
}

// largest bounds a document that is read whole, in bytes.
const largest = 1 << 30

func (c *copier) read(name string) ([]byte, error) {
	f, err := os.Open(filepath.Join(c.from, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err == nil && len(b) > largest {
		err = fmt.Errorf("%s: more than %d MiB", name, largest>>20)
	}
	return b, err
}

// learn reads the documents once before anything is written: a host that stands in the open
// in the first one may be known by its place in the last.
func (c *copier) learn(names []string) error {
	for _, name := range names {
		b, err := c.read(name)
		if err != nil {
			return err
		}
		if isJSON(name) {
			c.words.JSON(b, c.words.Text)
		} else {
			c.words.Text(string(b))
		}
	}
	runs, err := sinks.ReadTable(c.from, "runs", func(string) bool { return false })
	if err != nil {
		return err
	}
	c.words.JSON([]byte(strings.Replace(runs.Meta["aiperf.host"], `"name"`, `"hostname"`, 1)), c.words.Text)
	return nil
}

func isJSON(name string) bool { return strings.HasPrefix(path.Ext(name), ".json") }

// document copies a file of text.
func (c *copier) document(name string) error {
	c.file = name
	b, err := c.read(name)
	if err != nil {
		return err
	}
	if isJSON(name) {
		b = c.words.JSON(b, c.text)
	} else {
		b = []byte(c.text(string(b)))
	}
	if c.leak != nil {
		return c.leak
	}
	return c.put(c.place(name), b)
}

// place is what a file is called in the copy: folders are named after settings.
func (c *copier) place(name string) string {
	if dir := path.Dir(name); dir != "." {
		return path.Join(c.words.Text(dir), path.Base(name))
	}
	return name
}

func (c *copier) put(name string, b []byte) error {
	to := filepath.Join(c.to, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}

// table copies a table. The labels of its samples say what their values are.
func (c *copier) table(name string) error {
	c.file = name + ".parquet"
	err := sinks.RewriteTable(c.from, c.to, name, func(column, s string) string {
		switch {
		case column == "labels" && strings.HasPrefix(s, "{"):
			return string(c.words.JSON([]byte(s), c.text))
		case column == "" && strings.HasPrefix(s, `{"`) && strings.Contains(s, `"name"`): // aiperf.host
			named := c.words.JSON([]byte(strings.Replace(s, `"name"`, `"hostname"`, 1)), c.text)
			return strings.Replace(string(named), `"hostname"`, `"name"`, 1)
		}
		return c.text(s)
	})
	return errors.Join(c.leak, err)
}

// archive copies the records.
func (c *copier) archive() error {
	c.file = resultdir.RecordsKept
	about := func(b []byte) ([]byte, []string, error) {
		kept, err := aiperf.ReadKept(b)
		if err != nil {
			return nil, nil, err
		}
		var folders []string
		for _, run := range kept.Runs {
			folders = append(folders, run.Dir)
		}
		b, err = kept.WithoutPlace().Bytes()
		return c.words.JSON(b, c.text), folders, err
	}
	err := sinks.RewriteArchive(c.from, c.to, about, c.words.Text, c.text)
	return errors.Join(c.leak, err)
}

// finish writes what is made anew of the copy: the list of what was replaced, the receipts, and
// the manifest.
func (c *copier) finish() error {
	if err := resultdir.WriteJSON(filepath.Join(c.to, RedactionName), c.words.List()); err != nil {
		return err
	}
	receipts, err := results.MakeReceipts(c.to)
	if err != nil {
		return err
	}
	b, err := receipts.Bytes()
	if err != nil {
		return err
	}
	if err := c.put(resultdir.ReceiptName, b); err != nil {
		return err
	}
	if err := c.rules(); err != nil {
		return err
	}
	m := c.manifest
	m.Experiment, m.Conclusions = c.text(m.Experiment), nil // sentences are made anew of the tables
	if m.Findings != nil {
		m.Findings = c.words.JSON(m.Findings, c.text)
	}
	if m.Files, err = describe(c.to, m.Files); err != nil {
		return err
	}
	if err := resultdir.WriteJSON(filepath.Join(c.to, resultdir.ManifestName), m); err != nil {
		return err
	}
	_, bad, err := results.Recheck(c.to)
	if err == nil && len(bad) > 0 {
		err = &diag.Error{Code: diag.Failed, Place: c.from, Message: "not sealed: what was redacted is needed: " + bad[0]}
	}
	return errors.Join(c.leak, err)
}

// describe lists the files of the copy, each as what it was.
// rules makes the answer to the rules of others again: what it quotes is redacted, too.
func (c *copier) rules() error {
	had, err := rules.Read(c.from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	made, err := results.RulesAgain(c.to, had)
	if err != nil {
		return err
	}
	b, err := made.Bytes()
	if err != nil {
		return err
	}
	return c.put(resultdir.RulesName, b)
}

func describe(dir string, was []resultdir.ManifestFile) (files []resultdir.ManifestFile, err error) {
	err = eachFile(dir, func(name string) error {
		if name == resultdir.ManifestName {
			return nil
		}
		f := resultdir.ManifestFile{Path: name, Kind: "report"}
		for _, w := range was {
			if w.Path == name || path.Base(w.Path) == path.Base(name) && path.Dir(name) != "." {
				f.Kind, f.Rows = w.Kind, w.Rows
			}
		}
		f.SHA256, f.Bytes, err = resultdir.Digest(filepath.Join(dir, filepath.FromSlash(name)))
		files = append(files, f)
		return err
	})
	return files, err
}

// eachFile visits the files below dir in order, their names with slashes.
func eachFile(dir string, visit func(name string) error) error {
	var names []string
	err := filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, at)
		names = append(names, filepath.ToSlash(rel))
		return err
	})
	slices.Sort(names)
	for i := 0; i < len(names) && err == nil; i++ {
		err = visit(names[i])
	}
	return err
}

// list adds the files to the statement.
func list(st *seal.Statement, dir string) error {
	return eachFile(dir, func(name string) error {
		sum, n, err := resultdir.Digest(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil {
			st.Add(name, sum, n)
		}
		return err
	})
}

// write packs the bundle: whole, or not at all.
func write(out string, e *seal.Envelope, stage string) (int64, error) {
	f, err := atomicfile.Create(out)
	if err != nil {
		return 0, &diag.Error{Code: diag.Failed, Message: err.Error(), Cause: err}
	}
	defer f.Abort()
	n := &counter{w: f}
	if err := errors.Join(seal.Write(n, e, stage), f.Commit()); err != nil {
		return 0, err
	}
	return n.n, nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
