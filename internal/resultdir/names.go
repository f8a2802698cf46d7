// Package resultdir is the one owner of a result directory: what its files are
// called, the plan as it was begun, the append-only journal that makes --resume
// possible, the lock that keeps other processes out, the files that were there
// before, and the manifest that is written last. It knows nothing of what a run
// measures, so that whoever writes results or reads them can stand on it.
//
// Open gives a Dir; Note appends to its journal; WriteManifest completes it; Close
// gives the lock back. Readers ask ReadLock, ReadManifest and Events.
package resultdir

import "strings"

// The files that make a directory a result directory.
const (
	LockName     = "plan.lock.json" // the plan as it was begun
	JournalName  = "journal.jsonl"  // what was decided and done since
	ManifestName = "manifest.json"  // every file; written last
	ResolvedName = "resolved.json"  // every setting with its origin
	SourceName   = "experiment"     // the experiment as it was given, with one of SourceEndings
	MarkdownName = "summary.md"
	AnswerName   = "summary.json" // the same for programs
	AsideName    = "incomplete"   // folder of what unfinished attempts left
	ReceiptName  = "receipt.json" // what each run delivered
	RulesName    = "rules.json"   // how it stands to the rules of others that were asked for
)

// SourceEndings are those of a file that holds an experiment.
var SourceEndings = []string{".cue", ".yaml", ".yml", ".json"}

// The files of one run.
const (
	ReportName = "run.json"     // what the run says of itself
	StreamName = "stream.arrow" // its records, until they are in the tables
)

// ReportsName has what the runs of a plan of several say of themselves, when it is over.
const ReportsName = "runs.json"

// RecordsKept is the archive of what runs were that the tables do not tell: their records
// as they came, and what else AIPerf's files are made of.
const RecordsKept = "records.tar.zst"

// StreamOf is the file of a run that what is sampled over time goes to, until it is in
// its table.
func StreamOf(table string) string { return table + "." + StreamName }

// isStream reports whether a file of this base name is one that tables are made of.
func isStream(base string) bool { return base == StreamName || strings.HasSuffix(base, "."+StreamName) }

// Where the log stands in a result directory, and in that of a run.
const (
	LogDir  = "logs"
	LogName = "aiperf.log"
)

// LiveName is what a running plan says about itself to those who watch. It is gone
// when the plan is over, unless the process was killed.
const LiveName = ".live.json"

// What is made of the tables, a page and pictures. It is made anew whenever
// somebody asks, so that its digest says nothing.
const (
	ViewName = "report.html"
	BothName = "comparison.html" // the page of this directory and others
	PlotsDir = "plots"
	ViewKind = "view"
)

// SummaryName and RecordsName are AIPerf's two files by which its results are known.
const (
	SummaryName = "profile_export_aiperf.json"
	RecordsName = "profile_export.jsonl"
)

// lockName is the file that a process locks while it fills a directory.
const lockName = ".lock"

// Table is the file of a table in one of its formats: parquet, arrow, csv.
func Table(name, format string) string { return name + "." + format }
