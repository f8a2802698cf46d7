package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/sweep"
)

var calibrateCommand = command{
	minor: true, name: "calibrate", usage: "measure how much load this machine can drive",
	help: `aiperf calibrate drives the built-in server over loopback for two seconds and
says what this machine can send and read for each second of CPU.

  aiperf calibrate
  aiperf calibrate sweep.cue        beside what an experiment plans
  aiperf calibrate --streams 1000 --itl 20ms --osl 50

The result is kept in the user's cache. A plan that needs more than a fifth of
it is tried for a moment before it begins. Where the machine cannot drive the
planned load, the plan is refused unless --allow-invalid is given. Where it can
drive less than twice that load, the check headroom names it as the cause of
numbers that are found to be wrong.`,
	flags: []argv.Switch{
		{Name: "concurrency", Arg: "N", Doc: "connections with short answers (default 64)"},
		{Name: "streams", Arg: "N", Doc: "streams at the same time (default 100)"},
		{Name: "itl", Arg: "TIME", Doc: "time between the tokens of a stream (default 10ms)"},
		{Name: "isl", Arg: "N", Doc: "tokens of a prompt (default 32)"},
		{Name: "osl", Arg: "N", Doc: "tokens of a streamed answer (default 90)"},
		{Name: "seconds", Arg: "S", Doc: "length of each of the two trials (default 1)"},
		outputFlag,
	},
	run: (*app).calibrate,
}

func (a *app) calibrate(p *argv.Line) error {
	asJSON, err := wantJSON(p)
	if err != nil {
		return err
	}
	var plan *sweep.Plan
	if len(p.Words) > 0 {
		file, err := onlyFile(p, "aiperf calibrate FILE")
		if err != nil {
			return err
		}
		if _, plan, err = a.expand("plan", file, &argv.Line{Values: map[string][]string{"lenient": {""}}}); err != nil {
			return err
		}
	}
	short, streams, err := trialShapes(p)
	if err != nil {
		return err
	}
	exe, err := self()
	if err != nil {
		return err
	}
	c, err := runner.Calibrate(a.issue, exe, version, short, streams)
	switch {
	case a.issue.Err() != nil:
		fmt.Fprintln(a.Err, "aiperf: calibrate: "+context.Cause(a.issue).Error())
		return exit(diag.Interrupted)
	case err != nil:
		return err
	}
	if short == runner.ShortAnswers() && streams == runner.Streams() { // others say nothing about plans in general
		if _, err := c.Keep(); err != nil {
			a.warn("the calibration cannot be kept: " + err.Error())
		}
	}
	if asJSON {
		return a.writeDoc(describeCalibration(c, plan))
	}
	a.printCalibration(c, plan)
	return nil
}

// trialShapes are the defaults with what the flags change.
func trialShapes(p *argv.Line) (short, streams runner.TrialShape, err error) {
	short, streams = runner.ShortAnswers(), runner.Streams()
	whole := func(name string, most int, to ...*int) {
		if !p.Has(name) || err != nil {
			return
		}
		n, bad := strconv.Atoi(p.Get(name))
		if bad != nil || n < 1 || n > most {
			err = diag.New(fmt.Sprintf("--%s: expected a whole number from 1 to %d, got %s", name, most, p.Get(name)),
				"")
			return
		}
		for _, t := range to {
			*t = n
		}
	}
	whole("concurrency", 100_000, &short.Concurrency)
	whole("streams", 100_000, &streams.Concurrency)
	whole("isl", 1_000_000, &short.ISL, &streams.ISL)
	whole("osl", 1_000_000, &streams.OSL)
	seconds := 1
	whole("seconds", 600, &seconds)
	short.Span, streams.Span = time.Duration(seconds)*time.Second, time.Duration(seconds)*time.Second
	if p.Has("itl") && err == nil {
		if streams.ITL, err = time.ParseDuration(p.Get("itl")); err != nil ||
			streams.ITL < 0 || streams.ITL > time.Minute {
			err = diag.New("--itl: expected a time such as 10ms, got "+p.Get("itl"), "")
		}
	}
	return short, streams, err
}

func (a *app) printCalibration(c *runner.Calibration, plan *sweep.Plan) {
	perSecond, _ := c.Short.PerSecond()
	perCPU, _ := c.Short.PerCPU()
	row := func(what, shape, wall, cpu string) {
		fmt.Fprintf(a.Out, "%-15s%-24s%16s%24s\n", what, shape, wall, cpu)
	}
	row("short answers", words.Count(c.Short.Shape.Concurrency, "connection"),
		words.Grouped(math.Round(perSecond))+" requests/s", words.Grouped(math.Round(perCPU))+" per CPU-second")
	_, perSecond = c.Streams.PerSecond()
	_, chunks := c.Streams.PerCPU()
	row("streams", fmt.Sprintf("%s × %v", words.Whole(int64(c.Streams.Shape.Concurrency)), c.Streams.Shape.ITL),
		words.Grouped(math.Round(perSecond))+" chunks/s", words.Grouped(math.Round(chunks))+" per CPU-second")
	words.TwoColumns(a.Out, words.Count(c.Cores, "core"),
		fmt.Sprintf("by CPU time half of this machine is enough for %s requests/s or %s chunks/s (the trials above shared it with the built-in server)",
			words.Grouped(math.Round(perCPU*float64(c.Cores)/2)), words.Grouped(math.Round(chunks*float64(c.Cores)/2))),
		15)
	if plan == nil {
		return
	}
	l, ratio, ok := c.Busiest(plan)
	if !ok {
		words.TwoColumns(a.Out, plan.Name, "no phase goes by a rate, so only the answers decide how much is sent", 15)
		return
	}
	words.TwoColumns(a.Out, plan.Name, fmt.Sprintf("%s planned, capacity is %.2g times that", l, ratio), 15)
}

// calibrationDoc is --output json.
type calibrationDoc struct {
	*runner.Calibration
	RequestsPerCPU float64      `json:"requests_per_cpu_second"`
	ChunksPerCPU   float64      `json:"chunks_per_cpu_second"`
	Planned        *runner.Load `json:"planned,omitempty"`
	Ratio          *float64     `json:"ratio,omitempty"`
}

func describeCalibration(c *runner.Calibration, plan *sweep.Plan) calibrationDoc {
	d := calibrationDoc{Calibration: c}
	d.RequestsPerCPU, _ = c.Short.PerCPU()
	_, d.ChunksPerCPU = c.Streams.PerCPU()
	if plan != nil {
		if l, ratio, ok := c.Busiest(plan); ok {
			d.Planned, d.Ratio = &l, &ratio
		}
	}
	return d
}
