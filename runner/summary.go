package runner

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"aiperf.dev/aiperf/sinks"
)

// Report is the result as people read it.
func (res *Result) Report() *sinks.Report {
	elapsed := res.Elapsed
	if elapsed == 0 {
		elapsed = time.Since(res.Began)
	}
	r := &sinks.Report{
		Plan: res.Plan, Results: res.Results, Verdict: res.Verdict.String(), Elapsed: elapsed, Dir: res.Dir, Stopped: res.Stopped,
	}
	if res.NothingMeasured() != nil {
		r.Verdict = "FAILED"
	}
	r.Doubts = res.doubts()
	failed, notes := failures{}, notices{}
	for _, o := range res.Outcomes {
		r.Sent, r.Failed = r.Sent+o.Sent, r.Failed+o.Failed
		rep := res.Reports[o.Run.ID]
		if rep == nil {
			failed.add(ErrorCount{Kind: "run failed", Message: o.Err, Count: 1})
			continue
		}
		for _, e := range rep.Errors {
			failed.add(e)
		}
		notes.take(rep.Notices)
		for _, w := range rep.Warnings {
			if !slices.Contains(r.Notices, w) {
				r.Notices = append(r.Notices, w)
			}
		}
	}
	r.Notices = append(r.Notices, notes.lines()...)
	for _, e := range failed.frequent(maxKinds) {
		r.Errors = append(r.Errors, sinks.ErrorCount(e))
	}
	if len(res.Plan.Runs) == 1 && len(res.Outcomes) == 1 {
		res.single(r)
	}
	return r
}

// Failure is why no run of a plan gave anything.
type Failure struct{ Message string }

// NothingMeasured says why, when every run of the plan failed before its first
// request; nil otherwise. Of several reasons the first is told.
func (res *Result) NothingMeasured() *Failure {
	if len(res.Outcomes) == 0 || len(res.Reports) > 0 {
		return nil
	}
	return &Failure{res.Outcomes[0].Err}
}

// single adds what only a report on one run has.
func (res *Result) single(r *sinks.Report) {
	o := res.Outcomes[0]
	rep := res.Reports[o.Run.ID]
	if rep == nil || len(o.Summaries) == 0 {
		return
	}
	r.Full = &o.Summaries[0]
	r.Missed = rep.SLOMissed
	if len(o.Summaries) > 1 {
		r.Steady = &o.Summaries[1]
		start, end, _ := rep.steady()
		r.SteadyFor = time.Duration(end - start)
	}
	if h := rep.Host; h.CPUSeconds != nil && h.WallSeconds > 0 {
		r.Client = fmt.Sprintf("client %s of %s", percent(*h.CPUSeconds/h.WallSeconds/float64(h.Cores)), plural(int64(h.Cores), "core"))
	}
	for _, f := range rep.Findings {
		if f.Check == "dispatch_lateness" {
			r.Client += " · lag p99 " + ms(f.Value)
		}
		if f.Check == "headroom" {
			r.Client += fmt.Sprintf(" · headroom %.2g×", f.Value)
		}
	}
	d := o.Run.Cell.Resolved.Benchmark.Datasets[0]
	if s := d.Prompts.OSL; s != nil && s.StdDev == nil {
		for _, v := range []*float64{s.Value, s.Mean} {
			if v != nil && r.Asked == "" && !math.IsNaN(*v) {
				r.Asked = fmt.Sprintf("asked %.4g", *v)
			}
		}
	}
}

// doubts are the checks that are not clean, one line per check: the worst
// finding speaks, the runs are counted.
func (res *Result) doubts() []sinks.Doubt {
	worst := map[string]Finding{}
	runs := map[string]int{}
	take := func(f Finding) {
		if f.Verdict == Valid {
			return
		}
		runs[f.Check]++
		if w, ok := worst[f.Check]; !ok || f.Verdict > w.Verdict || f.Verdict == w.Verdict && f.beyond() > w.beyond() {
			worst[f.Check] = f
		}
	}
	for _, o := range res.Outcomes {
		if rep := res.Reports[o.Run.ID]; rep != nil {
			for _, f := range rep.Findings {
				take(f)
			}
		}
	}
	for _, f := range res.PlanFindings {
		take(f)
	}
	var out []sinks.Doubt
	for _, f := range worst {
		out = append(out, sinks.Doubt{Verdict: f.Verdict.String(), Check: f.Check, Detail: f.Detail, Try: f.Try, Runs: runs[f.Check]})
	}
	slices.SortFunc(out, func(a, b sinks.Doubt) int {
		return cmp.Or(cmp.Compare(worst[b.Check].Verdict, worst[a.Check].Verdict), cmp.Compare(a.Check, b.Check))
	})
	return out
}

// beyond is how far the value is past its limit, as a ratio.
func (f Finding) beyond() float64 {
	if l := f.limit(); l != nil && *l != 0 {
		return math.Abs(f.Value / *l)
	}
	return math.Abs(f.Value)
}
