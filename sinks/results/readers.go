package results

import (
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/sinks/importer"
)

// Reader reads the results of one program.
type Reader struct {
	Name string // of the program
	// Read gives what comparisons need.
	Read func(path string) (*System, error)
	// Runs gives the runs one by one, for programs whose results are no tables of ours;
	// nil for ours, which are read from the tables.
	Runs func(path string) ([]importer.Run, error)
}

// foreign is the reader of what another program wrote.
func foreign(path string) (Reader, error) {
	name, err := importer.Identify(path)
	if err != nil {
		return Reader{}, err
	}
	return Reader{Name: name, Read: readForeign, Runs: foreignRuns}, nil
}

// asTheirs is the reader of a directory of ours by the files of AIPerf's in it, where it
// has such files; else r.
func asTheirs(dir string, r Reader) Reader {
	if other, err := foreign(dir); err == nil {
		return other
	}
	return r
}

// ours reports whether a directory is one of ours, finished or not.
func ours(dir string) bool {
	for _, name := range []string{
		resultdir.LockName, resultdir.Table("cells", "parquet"),
		resultdir.ManifestName, resultdir.JournalName,
	} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
