package report

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sweep/decide"
)

// design says in few words what the intervals rest on.
func (c Comparison) design() string {
	if !c.Paired {
		return words.Count(c.Trials, "trial") + " each, not paired"
	}
	return fmt.Sprintf("%d paired %s", c.Trials, strings.TrimLeft(words.Count(c.Trials, "trial"), "0123456789, "))
}

// basis says in full what the intervals rest on.
func (c Comparison) basis() string {
	how := "paired: trial k sent both systems the same requests"
	if !c.Paired {
		how = "not paired (only trials of one experiment are): Welch's test on logarithms"
	}
	return fmt.Sprintf("%s a cell, %s; %.0f %% over %s together", words.Count(c.Trials, "trial"),
		how, 100*decide.CompareLevel, words.Count(c.Compared, "primary metric"))
}

// said is a text of a screen, how much it matters there, and the commands that it leads to.
type said struct {
	text     string
	weight   weight
	commands []string
}

// parts are the text, and the commands as lines of their own. Where it is not known what
// measured something the flag alone is a part of the text.
func (x said) parts() (text string, commands []string) {
	switch {
	case len(x.commands) == 0:
		return x.text, nil
	case strings.HasPrefix(x.commands[0], "--"):
		return x.text + ": add " + x.commands[0] + " to the command that measured each", nil
	}
	return x.text + ":", x.commands
}

// write puts each command on a line of its own, whole: it is there to be copied.
func (x said) write(s *sheet) {
	s.part(x.weight)
	text, commands := x.parts()
	s.hanging(text)
	for _, c := range commands {
		s.line("  " + c)
	}
}

// again are the commands that measure both sides with so many trials of each cell; one, where
// both were measured together.
func (c Comparison) again(trials int) (commands []string) {
	for _, command := range c.Commands {
		if next := withTrials(command, trials); !slices.Contains(commands, next) {
			commands = append(commands, next)
		}
	}
	return commands
}

// toTry is what helps where a check puts the figures of a row in doubt; "" for any other.
func toTry(r decide.Row) string {
	c, known := verdict.Explain(r.Check)
	if !known {
		return ""
	}
	try, _, _ := strings.Cut(c.Try, "; ")
	return try
}

// remarks say what is not shown, how small a change the test finds, and what would
// decide what is open. shown are the rows of the table, hidden those that are left out, and
// more is where they are.
func (c Comparison) remarks(shown, hidden []decide.Row, more string, short bool) (out []said) {
	var first []string
	held := aside
	if len(hidden) > 0 {
		first = append(first, words.Count(len(hidden), "more row")+changedAmong(hidden)+" "+more)
	}
	if line := c.levels(shown, short); line != "" && short {
		out = append(out, said{text: line, weight: essential})
	} else if line != "" {
		first, held = append(first, line), essential
	}
	if line := c.finds(); line != "" && !short {
		first = append(first, line)
	}
	if len(first) > 0 {
		out = append(out, said{text: strings.Join(first, " · "), weight: held})
	}
	var notes []string
	for note, rows := range c.notes() {
		text := alike(rows) + " " + remark(rows[0]) + ": " + note
		if short { // the table has the remark
			text = alike(rows) + ": " + note
		}
		if try := toTry(rows[0]); try != "" {
			text += "; try " + try
		}
		notes = append(notes, text)
	}
	if short && len(notes) > 1 {
		notes = []string{strings.Join(notes, " · ")}
	}
	for _, text := range notes {
		out = append(out, said{text: text, weight: doubtful})
	}
	if n := c.trialsIfEqual(); n.Known() {
		out = append(out, said{
			text:   fmt.Sprintf("to decide the ? at %s, measure again (%s show it if nothing changed)", c.metrics(decidedByTrials), n),
			weight: advice, commands: c.again(n.Most),
		})
	} else if c.Trials < stats.FewestTrials && c.Outcome() == decide.Unclear {
		out = append(out, said{
			text: "to decide the ?, measure again", weight: advice, commands: c.again(enoughTrials),
		})
	}
	if line := c.few(more == ""); line != "" {
		out = append(out, said{text: line, weight: doubtful})
	}
	if len(c.Stamps[0]) > 0 {
		out = append(out, said{text: fmt.Sprintf("time stamps: of the %s in the baseline, of the %s in the candidate. The application's are late, which is in every change of a latency: measure both in one way, with HTTP/1.1 and without a proxy",
			strings.Join(c.Stamps[0], " and the "), strings.Join(c.Stamps[1], " and the ")), weight: missed})
	}
	for _, line := range c.Moved() {
		out = append(out, said{text: line, weight: doubtful})
	}
	if len(c.OnlyBaseline) > 0 {
		out = append(out, said{text: "only in the baseline: " + some(c.OnlyBaseline, maxChanges), weight: doubtful})
	}
	if len(c.OnlyCandidate) > 0 {
		out = append(out, said{text: "only in the candidate: " + some(c.OnlyCandidate, maxChanges), weight: doubtful})
	}
	return out
}

// notes are the notes of the rows that decide, in their order, each with the rows that have
// it and the same remark.
func (c Comparison) notes() iter.Seq2[string, []decide.Row] {
	return func(yield func(string, []decide.Row) bool) {
		rows := slices.DeleteFunc(slices.Clone(c.Primary()), func(r decide.Row) bool {
			return r.Note == "" || r.NoRuns() && !c.severalCells() && r.Outcome == decide.Worse // the headline says it
		})
		for len(rows) > 0 {
			first := rows[0]
			same := func(r decide.Row) bool { return r.Note == first.Note && remark(r) == remark(first) }
			left := slices.DeleteFunc(slices.Clone(rows), same)
			if !yield(first.Note, slices.DeleteFunc(rows, func(r decide.Row) bool { return !same(r) })) {
				return
			}
			rows = left
		}
	}
}

// alike names the metrics of some rows, each once.
func alike(rows []decide.Row) string {
	var names []string
	for _, r := range rows {
		if name := shortName(r); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return some(names, maxChanges)
}

// changedAmong names those of some rows that are WORSE or BETTER: " (WORSE in req/s)".
func changedAmong(rows []decide.Row) string {
	var parts []string
	for _, o := range []decide.Verdict{decide.Worse, decide.Better} {
		var names []string
		for _, r := range rows {
			if name := shortName(r); r.Outcome == o && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			parts = append(parts, string(o)+" in "+some(names, maxChanges))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// levels are what the intervals of some rows hold: each row shows the one that decided it.
// short leaves out over what they hold.
func (c Comparison) levels(rows []decide.Row, short bool) string {
	var said []string
	for _, r := range rows {
		low, _, level := r.Shown()
		if math.IsNaN(low) || !(level > 0) {
			continue
		}
		text, of := fmt.Sprintf("%.4g %%", 100*level), ""
		switch {
		case level == decide.EqualLevel:
			of = " where equal or not worse"
		case !r.Primary:
			of = " for metrics that do not decide"
		case c.Compared > 1 && !short:
			of = fmt.Sprintf(" (%.0f %% over %s)", 100*decide.CompareLevel, c.together())
		}
		if len(said) == 0 || strings.HasPrefix(said[0], "[ ] "+text) {
			text = "[ ] " + text + " interval"
		}
		if text += of; !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	return strings.Join(said, ", ")
}

// Levels are those of the intervals that decide, for the caption of a chart: "98.75 %
// intervals, 90 % where equal or not worse".
func (c Comparison) Levels() string {
	return strings.Replace(strings.TrimPrefix(c.levels(c.Primary(), true), "[ ] "), " interval", " intervals", 1)
}

// together names the metrics that share the level of the intervals; where several cells or
// candidates share it as well, it counts them.
func (c Comparison) together() string {
	var names []string
	for _, r := range c.Primary() {
		names = append(names, shortName(r))
	}
	if len(names) != c.Compared || c.severalCells() {
		return fmt.Sprintf("all %d comparisons", c.Compared)
	}
	return words.And(names) + " together"
}

// finds says how small a difference the comparison shows four times in five; a smaller one
// may be found by luck.
func (c Comparison) finds() string {
	var relative, shares []decide.Row
	for _, r := range c.Rows {
		switch {
		case !r.Primary || math.IsNaN(r.Detectable) || math.IsInf(r.Detectable, 0):
		case r.Share():
			shares = append(shares, r)
		default:
			relative = append(relative, r)
		}
	}
	var parts []string
	for _, rows := range [][]decide.Row{relative, shares} { // per cent and points are not one scale
		if len(rows) == 0 {
			continue
		}
		by := func(a, b decide.Row) int { return cmp.Compare(a.Detectable, b.Detectable) }
		least, most := slices.MinFunc(rows, by), slices.MaxFunc(rows, by)
		from, to := sized(least, least.Detectable), sized(most, most.Detectable)
		switch named := len(relative) > 0 && len(shares) > 0 && least.Share(); {
		case from != to && shortName(least) == shortName(most):
			parts = append(parts, fmt.Sprintf("%s to %s (%s)", from, to, shortName(least)))
		case from != to:
			parts = append(parts, fmt.Sprintf("%s (%s) to %s (%s)", from, shortName(least), to, shortName(most)))
		case named:
			parts = append(parts, from+" ("+shortName(least)+")")
		default:
			parts = append(parts, from)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "smallest change this test finds (80 % power): " + strings.Join(parts, ", ")
}

// trialsIfEqual is what the metric that takes most would need; nothing where it is
// not known of one of them.
func (c Comparison) trialsIfEqual() decide.Trials {
	var most decide.Trials
	for _, r := range c.Primary() {
		if !decidedByTrials(r) {
			continue
		}
		if !r.Trials.Known() {
			return decide.Trials{}
		}
		most = decide.Trials{Least: max(most.Least, r.Trials.Least), Most: max(most.Most, r.Trials.Most)}
	}
	return most
}

// decidedByTrials reports whether more trials decide a row. They do not decide one whose figures are
// in doubt, and one that is not worse fails nothing.
func decidedByTrials(r decide.Row) bool {
	return r.Outcome == decide.Unclear && r.Note == "" && !r.Undecidable
}

// takes is how long all trials of both systems take with so many requests each: ", about
// 12m in all"; "" where a rate is not known.
func (c Comparison) takes(requests float64) string {
	seconds := 0.0
	for _, r := range c.Rows {
		if r.Key == (decide.Key{Tag: metrics.RequestThroughput, Stat: "avg"}) {
			seconds += requests * float64(c.Trials) * (1/r.Base + 1/r.Candidate)
		}
	}
	if !(seconds > 0) || math.IsInf(seconds, 1) {
		return ""
	}
	return ", about " + words.Span(time.Duration(seconds*1e9)) + " in all"
}

// few says which percentile rests on few values, of those that are shown.
func (c Comparison) few(all bool) string {
	i := slices.IndexFunc(c.Rows, func(r decide.Row) bool { return r.Few() && (all || r.Primary) })
	if i < 0 {
		return ""
	}
	r := c.Rows[i]
	of := sample{metrics.Series(r.Key.Tag, ""), r.Count, r.Effective, max(r.Count, r.Sent)}
	need, ok := of.need(percentileOf[r.Key.Stat])
	if !ok {
		return shortName(r) + " is uncertain: try " + of.unsteady()
	}
	return fmt.Sprintf("%s is uncertain, of %.0f requests a trial: --request-count %.0f%s%s", shortName(r), r.Count,
		need, c.takes(need), of.alike(percentileOf[r.Key.Stat]))
}
