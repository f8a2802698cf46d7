package results

import (
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/resultdir"
)

// Reader knows one kind of result directory.
type Reader struct {
	Name string // the program whose results they are
	// Recognises reports whether dir is of this kind, by the files that lie there.
	Recognises func(dir string) bool
	// Read gives what comparisons need.
	Read func(dir string) (*System, error)
	// Runs gives the runs one by one, for programs whose results are no tables of ours;
	// nil for ours, which are read from the tables.
	Runs func(dir string) ([]Run, error)
}

// Readers are all of them; the first that recognises a directory reads it.
func Readers() []Reader {
	return []Reader{
		{Name: "aiperf", Recognises: ours, Read: readOurs},
		{Name: "AIPerf", Recognises: holdsSummaries, Read: readAIPerf, Runs: aiperfRuns},
	}
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

// Run is one run of another program's, as its files tell it.
type Run struct {
	Label   string // of the cell: the names of its directories; "base" for the only one
	Trial   int    // from 0
	Stats   []metrics.Stat
	Err     string // why the run counts for nothing; "" for one that counts
	Version string // of the program
	Sent    int64  // requests that succeeded and that failed, by the summary
	// Each calls take with the measured requests of the run, in the order of the file;
	// nil where single requests were not kept.
	Each func(take func(*Request) error) error
}

// Request is one request of another program's run. Moments are in ns of any one
// clock, latencies in ms; NaN is not known.
type Request struct {
	Intended, Sent, End     float64
	TTFT, ITL, Latency      float64
	ISL, OSL, UsagePrompt   float64
	Status                  string // ok, error, cancelled
	ErrorKind, ErrorMessage string // of an error
}
