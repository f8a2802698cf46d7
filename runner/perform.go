package runner

import (
	"context"
	"errors"
	"runtime/debug"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/gclimit"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// one measures, judges and writes down one run, unless unready says why that
// cannot be done. A failure of the run is in the outcome and returned; *onerun.LostError
// means that results could not be written.
func (r *runner) one(issue, hard context.Context, run sweep.Run, attempt int, unready error) (*RunReport, error) {
	if err := r.dir.SetAside(run.ID, run.Dir, runFiles(run), attempt-1); err != nil {
		return nil, &onerun.LostError{Err: err}
	}
	if err := r.dir.Note(resultdir.Event{
		Event: "start", Run: run.ID, Cell: run.Cell.ID, Trial: run.Trial,
		Attempt: attempt, Dir: run.Dir,
	}); err != nil {
		return nil, &onerun.LostError{Err: err}
	}
	logged, err := r.runStarts(run, attempt)
	if err != nil {
		return nil, &onerun.LostError{Err: err}
	}
	defer logged()
	report, outcome, err := r.perform(issue, hard, run, attempt, unready)
	if err != nil {
		r.log.say("ERROR", "run %s: %v", run.ID, err)
		var lost *onerun.LostError
		if errors.As(err, &lost) {
			return nil, err
		}
		if issue.Err() != nil { // before its first request: not a failure of the run
			r.interrupted(issue)
			return nil, r.note(resultdir.Event{Event: "interrupted", Run: run.ID, Attempt: attempt})
		}
		r.keep(nil, decide.Outcome{Run: run, Err: diag.Line(err), Gone: true})
		r.result.Failures[run.ID] = err
		failed := resultdir.Event{Event: "failed", Run: run.ID, Attempt: attempt, Error: diag.Line(err)}
		if errors.As(err, new(*flipError)) || errors.As(err, new(*hookError)) {
			failed.Event = "aborted"
		}
		return nil, errors.Join(err, r.note(failed))
	}
	if report.Cancelled == loadgen.Interrupted && r.plan.Several() { // a plan of one run shows what it has
		outcome.Interrupted, outcome.Err = true, "interrupted after "+words.Count(outcome.Sent, "request")
	}
	r.keep(report, *outcome)
	done := resultdir.Event{Event: "done", Run: run.ID, Attempt: attempt, Dir: run.Dir, Records: outcome.Records}
	switch {
	case report.Lost != "":
		done.Event, done.Error = "lost", report.Lost // kept, in no average, measured again on resume
	case report.Aborted != "":
		done.Event, done.Error = "aborted", report.Aborted // kept, in no average, measured again on resume
	case report.Cancelled != "":
		done.Event = "interrupted" // kept, in no average, measured again on resume
		if issue.Err() != nil {
			r.interrupted(issue)
		}
	default:
		if done.SHA256, err = r.seal(run, report.records); err != nil {
			return report, &onerun.LostError{Err: err}
		}
	}
	return report, r.note(done)
}

func (r *runner) note(e resultdir.Event) error {
	e.Error = r.hide.Text(e.Error)
	if err := r.dir.Note(e); err != nil {
		return &onerun.LostError{Err: err}
	}
	return nil
}

// perform is the measuring itself and the writing of the run's own files.
func (r *runner) perform(
	issue, hard context.Context, run sweep.Run, attempt int, unready error,
) (*RunReport, *decide.Outcome, error) {
	if unready != nil {
		return nil, nil, unready
	}
	m, err := r.measure(issue, hard, run)
	if err != nil {
		return nil, nil, err
	}
	defer m.Close()
	defer gclimit.Writing()()
	if m.Emitted > manyRequests {
		debug.FreeOSMemory() // what piled up meanwhile: the statistics need the room
	}
	report := r.describe(m, attempt)
	if err := r.writePrompts(m); err != nil { // which lets the set go
		return nil, nil, &onerun.LostError{Err: err}
	}
	read, err := r.read(m, report)
	if err != nil {
		return nil, nil, &onerun.LostError{Err: err}
	}
	r.askPlugins(hard, run, report)
	r.judge(report, read)
	o := outcome(run, report, read)
	o.Records = read.evidence.Journaled
	r.sent += m.Emitted
	r.runEnded(report)
	read.evidence = nil // its samples make room
	if err := r.writeRun(m, report, read); err != nil {
		return nil, nil, &onerun.LostError{Err: err}
	}
	return report, &o, nil
}

// keep adds a run to the result.
func (r *runner) keep(report *RunReport, o decide.Outcome) {
	o.Why = r.at.Why
	r.result.Outcomes = append(r.result.Outcomes, o)
	if report != nil {
		r.result.Reports[o.Run.ID] = report
	}
}

// forget drops what was kept last of a run that is carried out again.
func (r *runner) forget(run sweep.Run) {
	delete(r.result.Failures, run.ID)
	if n := len(r.result.Outcomes); n > 0 && r.result.Outcomes[n-1].Run.ID == run.ID {
		r.result.Outcomes = r.result.Outcomes[:n-1]
	}
}

// outcome is what a run that was just kept has found, nil for none.
func (r *runner) outcome(run sweep.Run) *decide.Outcome {
	for i := len(r.result.Outcomes) - 1; i >= 0; i-- {
		if o := &r.result.Outcomes[i]; o.Run.ID == run.ID {
			return o
		}
	}
	return nil
}

func (r *runner) notify(s Step) {
	if r.opt.Notify != nil {
		r.opt.Notify(s)
	}
}
