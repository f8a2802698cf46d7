// Package report is what people read: the screen that shows progress, the report
// on a finished plan for the console and as Markdown, and AIPerf's table where a
// script waits for it. It decides nothing: verdicts, estimates and sentences come
// from the stations before it.
package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/rules"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/search"
	"aiperf.dev/aiperf/sweep/source"
)

// Report is what a person is told about a finished plan, in one place for the
// console, Markdown and JSON.
type Report struct {
	Plan       *sweep.Plan
	Results    *decide.Results
	Search     *search.Answer  // of a plan that searches, nil for a matrix
	tier       *sweep.Tier     // which of several limits Search is the answer for
	Adaptive   *source.Adapted // of an adaptive search, nil for any other plan
	Raised     []string        // what phases found that raised their own load, of a single run
	Verdict    validity.Verdict
	Doubts     []Doubt                   // checks that are not clean, worst first
	Touched    map[string]validity.Level // by them: metrics, or single statistics of them ("inter_token_latency.p90")
	Everything bool                      // a check that is not clean touches every number, or none by name
	Spoiled    []string                  // numbers that were asked for and are invalid, with their checks
	Elapsed    time.Duration
	Dir        string
	Command    string          // what measured it, as it was typed, secrets masked; "" where it is not known
	Width      int             // columns of the terminal; 0 is 80
	Terminal   bool            // what is too long for one is left out; a pipe takes all
	View       string          // file name of the page with charts, "" for none
	Stopped    string          // why the plan ended early; "" if it did not
	Limit      string          // what limits the server, as aiperf diagnose says it; "" where nothing is known of it
	Rules      *rules.Document // how it stands to the rules of others that were asked for, nil for none
	Client     string          // what the client itself used: "11 % of 2 cores, 99 % of the sends at most 0.09 ms late"
	Broken     int             // runs that gave up, or lost their server
	Why        string          // the first of them did

	// One run, when the plan is a single one.
	Full, Steady  *metrics.Summary
	FullFor       time.Duration    // length of the time that the rates of the whole run count
	SteadyFor     time.Duration    // length of the steady window
	Parts         []metrics.Part   // of several targets and models: each
	Taints        validity.Taints  // what findings do to the numbers of the only run
	Missed        map[string]int64 // by SLO: requests that missed it
	MissedSeveral int64            // requests that missed more than one SLO
	Asked         string           // what was asked for, where it can be compared: "asked 64"
	// nobody said how long prompts are
	DefaultISL bool

	Errors     []verdict.ErrorCount // of requests, most frequent first
	Runs       int                  // of the plan; those carried out where it does not list them
	FailedRuns []FailedRun          // of which no number is used, in the order of execution
	Requests   record.Counts        // over all runs
	Notices    []string             // one line each, said once

	marked  touched        // what is behind the marks that the table of a single run shows
	common  validity.Taint // of all its figures alike, which have no mark
	endless bool           // its table has ∞ of requests that were cut off, or never sent
	whole   bool           // nothing is folded, however long it is
	folded  int            // how much of what is in doubt, or not decided, is folded: see withoutCauses
}

// Doubt is one check of the verdict that is not clean, over all runs.
type Doubt struct {
	Verdict            validity.Verdict
	Check, Detail, Try string
	Because            string        // what was seen to cause it, "" for nothing
	Runs               int           // how many say so
	Cells              []*sweep.Cell // whose runs do
	All                bool          // it is told of all of them, and not of the worst
}

// Said is what was found and why.
func (d *Doubt) Said() string {
	if d.Because == "" {
		return d.Detail
	}
	return d.Detail + "; because " + d.Because
}

// How far a screen is folded that has more lines than it should: what is in doubt or not
// decided is counted; then causes are left to aiperf checks; then what was not asked.
const (
	withoutCauses = 2
	mostFolds     = 3
	onlyEssential = 4 // on a terminal, parts are left out, by their weight
)

// narrowest is the width of a terminal below which a screen has as many lines as it takes.
const narrowest = 60

// Lines that a screen should have: of one run, of a comparison of one workload, and of
// others, beyond the rows of the table and at least.
const (
	linesOfOne   = 16
	linesOfPair  = 14
	linesBeyond  = 12
	linesAtLeast = 20
)

// linesOfFinding are how many lines a finding has on a screen that would be too long, whose
// words are so many columns wide at most, as a rule.
const (
	linesOfFinding = 2
	longestWord    = 12
)

// room is how many lines the screen should have.
func (r *Report) room() int {
	switch {
	case r.Full != nil:
		return linesOfOne
	case r.Search != nil:
		return linesAtLeast
	case len(r.Results.Comparisons) == 1 && !(Comparison{Comparison: r.Results.Comparisons[0]}).severalCells():
		return linesOfPair
	}
	return max(linesAtLeast, len(r.Results.Cells)+linesBeyond)
}

// WriteConsole prints the report: the answer, the table, what was missed, and where to
// look further. A screen that would be too long is folded.
func (r *Report) WriteConsole(w io.Writer) error {
	said, lines := "", 0
	most := mostFolds
	if r.Terminal && (r.Width <= 0 || r.Width >= narrowest) {
		most = onlyEssential
	}
	for r.folded = 0; r.folded <= most; r.folded++ {
		s := r.screen()
		if n := strings.Count(s, "\n"); said == "" || n < lines {
			said, lines = s, n
		}
		if lines <= r.room() || r.whole {
			break
		}
	}
	_, err := io.WriteString(w, words.Clean(said)) // servers' words are in it, and names of directories
	return err
}

func (r *Report) screen() string {
	s := newSheet(r.Width)
	more := ""
	if r.Full != nil {
		r.headOfOne(s)
		if r.folded < withoutCauses {
			s.line("")
		}
		r.single(s)
	} else {
		r.head(s)
		if c := r.Results.Comparisons; len(c) > 0 {
			s.part(design)
			if line := (Comparison{Comparison: c[0]}).load(); line != "" {
				s.wrapped("", line)
			}
			if r.folded < withoutCauses {
				s.line("")
			}
		}
		if len(r.Plan.Cells) == 1 && r.Search == nil && r.Adaptive == nil { // what was measured is in no column
			s.part(design)
			s.wrapped("", r.about())
		}
		s.part(essential)
		if r.Search != nil {
			r.probes(s)
			s.part(advice)
			s.steps(r.wanted())
			r.rules(s)
		} else if without := r.matrix(s); len(without) > 0 {
			more = " (summary.md has " + words.And(without) + ")"
		}
	}
	if said, alarming := r.answersSentences(); len(said) > 0 && r.Full == nil && !(alarming && r.plain()) {
		s.part(essential)
		s.wrapped(words.Pad("answers", r.labelWidth()), strings.Join(said, "; "))
	}
	s.part(aside)
	if r.Limit != "" && r.folded < mostFolds {
		name := "server"
		if r.Full != nil {
			name = "Server"
		}
		s.wrapped(words.Pad(name, r.labelWidth()), r.Limit)
	}
	r.problems(s)
	if r.Full != nil {
		r.gates(s)
		r.rules(s)
	}
	s.part(essential)
	open := r.Dir + "/"
	if r.View != "" {
		open += r.View
	}
	if line := words.Pad("open", r.labelWidth()) + open; words.Width(line+more) > s.width && more != "" {
		more = " (more in summary.md)"
	}
	s.line(words.Pad("open", r.labelWidth()) + open + more)
	if r.folded > mostFolds {
		return s.within(r.room())
	}
	return s.String()
}

// labelWidth is how wide the names of the lines below a table are.
func (r *Report) labelWidth() int {
	if r.Full != nil {
		return labelColumn
	}
	return noteColumn
}

// head is the answer of a plan with its certainty.
func (r *Report) head(s *sheet) {
	answer := r.answer()
	if r.folded > mostFolds && len(answer) > 1 && r.Search == nil { // each tier of a search has its own
		answer = answer[:1]
	}
	parts := []string{}
	if r.Search != nil {
		parts = append(parts, words.Count(len(r.Search.Runs), "probe"))
	} else if r.Adaptive != nil {
		parts = append(parts, words.Count(len(r.Adaptive.Iterations), "iteration"))
	} else if n := len(r.Plan.Cells); n > 1 && len(r.Results.Comparisons) == 0 {
		parts = append(parts, words.Count(n, "cell")+" × "+words.Count(r.Plan.Trials, "trial"))
	} else if len(r.Results.Comparisons) > 0 {
		parts = append(parts, Comparison{Comparison: r.Results.Comparisons[0]}.design())
	} else {
		parts = append(parts, words.Count(r.Plan.Trials, "trial"))
	}
	verdict := r.Verdict.String()
	if r.Verdict == validity.Invalid && r.Plan.Experiment.AllowInvalid {
		verdict += ", exit code 0 because allow_invalid is set"
	}
	pair := len(r.Results.Comparisons) == 1 && !(Comparison{Comparison: r.Results.Comparisons[0]}).severalCells()
	if r.folded >= mostFolds && r.Search == nil && !pair { // the legend has no room for it
		parts = append(parts, fmt.Sprintf("%.0f %% intervals", 100*r.Results.Level))
	}
	parts = append(parts, words.Span(r.Elapsed), verdict)
	if facts := strings.Join(parts, " · "); len(answer) == 0 {
		s.line(facts)
	} else {
		s.spread(answer, facts)
	}
	r.doubts(s)
}

// plain reports whether the answer is which cell is best: nothing was searched or compared.
func (r *Report) plain() bool {
	return r.Search == nil && r.Adaptive == nil && len(r.Results.Comparisons) == 0
}

// answer is what is said first: of a comparison what it found, else which cell is best.
func (r *Report) answer() (out []string) {
	if s := r.Plan.Experiment.Raised; s != "" {
		defer func() { out = append(out, s) }()
	}
	if r.Search != nil {
		return r.searchSentences()
	}
	if r.Adaptive != nil {
		return r.adaptiveSentences()
	}
	if len(r.Results.Comparisons) == 0 {
		if said, alarming := r.answersSentences(); alarming {
			out = said
		}
		out = append(out, r.bestSentences(r.folded > 0)...)
		if line := r.beside(); line != "" && r.folded == 0 {
			out = append(out, line)
		}
		return out
	}
	for _, c := range r.Results.Comparisons {
		out = append(out, Comparison{Comparison: c}.Headline()+r.missedGates())
		line := Comparison{Comparison: c}.Changes()
		if r.folded > 0 { // the headline names what is not decided
			line = cmp.Or(Comparison{Comparison: c}.changes(decide.Worse, decide.Better, decide.Equivalent), line)
		}
		if line != "" && (Comparison{Comparison: c}).severalCells() {
			out = append(out, line)
		}
	}
	return out
}

// doubts are what keeps the numbers from being relied on, each with what to try.
func (r *Report) doubts(s *sheet) {
	if r.Full != nil && r.Verdict == validity.Invalid && r.Plan.Experiment.AllowInvalid {
		s.wrapped("", "exit code 0 because allow_invalid is set")
	}
	if why := r.Failure(); why != "" {
		s.wrapped("", why)
	}
	most := r.mostDoubts()
	for i, d := range r.ordered() {
		if i == most {
			s.part(advice)
			s.line(fmt.Sprintf("  … and %s: aiperf checks %s", words.Count(len(r.Doubts)-most, "other finding"), r.Dir))
			break
		}
		word := words.Pad("doubt", noteColumn) // the verdict of the whole stands above
		if i == 0 && r.Full != nil {
			word = words.Pad(r.Verdict.String(), noteColumn) + " "
		}
		d = r.ofAll(d)
		if r.folded > 0 { // the first thing to try, and at last no causes
			d.Try, _, _ = strings.Cut(d.Try, "; ")
		}
		if r.folded >= withoutCauses {
			d.Because = ""
		}
		s.part(essential)
		if r.folded > mostFolds { // what was found is cut, and not who says so
			where := words.Width(d.sentence(r.Runs)) - words.Width(d.Said())
			d.Detail = wholeWords(d.Said(), linesOfFinding*(s.width-words.Width(word)-longestWord)-where)
			d.Because = ""
		}
		s.wrapped(word, d.sentence(r.Runs))
		s.part(advice)
		if d.Try != "" && (r.folded < mostFolds || len(r.Doubts) == 1 || r.room() <= linesAtLeast) {
			s.wrapped("  try ", d.Try)
		}
		if r.folded > mostFolds && r.Full == nil && len(r.Doubts) == 1 { // the legend, which says so, may be left out
			s.line("  more: aiperf checks " + r.Dir)
		}
	}
	s.part(missed)
	if holds := r.whatHolds(); holds != "" && (r.folded < mostFolds || r.Full != nil) &&
		(len(r.Spoiled) == 0 || r.folded < withoutCauses) {
		s.wrapped("  ", holds)
	}
	spoiled := r.Spoiled
	if r.folded >= mostFolds && r.Full == nil && len(spoiled) > 0 {
		s.wrapped("  ", fmt.Sprintf("%s: aiperf checks %s", words.CountOf(len(spoiled),
			"number that the experiment asks for is not usable",
			"numbers that the experiment asks for are not usable"), r.Dir))
		spoiled = nil
	}
	if r.Full != nil { // why the exit code is 4
		s.part(advice)
	}
	for i, line := range spoiled {
		if i == most {
			s.line(fmt.Sprintf("  … and %s", words.Count(len(spoiled)-most, "other number")+" asked for"))
			break
		}
		s.wrapped("  ", line)
	}
	s.part(essential)
	if r.Stopped != "" && r.Full == nil { // of one run it stands first
		r.partial(s)
	}
}

// partial says that there is more to measure, and how.
func (r *Report) partial(s *sheet) { s.wrapped("", "PARTIAL: "+r.Stopped+"; "+r.resume()) }

// perSide says how many requests of each side of a comparison failed, and with what; "" where
// nothing is compared, or none did.
func (r *Report) perSide() string {
	if r.Results == nil || len(r.Results.Comparisons) == 0 {
		return ""
	}
	return failuresOf(r.Results.Comparisons)
}

// ofAll says how many requests failed in all runs: a finding is of the worst of them.
func (r *Report) ofAll(d Doubt) Doubt {
	switch sides := r.perSide(); {
	case d.Check != validity.Errors || r.Runs <= 1:
	case sides != "":
		d.Detail, d.All = sides, true
	default:
		d.Detail = failedOfAll(r.Requests, "run", d.Detail)
	}
	return d
}

// mostDoubts is how many findings stand above the table.
func (r *Report) mostDoubts() int { return max(maxDoubts-r.folded, 1) }

// tellsFailures reports whether one of them says how many requests failed.
func (r *Report) tellsFailures() bool {
	i := slices.IndexFunc(r.ordered(), func(d Doubt) bool { return d.Check == validity.Errors })
	return i >= 0 && i < r.mostDoubts()
}

// ordered are the doubts, the worst first; of one run that requests failed comes before all,
// of others that most did.
func (r *Report) ordered() []Doubt {
	i := slices.IndexFunc(r.Doubts, func(d Doubt) bool { return d.Check == validity.Errors })
	if i <= 0 || r.Full == nil && !r.mostFailed() || !r.mostFailed() && r.Doubts[i].Verdict < r.Doubts[0].Verdict {
		return r.Doubts
	}
	return slices.Concat(r.Doubts[i:i+1], r.Doubts[:i], r.Doubts[i+1:])
}

// sentence is the finding with the name of its check and the runs that have it.
func (d Doubt) sentence(runs int) string {
	where := "check " + d.Check
	if d.Runs > 0 && runs > 1 {
		where += fmt.Sprintf(", in %d of %s", d.Runs, words.Count(runs, "run"))
		if at := d.at(); at != "" && d.Runs < runs {
			where += ", at " + at
		}
		if d.Runs > 1 && !d.All { // its figures are of one of them
			where += "; this is the worst"
		}
	}
	return d.Said() + " (" + where + ")"
}

// at names the cells whose runs have it, "" where each has only one name, or they are too many.
func (d Doubt) at() string {
	var names []string
	for _, c := range d.Cells {
		names = append(names, c.Short())
	}
	if slices.Contains(names, "") || len(names) > mostBest {
		return ""
	}
	return words.And(words.Once(names))
}

// Failure says that runs gave up, or lost their server, and why; "" where none did.
func (r *Report) Failure() string {
	switch {
	case r.Broken == 0:
		return ""
	case !r.Plan.Several():
		return "the run failed: " + r.Why
	}
	return fmt.Sprintf("%d of %s failed, the first one: %s", r.Broken, words.Count(r.Runs, "run"), r.Why)
}
