package runner

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// Report is the result as people read it.
func (res *Result) Report() *report.Report {
	r := &report.Report{
		Plan: res.Plan, Results: res.Results, Verdict: res.said(), Elapsed: res.measuring(),
		Dir: res.Dir, Command: res.command, View: res.view, Stopped: res.Stopped,
		Runs: cmp.Or(len(res.Plan.Runs), len(res.Outcomes)), Search: res.Search, Adaptive: res.Adaptive,
		Limit: res.limit, Rules: res.Rules,
	}
	res.sides()
	r.Doubts, r.Spoiled = res.doubts(), res.spoiled()
	r.Touched, r.Everything = res.touched()
	failed, notes := verdict.Failures{}, verdict.NoticeCounts{}
	for _, o := range res.Outcomes {
		r.Requests = r.Requests.Plus(o.Counts())
		rep := res.Reports[o.Run.ID]
		if rep == nil {
			continue
		}
		if why := rep.Broken(); why != "" && res.counts(o.Run) {
			if r.Broken++; r.Why == "" {
				r.Why = why
			}
		}
		for _, e := range rep.Errors {
			failed.Add(e)
		}
		notes.Add(rep.Notices)
		if f := rep.Fidelity; f != nil && !res.Plan.Several() { // what a replay is read for comes first
			r.Notices = append(r.Notices, f.line())
		}
		for _, p := range rep.Phases {
			switch {
			case p.Stability != nil && !p.Stability.Stable && len(r.Doubts) > 0 && r.Doubts[0].Check == validity.Stable:
				// said first, with the figures that it touches
			case p.Stability != nil && res.Plan.Several():
				r.Notices = append(r.Notices, fmt.Sprintf("%s, trial %d: %s", o.Run.Cell.Short(), o.Run.Trial, p.Stability.Sentence()))
			case p.Stability != nil:
				r.Notices = append(r.Notices, p.Stability.Sentence())
			case p.Scale == nil:
			case res.Plan.Several():
				r.Notices = append(r.Notices, o.Run.Cell.Short()+": "+p.Scale.Sentence())
			default: // what the run was made for
				r.Raised = append(r.Raised, p.Scale.Sentence())
			}
		}
		for _, w := range rep.Warnings {
			if !slices.Contains(r.Notices, w) {
				r.Notices = append(r.Notices, w)
			}
		}
	}
	r.Notices = append(r.Notices, notes.Lines()...)
	for _, o := range res.Outcomes { // behind the doubts: they are what was asked for
		if rep := res.Reports[o.Run.ID]; rep != nil {
			for _, n := range rep.DataNotes {
				if !slices.Contains(r.Notices, n) {
					r.Notices = append(r.Notices, n)
				}
			}
		}
	}
	r.Errors, r.FailedRuns = failed.Frequent(verdict.MaxKinds), report.FailedRunsOf(res.Plan, res.Outcomes)
	r.Client = res.client()
	if !res.Plan.Several() && len(res.Outcomes) == 1 {
		res.single(r)
	}
	return r
}

// sides tells the comparisons what the runs alone know of their sides: the command, which
// measured both, and what their requests failed with.
func (res *Result) sides() {
	if res.Results == nil || res.Plan.Experiment.Compare == nil {
		return
	}
	failures := map[string]verdict.Failures{}
	for _, o := range res.Outcomes {
		side, _ := decide.Side(o.Run.Cell, res.Plan.Experiment.Compare.Axis)
		if failures[side] == nil {
			failures[side] = verdict.Failures{}
		}
		if rep := res.Reports[o.Run.ID]; rep != nil {
			for _, e := range rep.Errors {
				failures[side].Add(e)
			}
		}
	}
	for _, c := range res.Results.Comparisons {
		c.Commands = [2]string{res.command, res.command}
		for i, side := range []string{c.Baseline, c.Candidate} {
			c.Failed[i].With = verdict.MostFrequent(failures[side].Frequent(verdict.MaxKinds))
		}
	}
}

// client is what the client itself used in the run in which it used most, of each of its
// figures: "11 % of 2 cores, 99 % of the sends at most 0.09 ms late".
func (res *Result) client() string {
	cpu, cores, late, headroom, runs := math.NaN(), 0, math.NaN(), math.NaN(), 0
	for _, o := range res.Outcomes {
		rep := res.Reports[o.Run.ID]
		if rep == nil || len(o.Summaries) == 0 {
			continue
		}
		runs++
		if h := rep.Host; h.CPUSeconds != nil && h.WallSeconds > 0 {
			if part := *h.CPUSeconds / h.WallSeconds / float64(h.Cores); !(part <= cpu) {
				cpu, cores = part, h.Cores
			}
		}
		if rep.Lateness != nil && !(*rep.Lateness <= late) {
			late = *rep.Lateness
		}
		for _, f := range rep.Findings {
			if f.Check == "headroom" && !(f.Value >= headroom) {
				headroom = f.Value
			}
		}
	}
	var said []string
	if !math.IsNaN(cpu) {
		said = append(said, fmt.Sprintf("%s of %s", words.Percent(cpu), words.Count(cores, "core")))
	}
	if !math.IsNaN(late) {
		said = append(said, "99 % of the sends at most "+words.Millis(late)+" late")
	}
	if !math.IsNaN(headroom) {
		said = append(said, fmt.Sprintf("this machine can drive %.2g times this load", headroom))
	}
	if len(said) > 0 && runs > 1 {
		said = append(said, "in the worst run")
	}
	return strings.Join(said, ", ")
}

// measuring is how long the runs took together, over all sessions of a plan that was
// resumed, as the page has it.
func (res *Result) measuring() (sum time.Duration) {
	for _, rep := range res.Reports {
		if rep.Ended.After(rep.Started) {
			sum += rep.Ended.Sub(rep.Started)
		}
	}
	return sum
}

// writeAnswer writes summary.json: the report as data, with the figures that people ask
// for and those that the experiment names. The tables have all.
func (r *runner) writeAnswer() error {
	keep := map[decide.Key]bool{}
	for _, f := range sinks.CellFigures() {
		keep[decide.Key{Tag: f.Tag, Stat: f.Stat}] = true
	}
	for _, k := range decide.Asked(r.plan) {
		keep[k] = true
	}
	doc := r.result.Report().Doc(r.result.ExitCode(), r.result.Interrupted)
	return resultdir.WriteMasked(filepath.Join(r.dir.Path, resultdir.AnswerName),
		doc.Only(func(tag, stat string) bool { return keep[decide.Key{Tag: tag, Stat: stat}] }), r.hide)
}

// NothingMeasured is why, when every run of the plan failed before its first
// request, or the plan was stopped before its first run; nil otherwise. Of several
// reasons the first is told.
func (res *Result) NothingMeasured() error {
	if len(res.Outcomes) == 0 && res.Stopped != "" {
		return diag.New(res.Stopped, "to start it, run the same command with --resume")
	}
	if len(res.Outcomes) == 0 || len(res.Reports) > 0 {
		return nil
	}
	if err := res.Failures[res.Outcomes[0].Run.ID]; err != nil {
		return err
	}
	return errors.New(res.Outcomes[0].Err)
}

// single adds what only a report on one run has.
func (res *Result) single(r *report.Report) {
	o := res.Outcomes[0]
	rep := res.Reports[o.Run.ID]
	if rep == nil || len(o.Summaries) == 0 {
		return
	}
	r.Full, r.Parts, r.Taints = &o.Summaries[0], o.Parts, o.Taints
	r.Missed, r.MissedSeveral = rep.SLOMissed, rep.SLOSeveral
	if len(o.Summaries) > 1 {
		r.Steady = &o.Summaries[1]
		start, end, _ := rep.steady()
		r.SteadyFor = time.Duration(end - start)
		start, end, _ = rep.window()
		r.FullFor = time.Duration(end - start)
	}
	d := o.Run.Cell.Resolved.Benchmark.Datasets[0]
	r.DefaultISL = res.defaultISL && !o.Run.Cell.Resolved.Benchmark.Accuracy.Alone()
	if s := d.Prompts.OSL; s != nil && s.StdDev == nil {
		for _, v := range []*float64{s.Value, s.Mean} {
			if v != nil && r.Asked == "" && !math.IsNaN(*v) {
				r.Asked = fmt.Sprintf("asked %.4g", *v)
			}
		}
	}
}

// doubts are the checks that are not clean, one line per check: the worst
// finding speaks, the runs are counted. What made the verdict comes first.
func (res *Result) doubts() []report.Doubt {
	worst := map[string]verdict.Finding{}
	runs, cells := map[string]int{}, res.cellsOf()
	for f, run := range res.judged() {
		if run != validity.NotJudged { // single numbers that are invalid do not make a run so
			f.Verdict = min(f.Verdict, run)
		}
		if f.Verdict == verdict.Valid {
			continue
		}
		runs[f.Check]++
		if w, ok := worst[f.Check]; !ok || f.Verdict > w.Verdict || f.Verdict == w.Verdict && f.Beyond() > w.Beyond() {
			worst[f.Check] = f
		}
	}
	for _, f := range res.PlanFindings { // of no run
		if f.Verdict != verdict.Valid {
			runs[f.Check]--
		}
	}
	var out []report.Doubt
	for _, f := range worst {
		out = append(out, report.Doubt{
			Verdict: f.Verdict, Check: f.Check, Detail: f.Detail, Because: f.Cause(), Try: f.Try,
			Runs: runs[f.Check], Cells: cells[f.Check],
		})
	}
	slices.SortFunc(out, func(a, b report.Doubt) int {
		return cmp.Or(cmp.Compare(worst[b.Check].Verdict, worst[a.Check].Verdict),
			// what is about every number before what is about some, then the largest effect
			cmp.Compare(some(worst[a.Check]), some(worst[b.Check])),
			cmp.Compare(worst[b.Check].Beyond(), worst[a.Check].Beyond()), cmp.Compare(a.Check, b.Check))
	})
	return out
}

// cellsOf are the cells in whose runs a check is not clean, by check, in the plan's order.
func (res *Result) cellsOf() map[string][]*sweep.Cell {
	out := map[string][]*sweep.Cell{}
	for _, o := range res.Outcomes {
		rep := res.Reports[o.Run.ID]
		if rep == nil || !res.counts(o.Run) {
			continue
		}
		for _, f := range rep.Findings {
			if f.Verdict == verdict.Valid || f.Check == validity.Backlog && res.keepsUp(o.Run) ||
				slices.Contains(out[f.Check], o.Run.Cell) {
				continue
			}
			out[f.Check] = append(out[f.Check], o.Run.Cell)
		}
	}
	for _, cells := range out {
		slices.SortFunc(cells, func(a, b *sweep.Cell) int { return cmp.Compare(a.Index, b.Index) })
	}
	return out
}

// some is 1 for a finding about single numbers, 0 for one about all of them or about the run.
func some(f verdict.Finding) int {
	if f.TouchesAll() || len(f.Taints) == 0 {
		return 0
	}
	return 1
}

// findings are those of the runs and of the plan.
func (res *Result) findings() iter.Seq[verdict.Finding] {
	return func(yield func(verdict.Finding) bool) {
		for f := range res.judged() {
			if !yield(f) {
				return
			}
		}
	}
}

// judged are the findings with the verdict on the run that has them; of the plan that of the
// finding. What a run says of its backlog is chance where the server keeps up over the trials
// of its cell.
func (res *Result) judged() iter.Seq2[verdict.Finding, verdict.Verdict] {
	return func(yield func(verdict.Finding, verdict.Verdict) bool) {
		for _, o := range res.Outcomes {
			rep := res.Reports[o.Run.ID]
			if rep == nil || !res.counts(o.Run) {
				continue
			}
			for _, f := range rep.Findings {
				if (f.Check != validity.Backlog || !res.keepsUp(o.Run)) && !yield(f, rep.Verdict) {
					return
				}
			}
		}
		for _, f := range res.PlanFindings {
			if !yield(f, f.Verdict) {
				return
			}
		}
	}
}

// touched are the numbers that findings touch anywhere, by their worst; everything
// where one touches all of them, or moves the verdict and names none.
func (res *Result) touched() (of map[string]validity.Level, everything bool) {
	of = map[string]validity.Level{}
	for f := range res.findings() {
		everything = everything || f.TouchesAll() || f.Verdict != verdict.Valid && len(f.Taints) == 0
		for what, level := range f.Taints {
			if level.Worse(of[what]) {
				of[what] = level
			}
		}
	}
	return of, everything
}

// spoiled are the numbers that were asked for and are invalid, with the cell where
// there are several.
func (res *Result) spoiled() (lines []string) {
	if res.Results == nil {
		return nil
	}
	for _, s := range res.Results.Spoiled(res.Plan) {
		line := s.String()
		if len(res.Plan.Cells) > 1 {
			line = s.Cell.Cell.Short() + ": " + line
		}
		lines = append(lines, line)
	}
	return lines
}

// lengthByDefault tells whether a line of the settings with their origins says that nobody
// said how long prompts are.
func lengthByDefault(line string) bool {
	path, rest, _ := strings.Cut(line, " ")
	return strings.HasPrefix(path, "benchmark.datasets.") && strings.HasSuffix(path, ".prompts.isl.mean") &&
		strings.Contains(rest, " default")
}
