package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner/verdict"
)

// RunFindings is what the checks found in one run.
type RunFindings struct {
	Cell     string // as the matrix calls it: "isl 8, concurrency 4"
	Trial    int    // from 0
	Findings []verdict.Finding
}

// Checks is what a verdict rests on: every check that moves it, in the order of the
// report's head, with what to do about it and a line for each cell that it is about. All
// adds the others, Every a line for each run.
type Checks struct {
	Plan       []verdict.Finding // about the plan as a whole
	Runs       []RunFindings
	All, Every bool
}

// Write prints them; it tells how many it printed, and which others are past a limit that
// does not move the verdict.
func (c Checks) Write(w io.Writer) (printed int, notes []string, err error) {
	b := newSheet(0)
	for _, g := range c.grouped() {
		if g.worst == noted && !c.All {
			notes = append(notes, g.check)
			continue
		}
		g.write(b)
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
	worst  verdict.Finding
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
			take(who, f)
		}
	}
	for _, g := range out {
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
		g.said = append(g.said, &saying{who, 1, f})
		return
	}
	s := g.said[i]
	s.trials++
	if was, is := rankOf(s.worst), rankOf(f); is > was || is == was && f.Beyond() > s.worst.Beyond() {
		s.worst = f
	}
}

func (g *checkGroup) write(s *sheet) {
	of := ""
	if g.runs > 1 {
		of = fmt.Sprintf(": %d of %s", g.in, words.Count(g.runs, "run"))
	}
	if g.worst == noted {
		of += " (past its limit, which does not move the verdict)"
	}
	s.wrapped("", fmt.Sprintf("%s %s%s", g.worst, g.check, of))
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
			if said.trials > 1 {
				head += fmt.Sprintf(" (worst of %d trials)", said.trials)
			}
			head += ": "
		}
		s.wrapped(head, said.worst.Sentence())
	}
}
