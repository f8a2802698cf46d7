// Package importer reads the result files that other benchmark clients write, each by
// its content and not by its name. In goes a file or a folder; out comes a Result: who
// wrote it, in which version, what was asked, each figure as the file has it, and the
// single requests where the file keeps them.
//
// Open is the one way in. A tool is a row in Formats and a file of this package. What a
// tool means by a word is a row in definitions.tsv, see Matrix: it decides which of its
// figures carry a tag of ours, and which stay its own.
package importer

import (
	"fmt"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
)

// Result is what the files of one tool say.
type Result struct {
	Path    string // as it was given
	Tool    string // key of its Format: "vllm"
	Name    string // what people call it: "vLLM bench serve"
	Version string // of the tool or of its file's form; "" where the files do not say
	Files   []File // that were read, in order of their names
	Runs    []Run  // by label and trial
	Notes   []string
	Audit   string // file with the audit of the client that it carries, "" for none
}

// File is one of the originals.
type File struct {
	Path   string // from Result.Path, with slashes; "" where Result.Path is the file
	Bytes  int64
	SHA256 string
}

// Run is one run, as its files tell it.
type Run struct {
	Label    string    // of its cell: "concurrency_4", the names of AIPerf's directories; "base" for the only one
	Trial    int       // from 0
	Settings []Setting // what was asked of it, as far as the file says
	Config   []byte    // AIPerf's input_config; nil for others, whose Settings say what was asked
	Figures  []Figure  // as the file has them
	// Stats are those Figures that are also a metric of ours by the definitions, in our
	// units, and those that stay the tool's own, under a tag that begins with its name.
	Stats   []metrics.Stat
	OK      int64  // requests that succeeded, and that failed
	Failed  int64  // by the file
	Err     string // why the run counts for nothing; "" for one that counts
	Version string // of the program
	Model   string
	Began   time.Time // zero where the file does not say
	Closed  bool      // a load that waits for answers
	// Each calls take with the measured requests of the run, in the order of the file; nil
	// where single requests were not kept: then nothing can be recomputed, and there is no
	// distribution to draw.
	Each    func(take func(*Request) error) error
	tool    string
	told    []Setting // what the figures tell, where the meaning of others depends on it
	stepped bool      // percentiles are values that occurred
	rebuilt []string  // metrics that Each works out in another way than the tool does
}

// Sent is how many requests ended, well or not.
func (r *Run) Sent() int64 { return r.OK + r.Failed }

// Setting is one thing that was asked: "concurrency" is "4". The names are those of the
// settings of a benchmark here; one that only the tool has keeps its own.
type Setting struct{ Name, Value string }

// Figure is one number of a file, under the names that the tool has for it.
type Figure struct {
	Key    string  // where it stands: "mean_ttft_ms", "ttft.avg"
	Metric string  // the tool's metric: "ttft"
	Stat   string  // avg, min, max, std, p50, p99, count; "" for the value of a whole run
	Value  float64 // as the file has it
	Scale  float64 // what the file's unit is worth in that of the definitions; 0 is 1
}

// Request is one request. Moments are in ns of any one clock, latencies in ms; NaN is
// not known.
type Request struct {
	Intended, Sent, End     float64
	TTFT, ITL, Latency      float64
	ISL, OSL, UsagePrompt   float64
	Status                  string // ok, error, cancelled
	ErrorKind, ErrorMessage string // of an error
}

// Own is what a reader of this package calls the tool in a sentence.
func (r *Result) Own() string {
	return strings.TrimSpace(r.Name + " " + r.Version)
}

// Recomputable reports whether every run has its single requests.
func (r *Result) Recomputable() bool {
	for i := range r.Runs {
		if r.Runs[i].Each == nil {
			return false
		}
	}
	return true
}

// note adds a remark once.
func (r *Result) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, n := range r.Notes {
		if n == text {
			return
		}
	}
	r.Notes = append(r.Notes, text)
}
