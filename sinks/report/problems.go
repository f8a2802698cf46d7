package report

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// What a screen holds; summary.md has all.
const (
	maxDoubts  = 2
	maxNotices = 2
	maxErrors  = 3
)

// endings are how requests ended that neither succeeded nor failed.
var endings = []struct {
	name, said string
	part, of   record.Parts
}{
	{"Cut off", " sent, by the end of the phase", record.InCut, record.WasSent},
	{"Cancelled", " sent, as the experiment asks", record.InCancelled, record.WasSent},
	{"Never sent", " that were due", record.InUnsent, record.Due},
}

// problems are errors and notices.
func (r *Report) problems(s *sheet) {
	n := r.Requests
	r.errors(s)
	s.part(further)
	for _, x := range endings {
		if count := n.In(x.part); count > 0 {
			said := x.said
			if r.endless && x.name != "Cancelled" {
				said += "; from schedule they count as ∞"
			}
			fmt.Fprintf(s, "%-17s%s of %s%s\n", x.name, words.Whole(count), words.Whole(n.In(x.of)), said)
		}
	}
	s.part(missed)
	if len(r.FailedRuns) > 0 {
		what := "Failed runs"
		if !slices.ContainsFunc(r.FailedRuns, func(f FailedRun) bool { return !f.Interrupted }) {
			what = "Interrupted runs"
		}
		fmt.Fprintf(s, "%-17s%s of %s; in no average\n", what, words.Whole(len(r.FailedRuns)), words.Whole(r.Runs))
		r.failedRuns(s)
	}
	r.client(s)
	s.part(aside)
	notes, most := r.notes(), maxNotices
	if r.folded > 0 {
		most = 1
	}
	for i, n := range notes {
		left := len(notes) - most
		switch {
		case i == most && r.folded == 0:
			s.line(fmt.Sprintf("note: %d more in summary.md", left))
			return
		case i == most-1 && left > 0 && r.folded > 0:
			s.wrapped("note: ", fmt.Sprintf("%s; %d more in summary.md", n, left))
			return
		}
		s.wrapped("note: ", n)
	}
}

// errors are how many requests failed, of a comparison on which side, and with what; what a
// doubt has said already is left out of a screen that is short.
func (r *Report) errors(s *sheet) {
	n := r.Requests
	s.part(essential)
	doubted := slices.ContainsFunc(r.Doubts, func(d Doubt) bool { return d.Check == "errors" })
	sides := r.perSide()
	switch {
	case doubted && sides != "" && r.folded > 0:
		return
	case sides != "":
		s.wrapped(words.Pad("Errors", 17), sides)
	case n.In(record.WasSent) > 0 && (n.Failed > 0 || r.Full != nil):
		of := words.Whole(n.In(record.Answered))
		if n.In(record.Answered) < n.In(record.Due) { // the other counts are of other requests
			of += " answered"
		}
		fmt.Fprintf(s, "%-17s%s of %s\n", "Errors", words.Whole(n.Failed), of)
	}
	if r.folded == 0 || len(r.Errors) != 1 || !doubted {
		listErrors(s, r.Errors)
	}
}

// failedOfAll is how many requests failed in all runs, where a check says how many of the worst one did:
// "31 of 960 requests failed (8 of 160 in the worst trial): http_500".
func failedOfAll(n record.Counts, worst, said string) string {
	least, with, known := strings.Cut(said, ": ")
	text := fmt.Sprintf("%s of %s failed (%s in the worst %s)", words.Whole(n.Failed),
		words.Count(n.In(record.Answered), "request"), strings.TrimSuffix(least, " requests failed"), worst)
	if known {
		text += ": " + with
	}
	return text
}

// FailedRun is a run without a result, and its place in the experiment.
type FailedRun struct {
	Cell  string
	Trial int // 1-based, as Place is
	// Sentinel is which of the sentinel's runs it is, 0 for a trial.
	Sentinel int
	Place    int // among the runs of its trial, which are one block
	Of       int // 0 where the plan does not list them
	Why      string
	// Interrupted says that a signal cut it short: no fault of the run.
	Interrupted bool
}

// FailedRunsOf are the outcomes of plan that gave nothing.
func FailedRunsOf(plan *sweep.Plan, outcomes []decide.Outcome) (out []FailedRun) {
	place, of := map[string]int{}, map[int]int{}
	for _, run := range plan.Runs { // each run of the sentinel is a trial that the plan does not have
		of[run.Trial]++
		place[run.ID] = of[run.Trial]
	}
	for _, o := range outcomes {
		if o.Err != "" && plan.Several() {
			out = append(out, FailedRun{
				o.Run.Cell.Short(), o.Run.Trial + 1, o.Run.Sentinel,
				place[o.Run.ID], of[o.Run.Trial], o.Err, o.Interrupted,
			})
		}
	}
	return out
}

// String is where the run stood.
func (f FailedRun) String() string {
	if f.Sentinel > 0 {
		return fmt.Sprintf("%s, sentinel %d", f.Cell, f.Sentinel)
	}
	if f.Of <= 1 {
		return fmt.Sprintf("%s, trial %d", f.Cell, f.Trial)
	}
	return fmt.Sprintf("%s, trial %d (run %d of %d in it)", f.Cell, f.Trial, f.Place, f.Of)
}

// failedRuns names the first of them, with their places.
func (r *Report) failedRuns(s *sheet) {
	for i, f := range r.FailedRuns {
		if i == maxErrors {
			fmt.Fprintf(s, "  … and %d more, in summary.md\n", len(r.FailedRuns)-maxErrors)
			return
		}
		s.wrapped("  "+f.String()+": ", words.Clip(f.Why, 200))
	}
}

// listErrors names the most frequent kinds; the last line counts the others, so
// that the lines add up to the number above them.
func listErrors(s *sheet, kinds []verdict.ErrorCount) {
	for i, e := range kinds {
		if s.part(missed); i > 0 {
			s.part(doubtful)
		}
		if i == maxErrors {
			fmt.Fprintf(s, "  %s\n", OtherFailures(total(kinds[i:]), len(kinds)-i))
			break
		}
		kind, message := e.Said()
		s.wrapped(fmt.Sprintf("  %s× %s", words.Whole(e.Count), kind), words.Clip(message, 200))
	}
}

// OtherFailures are the failures that are not told one by one: "and 14 more, of 2 other
// kinds".
func OtherFailures(requests int64, kinds int) string {
	return fmt.Sprintf("and %s more, of %s", words.Whole(requests), words.Count(kinds, "other kind"))
}

func total(kinds []verdict.ErrorCount) (n int64) {
	for _, e := range kinds {
		n += e.Count
	}
	return n
}

// notes are the notices that no doubt has said already.
func (r *Report) notes() []string {
	var out []string
	for _, n := range r.Notices {
		if !slices.ContainsFunc(r.Doubts, func(d Doubt) bool { return d.Said() == n }) {
			out = append(out, n)
		}
	}
	return out
}
