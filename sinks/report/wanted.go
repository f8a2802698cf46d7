package report

import (
	"fmt"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/search"
)

// enoughTrials is how many find a difference of a tenth where trials vary by a
// few per cent; with fewer, a difference that is not shown says little. They are even: a slow
// change of the server cancels out over pairs of trials.
const enoughTrials = 6

// mostAdvised is how many trials a person is told to run; what takes more is said to.
const mostAdvised = 30

// wanted is what would decide one kind of question.
type wanted struct {
	what     string               // "which cell is best"
	trials   int                  // how many decide it; 0 where that is not known
	requests int                  // of a limit: how many of a cell decide it
	open     []*decide.CellResult // those that it is about; nil for all of the plan
}

// WantedSentence says what would decide that which is open, of the answers that are told,
// with the command that does it; "" where nothing is open, or no number of trials is known to
// decide it. What is advised is enough for each thing that it names.
func (r *Report) WantedSentence() string {
	var all []string
	for _, w := range r.wanted() {
		all = append(all, w.String())
	}
	return strings.Join(all, "; ")
}

// step is something to do next: what for, the command, and what else is to be said of it.
type step struct{ what, command, aside string }

// String is the step in one sentence.
func (s step) String() string {
	switch {
	case s.command == "":
		return s.what
	case s.aside == "":
		return s.what + ": " + s.command
	}
	return s.what + ": " + s.command + " (" + s.aside + ")"
}

// steps writes them below each other. A command that has no room beside what it is for has a
// line of its own, whole, however long it is: it is there to be copied.
func (s *sheet) steps(all []step) {
	for _, x := range all {
		if whole := x.String(); x.command == "" || words.Width(whole) <= min(s.width, sentenceWidth) {
			s.hanging(whole)
			continue
		}
		what := x.what
		if x.aside != "" {
			what += " (" + x.aside + ")"
		}
		s.hanging(what + ":")
		s.line("  " + x.command)
	}
}

// withTrials is a command with so many trials of each cell.
func withTrials(command string, n int) string { return argv.Again(command, trialsOption(n)) }

func trialsOption(n int) argv.Change {
	flag, value, _ := strings.Cut(strings.TrimPrefix(schema.TrialsOption(n), "--"), " ")
	return argv.Change{Flag: flag, Value: value}
}

// cause is the command that says what limits the server at the load that fails, where a smaller one holds.
func (r *Report) cause() []step {
	a := r.Search
	if a.Holds == nil || a.Fails == nil || r.Dir == "" || len(a.Tiers) > 0 || a.Fails.Load < a.Holds.Load {
		return nil
	}
	return []step{{"why " + r.amounts().is(a.Fails.Load, "too many", "too much"), "aiperf diagnose " + argv.Shell(r.Dir), ""}}
}

func (r *Report) wanted() (out []step) {
	if r.Search != nil {
		if r.Search.Outcome == search.Wide || r.Search.Outcome == search.ClientLost {
			return r.narrow(r.Command)
		}
		return append(r.widen(r.Command), r.cause()...) // where the budget is spent, a resume goes on
	}
	if r.Results == nil || r.Adaptive != nil || strings.HasPrefix(r.Command, "aiperf quick") {
		return nil // after a look of quick comes its search
	}
	var few, many []wanted
	most := wanted{}
	for _, w := range []wanted{r.wantedForBest(), r.wantedForPairs(), r.wantedForLimits(), r.wantedForGates()} {
		switch {
		case w.trials > mostAdvised:
			many = append(many, w)
		case w.trials > r.Plan.Trials:
			few = append(few, w)
			if w.trials >= most.trials {
				most = w
			}
		}
	}
	switch {
	case len(few) > 0:
		loads, cells := r.onlyLoads(openIn(few))
		command := argv.Again(r.Command, append(loads, trialsOption(most.trials))...)
		aside := r.trialsTake(most.trials, len(cells))
		if most.requests > 0 {
			aside = strings.TrimSuffix(words.Count(most.requests, "request")+" per cell show 99 %, "+aside, ", ")
		}
		out = append(out, step{"to decide " + listed(few), command, aside})
	case r.Plan.Trials < enoughTrials && r.openBest(func(b decide.Best) bool { return !b.Trials.Known() }):
		out = append(out, step{
			fmt.Sprintf("fewer than %d trials seldom show which cell is best", enoughTrials),
			withTrials(r.Command, enoughTrials), r.trialsTake(enoughTrials, len(r.Plan.Cells)),
		})
	}
	for _, w := range many {
		if w.requests > 0 {
			requests := decide.RoundRequests(float64(w.requests) / float64(r.Plan.Trials))
			loads, cells := r.onlyLoads(w.open)
			flag, value, takes := runsOf(requests, cells, r.Plan.Trials)
			command := argv.Again(r.Command, append(loads, argv.Change{Flag: flag, Value: value})...)
			out = append(out, step{"to decide " + w.what, command, takes})
		} else {
			out = append(out, step{fmt.Sprintf("to decide %s takes up to %d trials", w.what, w.trials), "", ""})
		}
	}
	return out
}

// openIn are the cells that some questions are about; nil where one of them is about all.
func openIn(all []wanted) (cells []*decide.CellResult) {
	for _, w := range all {
		if w.open == nil {
			return nil
		}
		cells = append(cells, w.open...)
	}
	return cells
}

// trialsTake is how long so many trials of some cells take, as long as those that were measured
// each: "about 12m in all"; "" where that is not known.
func (r *Report) trialsTake(trials, cells int) string {
	if r.Elapsed <= 0 || r.Runs == 0 {
		return ""
	}
	runs := cells * trials
	return "about " + words.Span(r.Elapsed/time.Duration(r.Runs)*time.Duration(runs)) + " in all"
}

// listed are several questions in one sentence.
func listed(all []wanted) string {
	var names []string
	for _, w := range all {
		names = append(names, w.what)
	}
	return words.And(names)
}

// wantedForBest is how many trials show a best cell, as far as that is known.
func (r *Report) wantedForBest() wanted {
	w := wanted{what: "which cell is best"}
	r.openBest(func(b decide.Best) bool {
		w.trials, w.open = max(w.trials, b.Trials.Most), append(w.open, b.MayBe...)
		return false
	})
	return w
}

// openBest reports whether it is open of some of the answers which cell is best, and holds:
// where that was asked and no comparison. One that is open because cells may or may not
// keep their limits is not decided by their values.
func (r *Report) openBest(holds func(decide.Best) bool) bool {
	if len(r.Results.Comparisons) > 0 {
		return false
	}
	for _, b := range r.asked() {
		chosen := b.Choose != nil && r.Plan.Trials >= stats.FewestTrials
		if !b.Shown && !b.Tie && !b.Lowest && !chosen && !b.Doubtful && b.RunnerUp != nil &&
			!(b.Limits && openLimits(b.MayBe)) && holds(b) {
			return true
		}
	}
	return false
}

// wantedForPairs is how many trials decide comparisons over several workloads, if nothing
// changed; one of a single workload says so below its table.
func (r *Report) wantedForPairs() wanted {
	w := wanted{what: "the comparison"}
	for _, c := range r.Results.Comparisons {
		if pairs := (Comparison{Comparison: c}); c.Outcome() == decide.Unclear && pairs.severalCells() {
			n, supposing := pairs.trialsWanted()
			if n.Most > w.trials {
				w.trials, w.what = n.Most, "the comparison, "+supposing
			}
		}
	}
	return w
}

// openLimits reports whether it is not decided of some of the cells that they keep their
// limits.
func openLimits(cells []*decide.CellResult) bool {
	for _, c := range cells {
		for _, s := range c.SLOs {
			if s.State == decide.Undecided {
				return true
			}
		}
		for _, g := range c.Gates {
			if g.State == decide.Undecided {
				return true
			}
		}
	}
	return false
}

// wantedForLimits is how many trials decide the share of good requests of every cell in
// which more of them do.
func (r *Report) wantedForLimits() wanted {
	w := wanted{what: "the limits"}
	for i := range r.Results.Cells {
		c := &r.Results.Cells[i]
		for _, s := range c.SLOs {
			if s.Trials > w.trials {
				w.trials, w.requests = s.Trials, s.Requests
			}
			if s.State == decide.Undecided { // what is in doubt is measured again, too: it may be the best one
				w.open = append(w.open, c)
			}
		}
	}
	return w
}

// wantedForGates is the same of gates.
func (r *Report) wantedForGates() wanted {
	w := wanted{what: "the gates"}
	for i := range r.Results.Cells {
		c := &r.Results.Cells[i]
		for _, g := range c.Gates {
			if g.State == decide.Undecided && !g.Undecidable {
				w.trials, w.open = max(w.trials, g.Trials.Most), append(w.open, c)
			}
		}
	}
	return w
}
