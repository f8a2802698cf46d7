package runner

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// outcome is the run as the aggregation sees it.
func outcome(run sweep.Run, rep *RunReport, read *reading) decide.Outcome {
	if rep.Queued {
		read.withoutIntervals()
	}
	n := rep.Counts()
	o := decide.Outcome{
		Run: run, Summaries: read.summaries, Parts: read.parts, Sample: read.sample,
		Verdict: rep.Verdict, Taints: verdict.Taints(rep.Findings), Sent: n.In(record.WasSent), OK: n.OK,
		Failed: n.Failed, Cancelled: n.Cancelled, Cut: n.Cut, Unsent: n.Unsent,
	}
	o.Apart = min(rep.Verdict, verdict.Worst(slices.DeleteFunc(slices.Clone(rep.Findings),
		func(f verdict.Finding) bool { return f.Check == validity.Backlog })))
	if rep.Backlog != nil && rep.BacklogMax != nil {
		o.Backlog = &decide.Backlog{Share: *rep.Backlog, Limit: *rep.BacklogMax}
	}
	o.Ranges = rep.ranges()
	o.Beside = beside(rep, read.summaries)
	o.Answers, o.Swaps = read.answers, rep.Swaps
	for _, t := range read.tiers {
		o.Parts = append(o.Parts, t.Part)
	}
	o.Took, o.Tiers = rep.Ended.Sub(rep.Started), read.tiers
	o.FailedEffect, o.GoodEffect = rep.FailedEffect, rep.GoodEffect
	o.Gone = rep.Aborted != "" || rep.AllFailed && !slices.ContainsFunc(rep.Errors,
		func(e verdict.ErrorCount) bool { return !strings.HasPrefix(e.Kind, string(record.Connection)) })
	for _, b := range rep.Bounds {
		if b.Metric == metrics.InterTokenLatency && rep.onePhase() {
			o.Ends = append(o.Ends, decide.Ends{Key: decide.Key{Tag: b.Metric, Stat: b.Stat}, Low: b.Low, High: b.High})
		}
	}
	switch {
	case rep.Lost != "": // whatever else is said of the run rests on the records that are left
		o.Err = rep.Lost
	case rep.AllFailed:
		o.Err = "every request failed: " + verdict.MostFrequent(rep.Errors)
	case rep.gaveUp():
		o.Err = rep.Cancelled
	case rep.Aborted != "":
		o.Err = rep.Aborted
	}
	return o
}

// recall brings back a run that an earlier process finished, after checking
// that its records are the ones that process wrote.
func (r *runner) recall(run sweep.Run, was resultdir.Event) (*RunReport, decide.Outcome, error) {
	var rep RunReport
	if sum, err := r.seal(run, ""); err != nil || sum != was.SHA256 {
		return nil, decide.Outcome{}, errors.Join(err, errors.New("records differ from the journal"))
	}
	if err := resultdir.ReadJSON(filepath.Join(r.dir.Path, run.Dir, resultdir.ReportName), &rep); err != nil {
		return nil, decide.Outcome{}, err
	}
	r.know(rep.Pages)
	read, err := r.summarize(run, &rep)
	if err != nil {
		return nil, decide.Outcome{}, err
	}
	o := outcome(run, &rep, read)
	o.Records = was.Records
	return &rep, o, nil
}

// seal is the digest over a run's records and report; records is that of the
// records where it is known.
func (r *runner) seal(run sweep.Run, records string) (string, error) {
	if records == "" {
		var err error
		if records, _, err = resultdir.Digest(r.journalPath(run)); err != nil {
			return "", err
		}
	}
	report, _, err := resultdir.Digest(filepath.Join(r.dir.Path, run.Dir, resultdir.ReportName))
	return records + report, err
}

// ranges are how far numbers in doubt may be off, as far as the findings say.
func (r *RunReport) ranges() validity.Ranges {
	if !r.onePhase() {
		return nil
	}
	return verdict.Ranges(r.Findings)
}

// onePhase reports whether one phase was measured: of several a bound is that of a phase, and a number is
// that of all of them.
func (r *RunReport) onePhase() bool {
	measured := 0
	for _, p := range r.Phases {
		if !p.Warmup {
			measured++
		}
	}
	return measured == 1
}
