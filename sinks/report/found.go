package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/search"
)

// This file says in one sentence how a search for a load ended: it is the first one of the
// screen, of the page, and of aiperf quick.

// searchAnswer is the bracket in one sentence.
func (r *Report) searchAnswer() string {
	if r.Search.Knee != nil || r.Plan.Experiment.Search.Find == string(search.Knee) {
		return r.kneeAnswer()
	}
	f := r.found()
	text := ""
	if r.Plan.Experiment.Search.Find == string(search.Min) {
		text = f.smallest()
	} else {
		text = f.largest()
	}
	if r.tier != nil || strings.HasPrefix(text, f.who) && !strings.HasPrefix(f.who, "the ") {
		return text // it stands behind a name, or begins with one
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func (r *Report) found() *found {
	return &found{Answer: r.Search, who: r.served(), amount: r.amounts(), low: r.Plan.Experiment.Search.Range[0]}
}

// searchOpen says why the answer is not narrower, "" where it is as narrow as was asked.
func (r *Report) searchOpen() string {
	if r.Search.Knee != nil || r.Plan.Experiment.Search.Find == string(search.Knee) {
		return ""
	}
	return r.found().between(sweep.AxisNamed(r.Plan.Searched().Name).Whole)
}

// served is what was asked: "demo at http://localhost:8000". Where each of several limits has a
// sentence it is the server.
func (r *Report) served() string {
	b := &r.Plan.Cells[0].Resolved.Benchmark
	if r.tier != nil || len(b.Endpoint.URLs) > 1 {
		return "the server"
	}
	if e := &b.Endpoint; e.Label == "" && len(e.URLs) == 1 && strings.HasPrefix(e.URLs[0], "mock:") {
		return "the built-in server"
	}
	return systemOf(b)
}

// amount is how a load is spoken of.
type amount struct{ one, many, of string }

// amounts are those of the axis that a search varies.
func (r *Report) amounts() amount {
	switch name := sweep.AxisNamed(r.Plan.Searched().Name).Name; name {
	case sweep.AxisNamed("concurrency").Name:
		return amount{one: "user", many: "users", of: " at once"}
	case sweep.AxisNamed("users").Name:
		return amount{one: "user", many: "users"}
	case sweep.AxisNamed("in_flight").Name:
		return amount{one: "request", many: "requests", of: " at once"}
	case sweep.AxisNamed("request_rate").Name:
		return amount{one: "request", many: "requests", of: " per second"}
	default:
		return amount{of: spokenAxis(name)}
	}
}

// say is a load with its unit: "8 users at once", "input length 512".
func (a amount) say(x float64) string {
	switch {
	case a.many == "":
		return a.of + " " + load(x)
	case x == 1:
		return load(x) + " " + a.one + a.of
	}
	return load(x) + " " + a.many + a.of
}

// is a load that was named, of the same unit, and what it is: "9 are too many".
func (a amount) is(x float64, many, much string) string {
	switch {
	case a.many == "":
		return load(x) + " is " + much
	case x == 1:
		return load(x) + " is " + many
	}
	return load(x) + " are " + many
}

// found is what is said of an answer.
type found struct {
	*search.Answer
	amount
	who string
	low float64 // of the range
}

func (f *found) largest() string {
	within := " within the limits"
	holds := ""
	if f.Holds != nil {
		holds = f.who + " serves " + f.say(f.Holds.Load) + within
	}
	switch f.Outcome {
	case search.AtLeast:
		return f.who + " serves at least " + f.say(f.Holds.Load) + within + "; more were not tried"
	case search.Fewer:
		if f.low == 1 && f.one == "user" {
			return f.who + " does not serve a single user" + within
		}
		return f.who + " serves fewer than " + f.say(f.low) + within
	case search.Contrary:
		worse := ": more load is not always worse there"
		if f.Holds == nil {
			return f.who + " does not serve " + f.say(f.Fails.Load) + within + ", but serves " + load(f.Again.Load) + worse
		}
		return fmt.Sprintf("%s, not %s, and again %s%s", holds, load(f.Fails.Load), load(f.Again.Load), worse)
	case search.ClientLost:
		if f.Holds == nil {
			return f.unusable()
		}
		return fmt.Sprintf("%s serves at least %s%s; with %s no run was usable (%s)", f.who, f.say(f.Holds.Load), within,
			load(f.At), f.Why)
	case search.ServerLost:
		return f.died(", it served ", within)
	}
	switch {
	case holds != "" && f.Fails != nil:
		return f.open(holds + "; " + f.is(f.Fails.Load, "too many", "too much"))
	case holds != "":
		return f.open(holds + "; no larger number is shown to be too many")
	case f.Fails != nil:
		return f.open(f.who + " does not serve " + f.say(f.Fails.Load) + within + "; no smaller number is certain")
	}
	return f.open("no load is certain to be within the limits, and none to be beyond them")
}

func (f *found) smallest() string {
	holds := ""
	if f.Holds != nil {
		holds = f.say(f.Holds.Load) + verb(f.Holds.Load, " is", " are") + " enough"
	}
	switch f.Outcome {
	case search.AtLeast:
		return holds + "; fewer were not tried"
	case search.Fewer:
		return fmt.Sprintf("%s%s not enough; more were not tried", f.say(f.Fails.Load), verb(f.Fails.Load, " is", " are"))
	case search.Contrary:
		worse := ": more load is not always better there"
		if f.Holds == nil {
			return fmt.Sprintf("%s%s not enough, but %s", f.say(f.Fails.Load), verb(f.Fails.Load, " is", " are"),
				f.is(f.Again.Load, "enough", "enough")) + worse
		}
		return fmt.Sprintf("%s, %s, and %s again%s", holds, f.is(f.Fails.Load, "not", "not"),
			f.is(f.Again.Load, "enough", "enough"), worse)
	case search.ClientLost:
		if f.Holds == nil {
			return f.unusable()
		}
		return fmt.Sprintf("%s, perhaps fewer; with %s no run was usable (%s)", holds, load(f.At), f.Why)
	case search.ServerLost:
		return f.died(", enough were ", "")
	}
	switch {
	case holds != "" && f.Fails != nil:
		return f.open(holds + "; " + f.is(f.Fails.Load, "too few", "too little"))
	case holds != "":
		return f.open(holds + "; no smaller number is shown to be too few")
	case f.Fails != nil:
		return f.open(f.say(f.Fails.Load) + verb(f.Fails.Load, " is", " are") + " not enough; no larger number is certain")
	}
	return f.open("no load is certain to be enough, and none to be too little")
}

func verb(x float64, one, many string) string {
	if x == 1 {
		return one
	}
	return many
}

// unusable is an answer where no run at a load says anything, and no other load held.
func (f *found) unusable() string {
	return fmt.Sprintf("no answer: with %s no run was usable (%s)", f.say(f.At), f.Why)
}

func (f *found) died(before, within string) string {
	text := fmt.Sprintf("%s died with %s (%s)", f.who, f.say(f.At), f.Why)
	if f.Holds == nil {
		return text + "; before that, no load is certain" + strings.Replace(within, " within", " to be within", 1)
	}
	return text + "; before that" + before + load(f.Holds.Load) + within
}

// open is a sentence on a bracket, which more probes may still change.
func (f *found) open(text string) string {
	if f.Outcome == search.Stopped || f.Outcome == search.Spent && (f.Holds == nil || f.Fails == nil) {
		return "so far: " + text
	}
	return text
}

// between says why a bracket is not narrower, and where in it the limit lies by interpolation; "" for one that is
// as narrow as was asked.
func (f *found) between(whole bool) string {
	both := f.Holds != nil && f.Fails != nil
	torn := slices.ContainsFunc(f.Loads, func(l search.Load) bool { return l.Torn }) // a sentence of its own says so
	near := both && math.Abs(f.Holds.Load-f.Fails.Load) <= 1
	var parts []string
	switch {
	case f.Outcome == search.Spent && both && !near:
		parts = append(parts, "the budget ran out before the numbers between were decided")
	case f.Outcome == search.Spent && both && !f.Sure:
		parts = append(parts, "the budget ran out before both were seen twice")
	case f.Outcome == search.Spent && both:
	case f.Outcome == search.Spent:
		parts = append(parts, "the budget ran out")
	case torn:
	case f.Outcome == search.Wide && both && !near:
		parts = append(parts, "the numbers between are too close to the limit to tell")
	case f.Outcome == search.Wide && !both:
		parts = append(parts, "the others are too close to the limit to tell")
	}
	if likely := f.likely(both && near, whole); likely != "" && f.Outcome != search.Contrary &&
		f.Outcome != search.ClientLost && f.Outcome != search.ServerLost {
		parts = append(parts, "by interpolation the limit is "+likely)
	}
	if len(parts) == 0 {
		return ""
	}
	text := strings.Join(parts, "; ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// likely is the place of the limit within the bracket, or below the load that fails where none is shown to hold;
// half users do not exist, so it is the number of whole ones.
func (f *found) likely(near, whole bool) string {
	l, low, high := f.Curve.Likely, 0.0, math.Inf(1)
	switch {
	case f.Holds != nil && f.Fails != nil:
		low, high = min(f.Holds.Load, f.Fails.Load), max(f.Holds.Load, f.Fails.Load)
	case f.Holds != nil || f.Fails == nil:
		return ""
	}
	if near || !(l > low && l < high) {
		return ""
	}
	if floor := math.Floor(l); whole && floor >= 1 {
		if floor == low {
			return "just above " + load(floor)
		}
		return "near " + load(floor)
	}
	if whole {
		return "below 1"
	}
	return "near " + words.Number(l)
}
