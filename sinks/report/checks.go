package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner/verdict"
)

// RunFindings is what the checks found in one run.
type RunFindings struct {
	Cell     string           // as the matrix calls it: "isl 8, concurrency 4"
	Trial    int              // from 0
	Verdict  validity.Verdict // on the run as a whole; NotJudged where it is not known
	Findings []verdict.Finding
}

// Checks is what a verdict rests on: every check that moves it, in the order of the
// report's head, with what to do about it and a line for each cell that it is about. All
// adds the others, Every a line for each run.
type Checks struct {
	Plan       []verdict.Finding // about the plan as a whole
	Runs       []RunFindings
	Requests   map[string]record.Counts // how those of all runs of a cell ended
	All, Every bool
}

// Write prints them; it tells how many it printed, and which others are past a limit that
// does not move the verdict.
func (c Checks) Write(w io.Writer) (printed int, notes []string, err error) {
	b := newSheet(0)
	for _, g := range c.grouped() {
		if g.worst == noted && !c.All && len(g.touched()) == 0 { // a mark leads here
			notes = append(notes, g.check)
			continue
		}
		g.write(b, c.All)
		printed++
	}
	_, err = io.WriteString(w, words.Clean(b.String()))
	return printed, notes, err
}

// rank orders findings: clean, noted, and what moves the verdict.
type rank int

func rankOf(f verdict.Finding) rank {
	r := 2 * rank(f.Verdict)
	if f.Verdict == verdict.Valid && f.Noted {
		r++
	}
	return r
}

const (
	clean rank = 2 * rank(verdict.Valid)
	noted rank = clean + 1
)

func (r rank) String() string {
	if r == noted {
		return "note"
	}
	return verdict.Verdict(r / 2).String()
}

// checkGroup is one check and what it said.
type checkGroup struct {
	check string
	worst rank
	runs  int // of how many; 0 for a check of the plan
	in    int // in how many runs it is past its limit; of a clean one: how many it was asked of
	said  []*saying
}

// saying is what a check said of a cell or a run: the worst finding speaks.
type saying struct {
	who    string // "" for the plan
	trials int
	failed record.Counts // of all trials, where the check is of failures
	worst  verdict.Finding
	also   []string        // what it found of other numbers, in any of the trials
	taints verdict.Touched // the numbers that are touched in any of them
	all    bool            // every one is
}

func (c Checks) grouped() []*checkGroup {
	var out []*checkGroup
	byName := map[string]*checkGroup{}
	take := func(who string, f verdict.Finding) {
		rank := rankOf(f)
		if rank == clean && !c.All {
			return
		}
		g := byName[f.Check]
		if g == nil {
			g = &checkGroup{check: f.Check, worst: clean}
			byName[f.Check] = g
			out = append(out, g)
		}
		if who != "" {
			g.runs = len(c.Runs)
			if g.worst == clean && rank > clean {
				g.in = 0
			}
			if rank > clean || g.worst == clean {
				g.in++
			}
		}
		g.worst = max(g.worst, rank)
		g.add(who, f)
	}
	for _, f := range c.Plan {
		take("", f)
	}
	for _, r := range c.Runs {
		who := cmp.Or(r.Cell, "the cell")
		if c.Every {
			who += fmt.Sprintf(", trial %d", r.Trial+1)
		}
		for _, f := range r.Findings {
			if r.Verdict != validity.NotJudged { // single numbers that are not usable make no run INVALID
				f.Verdict = min(f.Verdict, r.Verdict)
			}
			take(who, f)
		}
	}
	for _, g := range out {
		for _, s := range g.said {
			if !c.Every && g.check == validity.Errors {
				s.failed = c.Requests[s.who]
			}
		}
		slices.SortStableFunc(g.said, func(a, b *saying) int {
			return cmp.Or(cmp.Compare(rankOf(b.worst), rankOf(a.worst)),
				cmp.Compare(b.worst.Beyond(), a.worst.Beyond()))
		})
	}
	slices.SortStableFunc(out, func(a, b *checkGroup) int { // clean ones stay in the order of the catalogue
		if a.worst == clean && b.worst == clean {
			return 0
		}
		return cmp.Or(cmp.Compare(b.worst, a.worst), cmp.Compare(b.said[0].worst.Beyond(), a.said[0].worst.Beyond()),
			cmp.Compare(a.check, b.check))
	})
	return out
}

func (g *checkGroup) add(who string, f verdict.Finding) {
	i := slices.IndexFunc(g.said, func(s *saying) bool { return s.who == who && who != "" })
	if i < 0 {
		i = len(g.said)
		g.said = append(g.said, &saying{who: who, worst: f, taints: verdict.Touched{}})
	}
	s := g.said[i]
	s.trials++
	if was, is := rankOf(s.worst), rankOf(f); is > was || is == was && f.Beyond() > s.worst.Beyond() {
		s.worst, f = f, s.worst
	}
	s.take(s.worst)
	s.take(f)
}

// take adds what a finding says of numbers, each once: the words of the worst trial stay.
func (s *saying) take(f verdict.Finding) {
	s.all = s.all || f.TouchesAll()
	for what, level := range f.Taints {
		if level.Worse(s.taints[what]) {
			s.taints[what] = level
		}
	}
	said := append([]string{s.worst.Detail}, s.also...)
	for _, line := range append([]string{f.Detail}, f.Also...) {
		if len(f.Taints) > 0 && !slices.ContainsFunc(said, func(x string) bool { return shape(x) == shape(line) }) {
			said, s.also = append(said, line), append(s.also, line)
		}
	}
}

// figures are the numbers of a sentence.
var figures = regexp.MustCompile(`[0-9][0-9.,]*( (ns|µs|ms|s)\b)?`)

// shape is a sentence without what differs between two that say the same of two runs. The
// name of a percentile stays.
func shape(sentence string) string {
	return figures.ReplaceAllStringFunc(sentence, func(n string) string {
		if !strings.ContainsAny(n, " .,") && slices.Contains([]string{"50", "90", "99"}, n) {
			return n
		}
		return "#"
	})
}

func (g *checkGroup) write(s *sheet, all bool) {
	of := ""
	if g.runs > 1 {
		of = fmt.Sprintf(": %d of %s", g.in, words.Count(g.runs, "run"))
	}
	switch touched := len(g.touched()) > 0; {
	case g.worst == noted && touched:
		of += " (it puts single numbers in doubt, and does not move the verdict)"
	case g.worst == noted:
		of += " (past its limit, which does not move the verdict)"
	}
	s.wrapped("", fmt.Sprintf("%s %s%s", g.worst, g.check, of))
	if names := g.names(all); names != "" {
		s.wrapped("  ", names)
	}
	if try := g.said[0].worst.Try; try != "" && g.worst > clean {
		s.wrapped("  try: ", try)
	}
	for _, said := range g.said {
		head := "  "
		if r := rankOf(said.worst); r != g.worst {
			head += r.String() + " "
		}
		if said.who != "" && g.runs > 1 {
			head += said.who
			if said.trials > 1 && said.failed.Failed == 0 {
				head += fmt.Sprintf(" (worst of %d trials)", said.trials)
			}
			head += ": "
		}
		text := said.worst.Sentence()
		if said.failed.Failed > 0 && g.runs > 1 {
			text = failedOfAll(said.failed, "trial", text)
		}
		s.wrapped(head, text)
		for _, more := range said.also {
			s.wrapped("    ", more)
		}
	}
}

// touched are the numbers that the check puts in doubt in any cell, each as badly as it does
// in the worst; none of a clean one.
func (g *checkGroup) touched() map[string]validity.Level {
	out := map[string]validity.Level{}
	for _, said := range g.said {
		for what, level := range said.taints {
			if level.Worse(out[what]) {
				out[what] = level
			}
		}
	}
	return out
}

// namedOfCheck is how many numbers are named that a check puts in doubt, unless all are.
const namedOfCheck = 6

// names are those of the numbers that the check puts in doubt; "" for none.
func (g *checkGroup) names(all bool) string {
	most := namedOfCheck
	if all {
		most = math.MaxInt
	}
	if slices.ContainsFunc(g.said, func(s *saying) bool { return s.all }) {
		return levelWords[validity.LevelOf(verdict.Verdict(g.worst/2))] + ": every number"
	}
	return saidTouched(g.touched(), most)
}
