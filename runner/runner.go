// Package runner carries out a plan: run after run, each measured, judged and
// written down before the next begins, so that nothing but the run in progress
// can be lost. In goes a sweep.Plan, out come a result directory and a Result.
// The steps: open the directory (dir.go), measure each run (measure.go, by the room
// onerun), judge it (judge.go, by the room verdict), write its files (files.go), and
// when all are done fold them into tables (finish.go).
package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/search"
	"aiperf.dev/aiperf/sweep/source"
)

// runner is a plan being carried out. It has one goroutine.
type runner struct {
	plan     *sweep.Plan
	opt      Options
	dir      *resultdir.Dir
	servers  *servers
	outlets  *outlets
	loader   *onerun.Loader
	told     []string // what was said of sets before anything was sent
	result   *Result
	at       Step  // where the plan is
	cells    int   // that the lock and the journal know
	sent     int64 // requests so far, for the budget
	written  resultdir.Written
	log      *stepLog
	flips    flips
	hide     *secret.Masker     // of all cells
	headroom map[string]float64 // by cell: capacity ÷ planned, where that was tried
	hits     map[string]float64 // share of the input that a prefix cache would know, by digest of the data
	// neverIdle says that a search waited in vain for the server to have nothing to do.
	neverIdle bool
	moved     movedFiles
	pages     map[string]map[string]telemetry.Family // of servers' pages of metrics: by source, then name
}

// Run carries out plan. issue ends at the first interrupt: the run in progress
// drains and is kept, marked partial; hard ends at the second. A failed run is
// recorded and the rest goes on. The error is about what stopped the plan
// itself: the directory, the disk.
func Run(issue, hard context.Context, plan *sweep.Plan, opt Options) (_ *Result, err error) {
	if err := allowed(plan, &opt); err != nil {
		return nil, err
	}
	if err := allowedPlugins(plan, &opt); err != nil {
		return nil, err
	}
	room, err := headrooms(issue, plan, opt)
	if err != nil {
		return nil, err
	}
	local := &servers{exe: opt.Exe}
	defer func() {
		if stopped := local.stop(); err == nil { // does nothing where they are stopped below
			err = stopped
		}
	}()
	if !opt.Resume {
		if err := await(issue, plan, unflipped(plan), local, &opt); err != nil {
			return nil, err
		}
		if err := reach(issue, plan); err != nil {
			return nil, err
		}
		if err := methods(issue, plan, local); err != nil {
			return nil, err
		}
	}
	out, err := openOutlets(issue, plan, &opt)
	if err != nil {
		return nil, err
	}
	defer out.close(&opt)
	held := sources(plan, opt.SourceName)
	old, within := "", absolute(opt.Dir)
	if opt.MoveAside || opt.Overwrite { // what is there stays until the new run is admitted
		if old, err = resultdir.MoveAside(opt.Dir); err != nil {
			return nil, err
		}
	}
	if old != "" {
		opt.say(opt.Dir + ": the results that were there are now in " + old)
	}
	dir, err := openDir(plan, opt)
	if err != nil {
		return nil, err
	}
	hide := plan.Hide()
	r := &runner{
		headroom: room, plan: plan, opt: masked(opt, hide), hide: hide, dir: dir, loader: onerun.NewLoader(),
		written: resultdir.Written{}, servers: local, outlets: out,
		moved: movedFiles{within, absolute(old)}, pages: map[string]map[string]telemetry.Family{},
		result: &Result{
			Dir: opt.Dir, Plan: plan, Reports: map[string]*RunReport{}, Failures: map[string]error{},
			Began: time.Now(), command: hide.Text(opt.CommandLine),
			defaultISL: slices.ContainsFunc(opt.Origins, lengthByDefault),
		},
	}
	defer func() {
		closing := errors.Join(r.servers.stop(), r.log.close(), dir.Close()) // stopping twice does nothing
		// what went wrong first is told, not what followed from it
		if err == nil {
			err = closing
		}
	}()
	if err := dir.CheckSources(held); err != nil {
		return nil, err
	}
	if dir.Finished != nil {
		r.result.Finished = dir.Finished
		return r.result, nil
	}
	r.cells = len(plan.Cells)
	for _, e := range dir.Events {
		if e.Made != nil {
			r.cells++
		}
	}
	if opt.Resume { // not before it is known that something is left to measure
		if err := await(issue, plan, unflipped(plan), local, &opt); err != nil {
			return nil, err
		}
	}
	if r.log, err = openLog(dir.Path, hide); err != nil {
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
	out.close(&opt)
	if err := r.finish(); err != nil {
		return nil, err
	}
	if opt.Latest != "" { // not before: what reads it is to find results
		resultdir.LeadTo(opt.Dir, opt.Latest)
	}
	r.file(hard, out)
	r.forWandB(out)
	r.exportByPlugins(hard)
	return r.result, r.replace(old)
}

// replace removes the results that were moved aside, when they were to be
// overwritten and this process measured the whole plan.
func (r *runner) replace(old string) error {
	if old == "" || !r.opt.Overwrite || r.result.partial() || !r.result.Measured() {
		return nil
	}
	gone, err := resultdir.Discard(old, r.opt.Dir)
	if gone {
		r.opt.say(old + ": removed, because the new results replace it")
	}
	return err
}

// say tells one line to who listens.
func (o *Options) say(line string) {
	if o.Say != nil {
		o.Say(line)
	}
}

// begin writes down what is about to be done.
func (r *runner) begin(held map[string]string) error {
	if err := r.writeInputs(); err != nil {
		return err
	}
	r.log.say("INFO", "aiperf %s: plan %s of %s: %s", r.opt.Version, r.plan.Hash, r.size(), r.opt.CommandLine)
	return r.dir.Note(resultdir.Event{Event: "begin", Plan: r.plan.Hash, Version: r.opt.Version, Sources: held})
}

// all carries out the runs that the plan's source gives.
func (r *runner) all(issue, hard context.Context) error {
	before := resultdir.Last(r.dir.Events)
	runs := source.Of(r.plan)
	done, err := r.searched(before)
	if err != nil {
		return err
	}
	ask := func() (source.Decision, bool, error) {
		if len(done) > 0 {
			d := done[0]
			done = done[1:]
			return d, true, nil
		}
		return runs.Next(r.result.Outcomes)
	}
	var last *sweep.Run
	over := false
	next, more, err := ask()
	for i := 0; err == nil && more && !over; i++ {
		run, was := next.Run, before[next.Run.ID]
		r.at = Step{Run: run, Index: i, Total: len(r.plan.Runs), Why: next.Why, Stand: next.Standing}
		switch {
		case was.Event == "done" && r.recalled(was):
		case next.Spared:
			r.result.Spared++
			if err := r.decided(next, was); err != nil {
				return err
			}
		default:
			if r.stop(issue) {
				return nil
			}
			unready := r.flip(issue, run)
			if unready == nil {
				r.cooldown(issue, last, run)
				r.idle(issue, last, run)
				if unready = r.beforeRun(issue, last, run); unready != nil && last == nil && issue.Err() == nil {
					return &diag.Error{
						Code: diag.Failed, Message: unready.Error() + "; nothing was measured", Cause: unready,
						Hint: "try the call with curl; --resume goes on when it works",
					}
				}
			}
			if r.stop(issue) {
				return nil
			}
			if err := r.decided(next, was); err != nil {
				return err
			}
			if err := r.introduce(run.Cell); err != nil {
				return err
			}
			if err := r.carryOut(issue, hard, was.Attempt+1, unready); err != nil {
				return err
			}
			if err := r.adapted(); err != nil {
				return err
			}
			r.afterRun(issue, run)
			over = r.ends(issue)
			last = &run
		}
		next, more, err = ask()
	}
	r.result.complete = !more
	if a := source.Found(r.plan, r.result.Outcomes); err == nil && a != nil && a.Outcome == search.Spent {
		r.result.complete, r.result.Stopped = false, "the budget of the search is spent"
	}
	return err
}

// introduce notes the cells that the plan's source made up, before the first run of each.
func (r *runner) introduce(c *sweep.Cell) error {
	for ; r.cells <= c.Index; r.cells++ {
		made := r.plan.Cells[r.cells].Lock()
		if err := r.dir.Note(resultdir.Event{Event: "cell", Made: &made}); err != nil {
			return err
		}
	}
	return nil
}

// recalled takes over a run that an earlier process finished; false where what it left
// is not there any more.
func (r *runner) recalled(was resultdir.Event) bool {
	report, outcome, err := r.recall(r.at.Run, was)
	if err != nil {
		return false
	}
	r.keep(report, outcome)
	r.at.Skipped, r.at.Report, r.at.Outcome = true, report, r.outcome(r.at.Run)
	r.notify(r.at)
	return true
}

// sendings is how often a run is sent at most whose senders are lost on the way.
const sendings = 3

// carryOut makes the run that the plan is at. The error is one after which nothing can
// be kept.
func (r *runner) carryOut(issue, hard context.Context, attempt int, unready error) error {
	r.notify(r.at)
	for left := sendings; ; attempt++ {
		r.at.Report, r.at.Err = r.one(issue, hard, r.at.Run, attempt, unready)
		var senders *onerun.SendersError
		if left--; left == 0 || issue.Err() != nil || !errors.As(r.at.Err, &senders) {
			break
		}
		r.forget(r.at.Run)
		r.opt.say(diag.Line(senders) + "; the run is sent again")
	}
	r.at.Outcome = r.outcome(r.at.Run)
	if lost := (*onerun.LostError)(nil); errors.As(r.at.Err, &lost) {
		return lost.Err // our own disk
	}
	r.notify(r.at)
	return nil
}

// ends tells whether the run that was carried out last is the last one, and why.
func (r *runner) ends(issue context.Context) bool {
	if r.at.Err != nil && r.abort(r.at.Run) {
		r.result.Stopped = "failure_policy: abort"
		return true
	}
	// also after the last run: it was cut short
	return r.at.Report != nil && r.at.Report.Cancelled != "" && r.stop(issue)
}

// decided notes why a run comes next or is not needed, where outcomes decided that: a
// later process and whoever reads the directory then know that nothing is missing.
func (r *runner) decided(d source.Decision, was resultdir.Event) error {
	if d.Why == "" || d.Spared && was.Spared {
		return nil
	}
	what := "comes next"
	if d.Spared {
		what = "is not needed"
	}
	r.log.say("INFO", "run %s (%s, trial %d) %s: %s", d.Run.ID, d.Run.Cell.Label, d.Run.Trial+1, what, d.Why)
	return r.dir.Note(resultdir.Event{
		Event: "decision", Run: d.Run.ID, Attempt: was.Attempt,
		Spared: d.Spared, Why: d.Why, Standing: d.Standing,
	})
}

// size is how many runs the plan has, for the log.
func (r *runner) size() string {
	if n := len(r.plan.Runs); n > 0 {
		return fmt.Sprintf("%d runs", n)
	}
	return "an open number of runs"
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
	r.result.Stopped = "interrupted by Ctrl-C"
	if cause := context.Cause(issue); cause.Error() != os.Interrupt.String() {
		r.result.Stopped = fmt.Sprintf("interrupted (%v)", cause)
	}
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
	pause(issue, wait)
}
