// Package trend follows figures over many results. A Store keeps what results said, one
// Parquet file each; Judge finds where a figure moved.
//
// The store is a directory that any number of processes add to at once: a file is there as a
// whole or not at all, no file is ever changed, and a result has one name however often it is
// added. aiperf-trend.json in it says which version wrote it.
package trend

import (
	"bytes"
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

	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks"
)

const (
	markName   = "aiperf-trend.json"
	schemaName = "aiperf.trend"
	schema     = 1
	monthKey   = "month="
	acceptedIn = "accepted"
)

// Store is a directory with results.
type Store struct{ dir string }

// mark is aiperf-trend.json.
type mark struct {
	Schema string `json:"schema"` // aiperf.trend/1
}

// Is reports whether a directory is a store.
func Is(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, markName))
	return err == nil
}

// Open opens a store.
func Open(dir string) (*Store, error) {
	b, err := os.ReadFile(filepath.Join(dir, markName))
	if err != nil {
		return nil, &diag.Error{
			Place: dir, Message: "no store of results: " + reason(err), Hint: "aiperf trend " + dir + " --add RESULT begins one",
		}
	}
	var m mark
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&m); err != nil {
		return nil, refuse(filepath.Join(dir, markName), err.Error(), `restore it: {"schema": "aiperf.trend/1"}`)
	}
	var version int
	if n, err := fmt.Sscanf(m.Schema, schemaName+"/%d", &version); n != 1 || err != nil {
		return nil, refuse(dir, fmt.Sprintf("%s names the schema %q", markName, words.Clip(m.Schema, 40)), "no store of results")
	}
	if version > schema {
		return nil, refuse(dir, fmt.Sprintf("a store of a newer version (%s), this program reads %s/%d", m.Schema, schemaName, schema),
			"take the aiperf that wrote it, or a newer one")
	}
	return &Store{dir}, nil
}

// Create opens a store, and begins one where there is nothing yet.
func Create(dir string) (*Store, error) {
	if Is(dir) {
		return Open(dir)
	}
	others := func(e fs.DirEntry) bool { // than the mark that another process is just writing
		return e.Name() != markName && !strings.HasPrefix(e.Name(), ".")
	}
	if entries, err := os.ReadDir(dir); err == nil && slices.ContainsFunc(entries, others) && !Is(dir) {
		return nil, refuse(dir, "no store of results, and not empty", "name a directory that does not exist yet")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, failed(err)
	}
	b := fmt.Appendf(nil, "{\"schema\": \"%s/%d\"}\n", schemaName, schema)
	if err := atomicfile.Write(filepath.Join(dir, markName), b); err != nil {
		return nil, failed(err)
	}
	return Open(dir)
}

func refuse(place, message, hint string) error {
	return &diag.Error{Place: place, Message: message, Hint: hint}
}

func failed(err error) error { return &diag.Error{Code: diag.Failed, Message: err.Error(), Cause: err} }

// reason is an error without the path, which stands before it.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return err.Error()
}

// Add keeps the rows of a result. Where the store has the result already, with the same words
// about it, nothing is written.
func (s *Store) Add(rows []sinks.HistoryRow, version string, now time.Time) (added bool, err error) {
	at := time.Unix(0, rows[0].Time).UTC()
	path := filepath.Join(s.dir, monthKey+at.Format("2006-01"), at.Format("20060102T150405Z")+"-"+rows[0].Result+".parquet")
	had, err := sinks.ReadHistory(path)
	if err == nil && len(had) == len(rows) && aboutOf(&had[0]) == aboutOf(&rows[0]) {
		return false, nil
	}
	for i := range rows {
		rows[i].Added = now.UnixNano()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, failed(err)
	}
	if err := sinks.WriteHistory(path, version, rows); err != nil {
		return false, failed(err)
	}
	return true, nil
}

// aboutOf is what was said about the result of a row.
func aboutOf(r *sinks.HistoryRow) [4]string {
	return [4]string{r.Result, r.Commit, r.Version, r.Label}
}

// Read reads every result. What cannot be read is left out: a line for each.
func (s *Store) Read() (rs []*Result, left []string, err error) {
	var files []string
	err = filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return failed(err)
		}
		rel, _ := filepath.Rel(s.dir, path)
		in, _, nested := strings.Cut(filepath.ToSlash(rel), "/")
		switch {
		case rel == "." || rel == markName || strings.HasPrefix(e.Name(), "."): // not finished, or none of ours
		case e.IsDir() && (nested || in != acceptedIn && !strings.HasPrefix(in, monthKey)):
			left = append(left, path+": not a folder of the store, left out")
			return fs.SkipDir
		case e.IsDir() || in == acceptedIn:
		case nested && strings.HasSuffix(rel, ".parquet"):
			files = append(files, path)
		default:
			left = append(left, path+": not a file of the store, left out")
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	rows, errs, numbers := make([][]sinks.HistoryRow, len(files)), make([]error, len(files)), make([]int, len(files))
	for i := range numbers {
		numbers[i] = i
	}
	each(numbers, func(i int) { rows[i], errs[i] = sinks.ReadHistory(files[i]) })
	for i, err := range errs {
		switch {
		case errors.Is(err, sinks.ErrDamaged):
			left = append(left, files[i]+": "+sinks.ErrDamaged.Error()+", left out; add the result again")
		case errors.Is(err, sinks.ErrForeign):
			left = append(left, files[i]+": not a file of the store, left out")
		case err != nil:
			left = append(left, files[i]+": "+reason(err)+", left out")
		}
	}
	return fromRows(rows), left, nil
}

// Accepted is a change that somebody knows of: it is no alarm any more.
type Accepted struct {
	Schema string    `json:"schema"` // aiperf.accepted/1
	Result string    `json:"result"` // identity
	Name   string    `json:"name"`   // as it was given: a commit, a date, a version
	Why    string    `json:"why,omitempty"`
	Time   time.Time `json:"time"`
}

// Accept keeps that the changes which may have begun with a result are known.
func (s *Store) Accept(r *Result, name, why string, now time.Time) error {
	b, err := json.MarshalIndent(Accepted{"aiperf.accepted/1", r.ID, name, why, now.UTC()}, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Join(s.dir, acceptedIn)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return failed(err)
	}
	if err := atomicfile.Write(filepath.Join(dir, r.ID+".json"), append(b, '\n')); err != nil {
		return failed(err)
	}
	return nil
}

// ReadAccepted are the changes that are known, by the identity of the result.
func (s *Store) ReadAccepted() (map[string]Accepted, error) {
	names, err := filepath.Glob(filepath.Join(s.dir, acceptedIn, "*.json"))
	if err != nil {
		return nil, err
	}
	out := map[string]Accepted{}
	for _, name := range names {
		var a Accepted
		if err := readSmall(name, &a); err != nil {
			return nil, refuse(name, err.Error(), "remove it, and accept the change again")
		}
		out[a.Result] = a
	}
	return out, nil
}

func readSmall(path string, into any) error {
	const largest = 1 << 20 // bytes
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewDecoder(io.LimitReader(f, largest)).Decode(into)
}

// fromRows puts together what the files say. Of a result that was added twice the last word
// counts.
func fromRows(files [][]sinks.HistoryRow) []*Result {
	byID := map[string]*Result{}
	for _, rows := range files {
		if len(rows) == 0 {
			continue
		}
		first := &rows[0]
		if had := byID[first.Result]; had != nil && had.added >= first.Added {
			continue
		}
		byID[first.Result] = newResult(rows)
	}
	var out []*Result
	for _, r := range byID {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Result) int {
		if c := a.Time.Compare(b.Time); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out
}
