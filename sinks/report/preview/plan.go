package preview

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Plan is the plan in a few lines.
func Plan(w io.Writer, plan *sweep.Plan, b sweep.Bound) {
	requests := fmt.Sprintf("%s requests", words.Whole(b.Requests))
	if b.Open {
		requests = "requests as time allows"
		if b.Requests > 0 {
			requests = fmt.Sprintf("more than %s requests", words.Whole(b.Requests))
		}
		if slices.ContainsFunc(plan.Cells[0].Resolved.Benchmark.Phases, func(p schema.Phase) bool { return p.Once }) {
			requests = "each question once a run"
		}
	}
	switch {
	case plan.Experiment.Search != nil:
		searchPlan(w, plan, b)
	case plan.Adaptive != nil:
		adaptivePlan(w, plan, b)
	default:
		fmt.Fprintf(w, "%s: %s = %s, %s, %s\n", plan.Name, Size(plan), words.Count(len(plan.Runs), "run"), requests,
			lasts(b))
	}
	if len(plan.Axes) > 0 && plan.Experiment.Search == nil && plan.Adaptive == nil {
		var axes []string
		for _, x := range plan.Axes {
			axes = append(axes, x.Name+" "+someOf(x.Labels))
		}
		line := strings.Join(axes, " · ")
		if plan.Where != "" {
			line += fmt.Sprintf(" · where %s dropped %d", plan.Where, plan.Dropped)
		}
		words.TwoColumns(w, "axes", line, 8)
	}
	for _, d := range plan.Derive {
		line := d.Path + " = " + d.Expr
		if d.Over != "" {
			line += " (replaces " + d.Over + ")"
		}
		words.TwoColumns(w, "derive", line, 8)
	}
	fixed, varied := unswept(plan)
	for _, l := range []struct{ name, line string }{{"fixed", fixed}, {"varied", varied}} {
		if l.line != "" {
			words.TwoColumns(w, l.name, l.line, 8)
		}
	}
	for _, f := range b.Phases {
		words.TwoColumns(w, "phase", fmt.Sprintf("%s: %s (%s); ends after %s", f.Name, f.Mode, f.Reason, f.Stop), 8)
	}
	if flips := plan.Flips(); len(flips) > 0 {
		words.TwoColumns(w, "flips", flipsText(flips), 8)
	}
	line, doubts := plan.Layout()
	if line != "" {
		words.TwoColumns(w, "design", line, 8)
	}
	for _, d := range doubts {
		words.TwoColumns(w, "doubt", d, 8)
	}
	if len(plan.Cells) > 1 {
		words.TwoColumns(w, "judged", judgedText(plan), 8)
	}
	if text := questionsText(plan); text != "" {
		words.TwoColumns(w, "asked", "questions with known answers: "+text, 8)
	}
	words.TwoColumns(w, "order", plan.Turns(), 8)
	words.TwoColumns(w, "lock", "sha256:"+plan.Hash+" (another plan has another: --resume and --done go by it)", 8)
}

// judgedText says by which percentile of a latency cells are compared, and why.
func judgedText(plan *sweep.Plan) string {
	fewest := sweep.Planned(plan.Cells[0].Resolved.Benchmark.Phases)
	for _, c := range plan.Cells {
		fewest = min(fewest, sweep.Planned(c.Resolved.Benchmark.Phases))
	}
	why := words.Count(fewest, "request") + " planned a run"
	if fewest == 0 {
		why = "how many requests a run has depends on the server or the data"
	}
	return fmt.Sprintf("%s of latencies in every trial (%s; %s)", plan.Judged(), why, sweep.Takes())
}

// unswept are the axes that everybody asks for and that are none of this plan: what
// all cells have alike, and what they have by other ways, such as derive.
func unswept(plan *sweep.Plan) (fixed, varied string) {
	var alike, differ []string
	for _, known := range sweep.KnownAxes() {
		if known.Of == nil || slices.ContainsFunc(plan.Axes,
			func(x schema.Axis) bool { return sweep.AxisNamed(x.Name).Name == known.Name }) {
			continue
		}
		var values []string
		for _, c := range plan.Cells {
			if v := known.Of(&c.Resolved.Benchmark); v != nil && !slices.Contains(values, fmt.Sprint(v)) {
				values = append(values, fmt.Sprint(v))
			}
		}
		switch len(values) {
		case 0:
		case 1:
			alike = append(alike, known.Name+" "+words.Clip(values[0], shownCommand))
		default:
			differ = append(differ, known.Name+" "+someOf(values))
		}
	}
	return strings.Join(alike, " · "), strings.Join(differ, " · ")
}

// flipsText says how often the server changes its state, and how.
func flipsText(before []sweep.Run) string {
	var ways []string
	for _, r := range before {
		way := fmt.Sprintf("%s by %s", r.Cell.Short(), words.Clip(r.Cell.Resolved.Benchmark.Endpoint.Flips(),
			shownCommand))
		if !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	return fmt.Sprintf("%d of the server: %s", len(before), someOf(ways))
}

// shownCommand bounds what is shown of a command, in characters.
const shownCommand = 60

// lasts is how long the plan takes, as far as that is known before any answer.
func lasts(b sweep.Bound) string {
	said := "however long the server takes"
	if b.AtLeast > 0 {
		said = "at least " + words.Span(b.AtLeast)
	}
	if b.Cooldown > 0 {
		said += " + " + words.Span(b.Cooldown) + " of cooldown"
	}
	return said
}

// someOf names a few values, and counts the rest: a sampled axis has thousands.
func someOf(labels []string) string {
	const most = 24
	if len(labels) <= most {
		return strings.Join(labels, ", ")
	}
	return fmt.Sprintf("%s … (%d values)", strings.Join(labels[:most/2], ", "), len(labels))
}

// Size is "18 cells × 5 trials".
func Size(plan *sweep.Plan) string {
	size := fmt.Sprintf("%s × %s", words.Count(len(plan.Cells), "cell"), words.Count(plan.Trials, "trial"))
	if plan.MultiRun.Sentinel {
		size += fmt.Sprintf(" + %d of the sentinel", sweep.Sentinels)
	}
	return size
}

// Cells lists every cell of a plan.
func Cells(w io.Writer, plan *sweep.Plan) {
	for _, c := range plan.Cells {
		fmt.Fprintf(w, "%4d  %s  seed %d  %s\n", c.Index, c.ID, c.Seed, c.Short())
	}
}
