// Package report is what people read: the screen that shows progress, the report
// on a finished plan for the console and as Markdown, and AIPerf's table where a
// script waits for it. It decides nothing: verdicts, estimates and sentences come
// from the stations before it.
package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// Report is what a person is told about a finished plan, in one place for the
// console, Markdown and JSON.
type Report struct {
	Plan       *sweep.Plan
	Results    *decide.Results
	Verdict    validity.Verdict
	Doubts     []Doubt                   // checks that are not clean, worst first
	Touched    map[string]validity.Level // by them: metrics, or single statistics of them ("inter_token_latency.p90")
	Everything bool                      // a check that is not clean touches every number, or none by name
	Spoiled    []string                  // numbers that were asked for and are invalid, with their checks
	Elapsed    time.Duration
	Dir        string
	View       string // file name of the page with charts, "" for none
	Summary    string // file name of AIPerf's summary of a single run
	Stopped    string // why the plan ended early; "" if it did not
	Broken     int    // runs that gave up, or lost their server
	Why        string // the first of them did

	// One run, when the plan is a single one.
	Full, Steady *metrics.Summary
	SteadyFor    time.Duration    // length of the steady window
	Parts        []metrics.Part   // of several targets and models: each
	Taints       validity.Taints  // what findings do to the numbers of the only run
	Missed       map[string]int64 // by SLO: requests that missed it first
	Client       string           // what the client itself used: "client 11 % of 2 cores · lag p99 0.09 ms"
	Asked        string           // what was asked for, where it can be compared: "asked 64"

	Errors     []verdict.ErrorCount // of requests, most frequent first
	Runs       int                  // of the plan; those carried out where it does not list them
	FailedRuns []FailedRun          // of which no number is used, in the order of execution
	Requests   record.Counts        // over all runs
	Notices    []string             // one line each, said once

	marked touched // what is behind the marks that the table of a single run shows
}

// Doubt is one check of the verdict that is not clean, over all runs.
type Doubt struct {
	Verdict            validity.Verdict
	Check, Detail, Try string
	Runs               int // how many say so
}

// WriteConsole prints the report for a terminal: 80 columns, plain text.
func (r *Report) WriteConsole(w io.Writer) error {
	var b strings.Builder
	r.head(&b)
	b.WriteByte('\n')
	if r.Full != nil {
		r.single(&b)
		r.gates(&b)
	} else {
		r.matrix(&b)
	}
	r.problems(&b)
	fmt.Fprintf(&b, "\n%s/   %s\n", r.Dir, r.files())
	_, err := io.WriteString(w, words.Clean(b.String())) // servers' words are in it, and names of directories
	return err
}

// head is the verdict with what it is about.
func (r *Report) head(b *strings.Builder) {
	parts := []string{}
	if r.Full != nil {
		if r.Client != "" {
			parts = append(parts, r.Client)
		}
	} else {
		parts = append(parts, fmt.Sprintf("%s × %s", words.Count(len(r.Plan.Cells), "cell"), words.Count(r.Plan.Trials, "trial")), words.Span(r.Elapsed))
	}
	if n := len(r.Doubts); n > 0 && r.Full == nil {
		parts = append(parts, words.Count(n, "check")+" not clean")
	}
	fmt.Fprintf(b, "%s   %s\n", r.Verdict, strings.Join(parts, " · "))
	if r.Verdict == validity.Invalid && r.Plan.Experiment.AllowInvalid {
		b.WriteString("  allow_invalid is set: the exit code does not tell\n")
	}
	if why := r.Failure(); why != "" {
		wrapped(b, "  ", why)
	}
	for i, d := range r.Doubts {
		if i == maxDoubts {
			fmt.Fprintf(b, "  … and %d more\n", len(r.Doubts)-maxDoubts)
			break
		}
		in := ""
		if d.Runs > 1 {
			in = fmt.Sprintf(" (%d runs)", d.Runs)
		}
		wrapped(b, "  "+d.Verdict.String()+" "+d.Check+": ", d.Detail+in)
		if d.Verdict == validity.Invalid && d.Try != "" {
			wrapped(b, "    try: ", d.Try)
		}
	}
	if holds := r.whatHolds(); holds != "" {
		wrapped(b, "  ", holds)
	}
	for i, s := range r.Spoiled {
		if i == maxDoubts {
			fmt.Fprintf(b, "  … and %d more\n", len(r.Spoiled)-maxDoubts)
			break
		}
		wrapped(b, "  ", s)
	}
	if len(r.Doubts) > 0 {
		fmt.Fprintf(b, "  what to try: aiperf checks %s\n", r.Dir)
	}
	if r.Stopped != "" {
		fmt.Fprintf(b, "PARTIAL: %s; --resume measures the rest\n", r.Stopped)
	}
}

// Failure says that runs gave up, or lost their server, and why; "" where none did.
func (r *Report) Failure() string {
	switch {
	case r.Broken == 0:
		return ""
	case !r.Plan.Several():
		return "the run failed: " + r.Why
	}
	return fmt.Sprintf("%d of %s failed, the first one: %s", r.Broken, words.Count(r.Runs, "run"), r.Why)
}

func (r *Report) files() string {
	files := "summary.md · *.parquet · *.arrow · *.csv"
	if r.Full != nil {
		files = "requests.parquet · "
		if r.Summary != "" {
			files += r.Summary + " · "
		}
		files += resultdir.MarkdownName
	}
	if r.View != "" {
		files = r.View + " · " + files
	}
	return files
}
