package sweep

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema"
)

// fewTrials is the number of trials up to which only large differences can be
// shown: Student's t with two degrees of freedom is 4.30.
const fewTrials = 3

// Without a minimum of the experiment's own, five usable trials come before
// convergence is first judged, and two more follow once it holds.
const (
	FirstLook  = 5
	Afterwards = 2
)

// Layout is the plan's design in one line, and what it cannot tell apart. A plan
// of one run has none.
func (p *Plan) Layout() (line string, doubts []string) {
	if len(p.Runs) < 2 {
		return "", nil
	}
	means := seedsMean[p.Seeds]
	if p.Seeds == Fixed {
		means += "; " + p.SeedsWhy
	}
	line = p.Seeds + " (" + strings.TrimSuffix(means, "; ") + ")"
	if p.warms() {
		line += ", " + p.warmups()
	}
	if p.MultiRun.Sentinel {
		line += fmt.Sprintf(", sentinel %s first, in the middle and last", p.Cells[0].Short())
	}
	if c := p.MultiRun.Convergence; c != nil && p.Trials > 1 {
		line += fmt.Sprintf(", a cell ends early when its %s.%s is known", c.Metric, c.Stat)
	}
	return line, p.doubts()
}

var seedsMean = map[string]string{
	Blocks:      "in a trial all cells get the same lengths and arrival times, the texts are new",
	Fixed:       "same requests in every trial",
	Independent: "own draws in every run",
}

// Turns is the order of the runs in words, and the seed of what is drawn.
func (p *Plan) Turns() string {
	var turns []string
	if p.Trials > 1 && p.Order == "repeated" {
		turns = append(turns, "trial by trial")
	} else if p.Trials > 1 {
		turns = append(turns, "all trials of a cell in a row")
	}
	if len(p.Cells) > 1 {
		turns = append(turns, "cells "+turnsMean[p.CellOrder])
	}
	return strings.Join(append(turns, fmt.Sprintf("seed %d", p.BaseSeed)), ", ")
}

var turnsMean = map[string]string{
	interleaved:    "interleaved (shuffled, and backwards in every second trial)",
	"shuffled":     "shuffled anew in each trial",
	"alphabetical": "in the alphabetical order of their axes",
	"as_written":   "in the order in which the axes are written",
}

// warms reports whether any cell has a warmup.
func (p *Plan) warms() bool {
	return slices.ContainsFunc(p.Cells, func(c *Cell) bool {
		return slices.ContainsFunc(c.Resolved.Benchmark.Phases, func(f schema.Phase) bool { return f.Kind == "warmup" })
	})
}

func (p *Plan) warmups() string {
	if p.warmsOnce() {
		return "warmup before the first run of a cell"
	}
	return "warmup in each run"
}

// doubts are what the plan cannot tell apart.
func (p *Plan) doubts() (out []string) {
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case p.Trials == 1:
		say("one trial: no interval, no difference can be shown; six are a good start (--num-profile-runs 6)")
	case p.Trials <= fewTrials:
		say("%d trials show only large differences; start with six (--num-profile-runs 6)", p.Trials)
	}
	if p.CellOrder == interleaved && p.Trials > 1 && p.Trials%2 == 1 && len(p.Cells) > 1 {
		say("odd number of trials: a slow change of the server cancels out over pairs of trials only")
	}
	if c := p.MultiRun.Convergence; c != nil && c.MinRuns == 0 && p.Trials > 1 && p.Trials <= FirstLook+Afterwards {
		say("convergence ends a cell after %d trials at the earliest: five, and two more; num_runs above %d gives it room, min_runs is AIPerf's own rule",
			FirstLook+Afterwards, FirstLook+Afterwards)
	}
	if p.Order != "repeated" && len(p.Cells) > 1 && p.Trials > 1 {
		say("all trials of a cell run in a row, so a drift of the server looks like a difference between cells")
	}
	if p.Seeds == Fixed && p.Trials > 1 && !p.MultiRun.VarySeedPerTrial {
		say("intervals are over repeats of one workload; another workload may differ more (multi_run.seeds: blocks)")
	}
	return out
}
