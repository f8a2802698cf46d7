package main

import (
	"context"
	"io"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/term"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/resultdir"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sinks/report/live"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// progressFlag chooses what other programs read; people's screens are chosen by
// --ui.
var progressFlag = argv.Switch{Name: "progress", Arg: "FORMAT", Words: []string{"json"}, Doc: "json: a line an event on stderr, no screen"}

// showProgress lets a person, or a program, see how the plan goes. The function
// it returns ends that.
func (a *app) showProgress(doc *schema.Document, plan *sweep.Plan, p *argv.Line, opt *runner.Options) (end func()) {
	var lines io.Writer
	if p.Get("progress") == "json" {
		lines = a.Err
	}
	events := live.NewEvents(lines, len(plan.Runs))
	events.File(filepath.Join(opt.Dir, resultdir.LiveName))
	lives, steps, ends := []func(loadgen.Snapshot){events.Snapshot}, []func(runner.Step){tell(events)}, []func(){events.Close}
	ui := asked(doc, "benchmark.runtime.ui")
	switch {
	case lines != nil || ui == "none":
	case ui != "simple" && ui != "plain" && a.onTerminal():
		s := live.Open(os.Stdin, os.Stderr, livePlan(plan), interruptSelf)
		lives, steps, ends = append(lives, s.Snapshot), append(steps, onScreen(s)), append(ends, s.Close)
	default:
		show := report.NewProgress(a.Err, plan)
		stop := context.AfterFunc(a.issue, show.Draining)
		lives, steps = append(lives, show.Live), append(steps, func(s runner.Step) { show.Step(shownStep(s)) })
		ends = append(ends, func() { stop(); show.End() })
	}
	opt.Live = func(s loadgen.Snapshot) {
		for _, f := range lives {
			f(s)
		}
	}
	opt.Notify = func(s runner.Step) {
		for _, f := range steps {
			f(s)
		}
	}
	return func() {
		for _, f := range ends {
			f()
		}
	}
}

// onTerminal tells whether a full screen can be shown: keys come from a
// terminal and pictures go to one.
func (a *app) onTerminal() bool {
	in, ok := a.In.(*os.File)
	out, also := a.Err.(*os.File)
	return ok && also && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb"
}

// interruptSelf is a Ctrl-C that a full screen has caught.
func interruptSelf() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Signal(os.Interrupt) // where it cannot be sent, the terminal's own Ctrl-C remains
	}
}

func livePlan(plan *sweep.Plan) live.Plan {
	p := live.Plan{Name: plan.Name, Trials: plan.Trials, Runs: len(plan.Runs)}
	for _, c := range plan.Cells {
		p.Cells = append(p.Cells, c.Short())
	}
	return p
}

func onScreen(s *live.Screen) func(runner.Step) {
	return func(x runner.Step) {
		if x.Report == nil && x.Err == nil {
			s.Begin(x.Index, x.Run.Cell.Index, x.Run.Trial)
			return
		}
		s.End(doneRun(x))
	}
}

func tell(e *live.Events) func(runner.Step) {
	return func(x runner.Step) {
		if x.Report == nil && x.Err == nil {
			e.Begin(x.Index, x.Run.Cell.Index, x.Run.Trial, x.Run.Cell.Short())
			return
		}
		e.Done(doneRun(x), x.Index, x.Run.Cell.Short())
	}
}

// doneRun is what a screen says of a run that is over.
func doneRun(x runner.Step) live.Done {
	d := live.Done{Cell: x.Run.Cell.Index, Trial: x.Run.Trial, Skipped: x.Skipped}
	d.Throughput, d.TTFT, d.ITL, d.Good = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	if x.Err != nil {
		d.Err = x.Err.Error()
	}
	if x.Report != nil {
		d.Verdict = x.Report.Verdict
	}
	if x.Outcome != nil {
		d.Failed = x.Outcome.Failed
		d.Throughput, d.TTFT = figureOf(x.Outcome, "output_token_throughput", "avg"), figureOf(x.Outcome, "time_to_first_token", "p99")
		d.ITL, d.Good = figureOf(x.Outcome, "inter_token_latency", "p99"), figureOf(x.Outcome, "good_request_fraction", "avg")
	}
	return d
}

// figureOf is one figure of the whole run, NaN for none.
func figureOf(o *decide.Outcome, tag, stat string) float64 {
	for i := range o.Summaries {
		if s, ok := o.Summaries[i].Get(tag); ok && o.Summaries[i].Window == "full" {
			return s.Value(stat)
		}
	}
	return math.NaN()
}
