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
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sweep/decide"
)

// design says in few words what the intervals rest on.
func (c Comparison) design() string {
	switch a, b := c.Each[0], c.Each[1]; {
	case !c.Paired && a != b:
		return fmt.Sprintf("%d against %s, measured apart: not paired", a, words.Count(b, "trial"))
	case !c.Paired:
		return words.Count(c.Trials, "trial") + " each, measured apart: not paired"
	}
	return fmt.Sprintf("%d paired %s", c.Trials, strings.TrimLeft(words.Count(c.Trials, "trial"), "0123456789, "))
}

// basis says in full what the intervals rest on.
func (c Comparison) basis() string {
	how := "paired: trial k sent both systems the same requests"
	if !c.Paired {
		how = "not paired, because the two were measured at different times (trials of one experiment with compare are paired): Welch's test on logarithms"
	}
	return fmt.Sprintf("%s a cell, %s; %.0f %% over %s together", words.Count(c.Trials, "trial"),
		how, 100*decide.CompareLevel, words.Count(c.Compared, "primary metric"))
}

// Failures says of each side how many requests failed, and with what: "20 of 480 requests of
// new failed (http_500: overloaded), none of old"; "" where none did.
func (c Comparison) Failures() string { return failuresOf([]*decide.Comparison{c.Comparison}) }

// failuresOf is the same of a baseline and its candidates, who failed most first.
func failuresOf(all []*decide.Comparison) string {
	type side struct {
		name string
		decide.Failures
	}
	var sides []side
	for i, c := range all {
		if i == 0 {
			sides = append(sides, side{words.Line(c.Baseline), c.Failed[0]})
		}
		sides = append(sides, side{words.Line(c.Candidate), c.Failed[1]})
	}
	slices.SortStableFunc(sides, func(a, b side) int { return cmp.Compare(shareOf(b.Failures), shareOf(a.Failures)) })
	var parts, none []string
	for _, s := range sides {
		if s.Requests == 0 {
			none = append(none, s.name)
			continue
		}
		text := fmt.Sprintf("%s of %s of %s failed", words.Whole(s.Requests), words.Count(s.Of, "request"), s.name)
		if len(parts) > 0 {
			text = fmt.Sprintf("%s of %s of %s", words.Whole(s.Requests), words.Whole(s.Of), s.name)
		}
		if s.With != "" {
			text += " (" + words.Clip(s.With, withClip) + ")"
		}
		parts = append(parts, text)
	}
	switch {
	case len(parts) == 0:
		return ""
	case len(none) > 0:
		parts = append(parts, "none of "+words.And(none))
	}
	return strings.Join(parts, ", ")
}

func shareOf(f decide.Failures) float64 { return float64(f.Requests) / max(1, float64(f.Of)) }

// withClip is how much is told of what requests failed with.
const withClip = 60

// said is a text of a screen, how much it matters there, and the commands that it leads to.
type said struct {
	text     string
	weight   weight
	commands []string
	trials   int // of each side, that the commands measure
}

// parts are the text, and the commands as lines of their own. Where it is not known what
// measured something, which may be another client with other flags, the number alone is a part of the text.
func (x said) parts() (text string, commands []string) {
	switch {
	case len(x.commands) == 0:
		return x.text, nil
	case strings.HasPrefix(x.commands[0], "--"):
		return fmt.Sprintf("%s: measure each %d times", x.text, x.trials), nil
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

// allTheSame says what makes the figures of the requests that succeeded comparable: both sides
// measured again with a limit that their failures are within. Runs vary, so it is above twice
// their share.
func (c Comparison) allTheSame() string {
	share := 2 * max(shareOf(c.Failed[0]), shareOf(c.Failed[1]))
	for _, limit := range []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5} {
		if share > 0 && limit > share {
			return fmt.Sprintf("; to compare those that succeeded, measure both with --set verdict.errors.warn=%g", limit)
		}
	}
	return ""
}

// lostToFailures reports whether a metric cannot be judged because requests failed.
func (c Comparison) lostToFailures() bool {
	return slices.ContainsFunc(c.Primary(), func(r decide.Row) bool {
		return r.Undecidable && r.Check == validity.Errors
	})
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
	level, alone := c.levels(shown, short), short && !c.inPlan
	switch line := level; {
	case line == "" || alone:
	case short:
		out = append(out, said{text: line, weight: essential})
	default:
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
		if failed := c.Failures(); c.told && rows[0].Check == validity.Errors {
			text = alike(rows) + ": requests failed"
		} else if failed != "" && rows[0].Check == validity.Errors {
			text = failed
		}
		if rows[0].Whatever {
			text = strings.TrimSpace(doubtMark(rows[0])) + " " + note
			if failed := c.Failures(); rows[0].Check == validity.Errors && failed != "" && !c.told &&
				!c.lostToFailures() {
				text += "; " + failed
			}
			notes = append(notes, text)
			continue
		}
		if try := toTry(rows[0]); try != "" && !(c.told && rows[0].Check == validity.Errors) {
			text += "; try " + try
		}
		if rows[0].Check == validity.Errors {
			text += c.allTheSame()
		}
		notes = append(notes, text)
	}
	if alone && level != "" { // one text: a line is worth much there
		notes = slices.Insert(notes, 0, level)
	}
	if short && len(notes) > 1 {
		notes = []string{strings.Join(notes, " · ")}
	}
	held = doubtful
	if alone { // why there is no decision comes before what to type
		held = essential
	}
	for _, text := range notes {
		out = append(out, said{text: text, weight: held})
	}
	if n, supposing := c.trialsWanted(); n.Known() {
		text := fmt.Sprintf("to decide %s takes %s, %s", c.metrics(decidedByTrials), n, supposing)
		if n.Rough {
			text += fmt.Sprintf(" (as far as %d tell)", c.Trials)
		}
		commands := c.again(n.Most)
		switch {
		case n.Least > mostAdvised:
			text, commands = text+"; longer runs vary less: --request-count", nil
		case short: // the headline says how many
			text = "to decide " + c.metrics(decidedByTrials)
		}
		out = append(out, said{text: text, weight: advice, commands: commands, trials: n.Most})
	} else if c.Trials < stats.FewestTrials && c.Outcome() == decide.Unclear {
		out = append(out, said{
			text: "to decide it", weight: advice, commands: c.again(enoughTrials),
			trials: enoughTrials,
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
			same := func(r decide.Row) bool {
				return r.Note == first.Note && (remark(r) == remark(first) || r.Whatever && first.Whatever)
			}
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

// trialsWanted is what the metric that takes most would need, and what that supposes; nothing
// where it is not known of one of them.
func (c Comparison) trialsWanted() (most decide.Trials, supposing string) {
	equal, seen := false, false
	for _, r := range c.Primary() {
		if !decidedByTrials(r) {
			continue
		}
		if !r.Trials.Known() {
			return decide.Trials{}, ""
		}
		most.Least, most.Most = max(most.Least, r.Trials.Least), max(most.Most, r.Trials.Most)
		most.Rough = most.Rough || r.Trials.Rough
		equal, seen = equal || !r.AsSeen, seen || r.AsSeen
	}
	switch {
	case equal && seen:
		return most, "if the changes are as they look"
	case seen:
		return most, "if the change is as large as it looks"
	}
	return most, "if nothing changed"
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
	of := sample{metrics.Series(r.Key.Tag, ""), r.Count, r.Effective, max(r.Count, r.Sent), decide.Waiting{Open: true}}
	need, ok := of.need(percentileOf[r.Key.Stat])
	if !ok {
		return shortName(r) + " is uncertain: try " + of.unsteady()
	}
	return fmt.Sprintf("%.0f requests a trial are few for the %s itself, on both sides: --request-count %.0f%s%s", r.Count, shortName(r),
		need, c.takes(need), of.alike(percentileOf[r.Key.Stat]))
}
