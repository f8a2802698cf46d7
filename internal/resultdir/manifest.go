package resultdir

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/validity"
)

// ManifestSchema names the form of manifest.json.
const ManifestSchema = "aiperf.manifest/1"

// Manifest lists every file of a finished result directory. It is written
// last: a directory without one is not finished.
type Manifest struct {
	Schema      string           `json:"schema"`
	Tool        string           `json:"tool"`
	Experiment  string           `json:"experiment"`
	PlanHash    string           `json:"plan_hash"`
	Verdict     validity.Verdict `json:"verdict"`
	Interrupted bool             `json:"interrupted"` // results are partial
	ExitCode    int              `json:"exit_code"`
	Finished    time.Time        `json:"finished"`
	Conclusions []string         `json:"conclusions,omitempty"` // what the cells and gates show, a sentence each
	Findings    json.RawMessage  `json:"findings,omitempty"`    // about the plan as a whole; a run's are in its report
	Files       []ManifestFile   `json:"files"`
}

// ManifestFile is one of them.
type ManifestFile struct {
	Path   string `json:"path"` // relative, with slashes
	Kind   string `json:"kind"` // table, aiperf, plan, log, …
	Rows   *int64 `json:"rows,omitempty"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Written is what this process has written and described while it wrote it, by
// path. Such files need not be read again.
type Written map[string]Described

// Described is a file's size and digest.
type Described struct {
	Bytes  int64
	SHA256 string
}

// digest is the SHA-256 of a file and its size. A file that has not the size it
// was written with is read.
func (w Written) digest(path string) (string, int64, error) {
	if f, ok := w[path]; ok && f.SHA256 != "" {
		if st, err := os.Stat(path); err == nil && st.Size() == f.Bytes {
			return f.SHA256, f.Bytes, nil
		}
	}
	return Digest(path)
}

// listFiles describes every file of ours below dir except the manifest itself,
// locks, temporary names and what is being written.
func listFiles(dir string, others map[string]bool, rows map[string]int64, known Written) ([]ManifestFile, error) {
	var files []ManifestFile
	folded := holdsAny(filepath.Join(dir, ReportsName)) // the runs' own reports are about to go
	err := walk(dir, others, func(path, rel string, e fs.DirEntry) (err error) {
		if e.IsDir() || rel == ManifestName || rel == LiveName || rel == lockName || strings.HasSuffix(rel, ".tmp") ||
			isStream(e.Name()) || folded && e.Name() == ReportName && !strings.HasPrefix(rel, AsideName+"/") {
			return nil
		}
		f := ManifestFile{Path: rel, Kind: kindOf(rel)}
		if n, ok := rows[rel]; ok {
			f.Rows = &n
		}
		if f.SHA256, f.Bytes, err = known.digest(path); err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	slices.SortFunc(files, func(a, b ManifestFile) int { return strings.Compare(a.Path, b.Path) })
	return files, err
}

func kindOf(rel string) string {
	base := filepath.Base(rel)
	switch {
	case rel == LockName || strings.HasPrefix(rel, SourceName+".") || rel == ResolvedName:
		return "plan"
	case strings.HasPrefix(rel, AsideName+"/"):
		return "incomplete"
	case !strings.Contains(rel, "/") && (strings.HasSuffix(rel, ".parquet") || strings.HasSuffix(rel, ".arrow") ||
		strings.HasSuffix(rel, ".csv") && !strings.HasPrefix(base, "profile_export")):
		return "table"
	case base == ReportName, rel == ReportsName:
		return "run"
	case rel == RecordsKept:
		return "records"
	case rel == ViewName, rel == BothName, strings.HasPrefix(rel, PlotsDir+"/"):
		return ViewKind
	case base == MarkdownName, rel == AnswerName, rel == ReceiptName, rel == RulesName:
		return "report"
	}
	return "aiperf"
}

// Digest is the SHA-256 of a file and its size.
func Digest(path string) (string, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// WriteManifest completes the directory: m with every file that is ours, and
// how many rows a table has.
func (d *Dir) WriteManifest(m Manifest, rows map[string]int64, known Written) (err error) {
	m.Schema = ManifestSchema
	if m.Files, err = listFiles(d.Path, beside(d.Events), rows, known); err != nil {
		return err
	}
	return WriteJSON(filepath.Join(d.Path, ManifestName), m)
}

// ReadManifest reads the manifest of a finished directory.
func ReadManifest(dir string) (Manifest, error) {
	var m Manifest
	b, err := os.ReadFile(filepath.Join(dir, ManifestName))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("%s: %w", filepath.Join(dir, ManifestName), err)
	}
	return m, nil
}

// AddViews lists pictures that were drawn of a finished directory's tables, so
// that they go where its results go: MoveAside and --overwrite take them along.
// Paths that lie elsewhere are left out. A directory that is not finished lists
// what it holds when it is.
func AddViews(dir string, paths []string) error {
	var files []string
	for _, path := range paths {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			files = append(files, rel)
		}
	}
	return add(dir, files, func(string) string { return ViewKind })
}

// AddFiles is AddViews of files that were made later of what the directory keeps; their
// paths are from dir.
func AddFiles(dir string, files []string) error { return add(dir, files, kindOf) }

func add(dir string, files []string, kind func(rel string) string) error {
	m, err := ReadManifest(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, rel := range files {
		rel = filepath.ToSlash(rel)
		f := ManifestFile{Path: rel, Kind: kind(rel)}
		if f.SHA256, f.Bytes, err = Digest(filepath.Join(dir, rel)); err != nil {
			return err
		}
		m.Files = slices.DeleteFunc(m.Files, func(old ManifestFile) bool { return old.Path == f.Path })
		m.Files = append(m.Files, f)
	}
	slices.SortFunc(m.Files, func(a, b ManifestFile) int { return strings.Compare(a.Path, b.Path) })
	return WriteJSON(filepath.Join(dir, ManifestName), m)
}

// Verify compares every file with the manifest and returns what differs.
func (m Manifest) Verify(dir string) []string {
	var bad []string
	for _, f := range m.Files {
		switch sum, n, err := Digest(filepath.Join(dir, filepath.FromSlash(f.Path))); {
		case f.Kind == ViewKind && (err == nil || f.Path != ViewName): // made anew, perhaps, by a later program
		case err != nil:
			bad = append(bad, f.Path+": "+reason(err))
		case n != f.Bytes || sum != f.SHA256:
			bad = append(bad, f.Path+": differs from the manifest")
		}
	}
	return bad
}
