package resultdir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/atomicfile"
)

// Reports reads what the runs of a directory say of themselves: each from its own folder
// while the plan goes on, and from one file when a plan of several is over. It belongs to
// one goroutine.
type Reports struct {
	dir  string
	kept map[string]json.RawMessage // by run; nil before they are asked for
}

// ReportsOf reads those of dir.
func ReportsOf(dir string) *Reports { return &Reports{dir: dir} }

// Read reads the report of a run into v; folder is that of the run in the directory.
func (r *Reports) Read(run, folder string, v any) error {
	err := ReadJSON(filepath.Join(r.dir, folder, ReportName), v)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if r.kept == nil {
		var all []json.RawMessage
		if err := ReadJSON(filepath.Join(r.dir, ReportsName), &all); err != nil {
			return err
		}
		r.kept = map[string]json.RawMessage{}
		for _, text := range all {
			var one struct{ Run string }
			if err := json.Unmarshal(text, &one); err != nil {
				return fmt.Errorf("%s: %w", filepath.Join(r.dir, ReportsName), err)
			}
			r.kept[one.Run] = text
		}
	}
	text, there := r.kept[run]
	if !there {
		return fmt.Errorf("%s: run %s: %w", filepath.Join(r.dir, ReportsName), run, fs.ErrNotExist)
	}
	return json.Unmarshal(text, v)
}

// FoldReports writes the reports of the runs in these folders into one file, a line each, of
// each what kept leaves of it. From then on their own files are not listed.
func (d *Dir) FoldReports(folders []string, kept func(report []byte) ([]byte, error)) error {
	var b bytes.Buffer
	sep := "[\n"
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(d.Path, folder, ReportName))
		if err != nil {
			return err
		}
		if text, err = kept(text); err == nil {
			b.WriteString(sep)
			err = json.Compact(&b, text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(folder, ReportName), err)
		}
		sep = ",\n"
	}
	b.WriteString("\n]\n")
	return atomicfile.Write(filepath.Join(d.Path, ReportsName), b.Bytes())
}
