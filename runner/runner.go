// Package runner carries out a plan: run after run, each measured, judged and
// written down before the next begins, so that nothing but the run in progress
// can be lost. In goes a sweep.Plan, out come a result directory and a Result.
// The steps: open the directory (dir.go), measure each run (measure.go), judge
// it (evidence.go, checks.go), write its files (files.go), and when all are
// done fold them into tables (finish.go).
package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/sweep"
)

// Options are what the plan does not say.
type Options struct {
	Dir         string // result directory
	Resume      bool   // continue what was begun in Dir
	Overwrite   bool   // remove finished results that Dir holds
	Source      []byte // the experiment as given, nil for flags
	SourceName  string // its file name
	CommandLine string // as typed, secrets masked
	Exe         string // this program, to start the built-in server from
	Version     string
	// AllowInvalid carries out a plan that this machine cannot drive, too.
	AllowInvalid bool
	Origins      []string // every setting with its origin, for resolved.json
	// Live takes the engine's snapshots of the run in progress, about twice a second.
	Live func(loadgen.Snapshot)
	// Notify, if set, is told before each run and after it.
	Notify func(Step)
}

// Step is where the plan is.
type Step struct {
	Run     sweep.Run
	Index   int // of the run in the plan's order
	Total   int
	Skipped bool       // done before, by an earlier process
	Report  *RunReport // nil before the run
	Err     error
}

// Result is what a plan gave.
type Result struct {
	Dir          string
	Plan         *sweep.Plan
	Outcomes     []sweep.Outcome
	Results      *sweep.Results
	Reports      map[string]*RunReport // by run ID
	PlanFindings []Finding
	Verdict      Verdict
	Interrupted  bool
	Finished     *Manifest // the directory was complete before; nothing else is set then
	Stopped      string    // why the plan ended before its last run, "" if it did not
	Began        time.Time
	Elapsed      time.Duration
}

// runner is a plan being carried out. It has one goroutine.
type runner struct {
	plan       *sweep.Plan
	opt        Options
	dir        *resultDir
	servers    servers
	datasets   datasets
	tokenizers tokenizers
	result     *Result
	sent       int64 // requests so far, for the budget
	written    written
	log        *stepLog
	headroom   map[string]float64 // by cell: capacity ÷ planned, where that was tried
}

// Run carries out plan. issue ends at the first interrupt: the run in progress
// drains and is kept, marked partial; hard ends at the second. A failed run is
// recorded and the rest goes on. The error is about what stopped the plan
// itself: the directory, the disk.
func Run(issue, hard context.Context, plan *sweep.Plan, opt Options) (_ *Result, err error) {
	room, err := headrooms(issue, plan, opt)
	if err != nil {
		return nil, err
	}
	dir, err := openDir(opt.Dir, plan, opt.Resume, opt.Overwrite)
	if err != nil {
		return nil, err
	}
	r := &runner{
		headroom: room, plan: plan, opt: secretsOf(plan).masked(opt), dir: dir, tokenizers: tokenizers{}, written: written{}, servers: servers{exe: opt.Exe},
		result: &Result{Dir: opt.Dir, Plan: plan, Reports: map[string]*RunReport{}, Began: time.Now()},
	}
	defer func() {
		closing := errors.Join(r.servers.stop(), r.log.close(), dir.close()) // stopping twice does nothing
		if err == nil {                                                      // what went wrong first is told, not what followed from it
			err = closing
		}
	}()
	held := sources(plan, opt.SourceName)
	if err := dir.checkSources(held); err != nil {
		return nil, err
	}
	if dir.finished != nil {
		r.result.Finished = dir.finished
		return r.result, nil
	}
	if r.log, err = openLog(dir.path); err != nil {
		return nil, err
	}
	if err := r.begin(held); err != nil {
		return nil, err
	}
	if err := r.all(issue, hard); err != nil {
		return nil, err
	}
	if err := r.servers.stop(); err != nil { // their logs are complete before the manifest lists them
		return nil, err
	}
	r.result.Elapsed = time.Since(r.result.Began)
	return r.result, r.finish()
}

// begin writes down what is about to be done.
func (r *runner) begin(held map[string]string) error {
	if err := r.writeInputs(); err != nil {
		return err
	}
	r.log.say("INFO", "aiperf %s: plan %s of %d runs: %s", r.opt.Version, r.plan.Hash, len(r.plan.Runs), r.opt.CommandLine)
	return r.dir.journal.add(event{Event: "begin", Plan: r.plan.Hash, Version: r.opt.Version, Sources: held})
}

// all goes through the plan's runs in order.
func (r *runner) all(issue, hard context.Context) error {
	before := progress(r.dir.events)
	var last *sweep.Run
	for i, run := range r.plan.Runs {
		step := Step{Run: run, Index: i, Total: len(r.plan.Runs)}
		if was := before[run.ID]; was.Event == "done" {
			if report, outcome, err := r.recall(run, was); err == nil {
				r.keep(report, outcome)
				step.Skipped, step.Report = true, report
				r.notify(step)
				continue
			}
		}
		if r.stop(issue) {
			break
		}
		r.cooldown(issue, last, run)
		if r.stop(issue) {
			break
		}
		r.notify(step)
		step.Report, step.Err = r.one(issue, hard, run, before[run.ID].Attempt+1)
		var lost *lostError
		if errors.As(step.Err, &lost) {
			return lost.err // our own disk: nothing that follows could be kept
		}
		r.notify(step)
		if step.Err != nil && r.abort(run) {
			r.result.Stopped = "failure_policy: abort"
			break
		}
		if step.Report != nil && step.Report.Cancelled != "" && r.stop(issue) {
			break // also after the last run: it was cut short
		}
		last = &r.plan.Runs[i]
	}
	return nil
}

// stop tells whether no further run may begin, and why.
func (r *runner) stop(issue context.Context) bool {
	if issue.Err() != nil {
		r.interrupted(issue)
		return true
	}
	if b := r.plan.Experiment.Budget; b != nil {
		switch {
		case b.Time != nil && time.Since(r.result.Began) >= b.Time.Go():
			r.result.Stopped = "the time budget is spent"
		case b.Requests != nil && r.sent >= *b.Requests:
			r.result.Stopped = "the request budget is spent"
		}
	}
	return r.result.Stopped != ""
}

// interrupted notes that a signal ended the plan.
func (r *runner) interrupted(issue context.Context) {
	r.result.Interrupted = true
	r.result.Stopped = fmt.Sprintf("interrupted (%v)", context.Cause(issue))
}

func (r *runner) abort(run sweep.Run) bool {
	return run.Cell.Resolved.Benchmark.FailurePolicy == "abort"
}

// cooldown waits between neighbours: the trial's cooldown where the cell stays
// the same, the sweep's where it changes.
func (r *runner) cooldown(issue context.Context, last *sweep.Run, next sweep.Run) {
	if last == nil {
		return
	}
	wait := r.plan.Cooldown(*last, next)
	if wait <= 0 {
		return
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-issue.Done():
	}
}

// one measures, judges and writes down one run. A failure of the run is in the
// outcome and returned; *lostError means that results could not be written.
func (r *runner) one(issue, hard context.Context, run sweep.Run, attempt int) (*RunReport, error) {
	if err := r.dir.setAside(run, attempt-1); err != nil {
		return nil, &lostError{err}
	}
	if err := r.dir.journal.add(event{Event: "start", Run: run.ID, Attempt: attempt, Dir: run.Dir}); err != nil {
		return nil, &lostError{err}
	}
	logged, err := r.runStarts(run, attempt)
	if err != nil {
		return nil, &lostError{err}
	}
	defer logged()
	report, outcome, err := r.perform(issue, hard, run, attempt)
	if err != nil {
		r.log.say("ERROR", "run %s: %v", run.ID, err)
		var lost *lostError
		if errors.As(err, &lost) {
			return nil, err
		}
		if issue.Err() != nil { // before its first request: not a failure of the run
			r.interrupted(issue)
			return nil, r.note(event{Event: "interrupted", Run: run.ID, Attempt: attempt})
		}
		r.keep(nil, sweep.Outcome{Run: run, Err: err.Error()})
		return nil, errors.Join(err, r.note(event{Event: "failed", Run: run.ID, Attempt: attempt, Error: err.Error()}))
	}
	r.keep(report, *outcome)
	done := event{Event: "done", Run: run.ID, Attempt: attempt, Dir: run.Dir, Records: outcome.Records}
	if report.Cancelled != "" {
		done.Event = "interrupted" // kept, shown as partial, measured again on resume
		if issue.Err() != nil {
			r.interrupted(issue)
		}
	} else if done.SHA256, err = r.seal(run); err != nil {
		return report, &lostError{err}
	}
	return report, r.note(done)
}

func (r *runner) note(e event) error {
	if err := r.dir.journal.add(e); err != nil {
		return &lostError{err}
	}
	return nil
}

// perform is the measuring itself and the writing of the run's own files.
func (r *runner) perform(issue, hard context.Context, run sweep.Run, attempt int) (*RunReport, *sweep.Outcome, error) {
	m, err := r.prepare(hard, run)
	if err != nil {
		return nil, nil, err
	}
	dir, err := r.runDir(run)
	if err != nil {
		return nil, nil, &lostError{err}
	}
	got, err := r.measure(issue, hard, m, filepath.Join(dir, streamName))
	if err != nil {
		return nil, nil, err
	}
	defer thrift()()
	report := r.describe(m, got, attempt)
	if err := r.writePrompts(m); err != nil {
		return nil, nil, &lostError{err}
	}
	read, err := r.read(m, report, got)
	if err != nil {
		return nil, nil, &lostError{err}
	}
	r.judge(report, read.evidence)
	o := outcome(run, report, read.summaries)
	o.Records = read.evidence.Journaled
	r.sent += got.emitted
	r.runEnded(report)
	read.evidence = nil // its samples make room
	if err := r.writeRun(m, report, &read.summaries[0]); err != nil {
		return nil, nil, &lostError{err}
	}
	return report, &o, nil
}

// keep adds a run to the result.
func (r *runner) keep(report *RunReport, o sweep.Outcome) {
	r.result.Outcomes = append(r.result.Outcomes, o)
	if report != nil {
		r.result.Reports[o.Run.ID] = report
	}
}

func (r *runner) notify(s Step) {
	if r.opt.Notify != nil {
		r.opt.Notify(s)
	}
}

// lostError says that results could not be written: nothing may follow.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }
