package preview

import (
	"fmt"
	"io"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/search"
	"aiperf.dev/aiperf/sweep/source"
)

// searchPlan is what a search takes, and what it can tell.
func searchPlan(w io.Writer, plan *sweep.Plan, b sweep.Bound) {
	s, terms := plan.Experiment.Search, source.Terms(plan)
	requests := sweep.Planned(plan.Cells[0].Resolved.Benchmark.Phases)
	shares := []sweep.Tier{{Share: s.Share}}
	if tiers := plan.Tiers(); len(tiers) > 0 {
		shares = tiers
	} else if len(plan.Cells[0].Resolved.Benchmark.SLOs) == 0 || terms.Find == search.Knee {
		requests = 0 // no share is asked for
	}
	o := search.Look(terms, requests)
	fmt.Fprintf(w, "%s: a search, at most %s\n", plan.Name, words.Count(terms.Probes, "probe"))
	until := "until the ends are at most %s apart"
	if terms.Find == search.Knee {
		until = "for the knee, until the loads beside it are at most %s apart"
	}
	words.TwoColumns(w, "search", fmt.Sprintf("%s from %g to %g, "+until,
		plan.Searched().Name, s.Range[0], s.Range[1], words.Percent(s.Resolution)), 8)
	words.TwoColumns(w, "probes", probesText(o, terms, b), 8)
	for i, x := range shares {
		if len(o.Runs) == 0 {
			break
		}
		one := terms
		one.Share, one.Tiers = x.Share, nil
		text := fmt.Sprintf("whether %.4g %% are good: %s", 100*x.Share, decidesText(search.Look(one, requests).Runs))
		if x.Name != "" {
			text = x.Name + ": " + text
		}
		if i == len(shares)-1 {
			text += "; a number between leaves it undecided. The gap is wider where neighbouring requests are alike or runs differ"
		}
		words.TwoColumns(w, "decides", text, 8)
	}
	narrower := "is not possible: the ends are as near as whole numbers can be"
	if o.Halved > 0 {
		narrower = fmt.Sprintf("(resolution %.3g) takes at most %s", s.Resolution/2, words.Count(o.Halved, "more probe"))
	}
	if len(o.Runs) > 0 {
		narrower += "; where undecided loads keep it wide, it takes about 4 times as many requests a run"
	}
	if terms.Find != search.Knee {
		words.TwoColumns(w, "half", "a bracket half as wide "+narrower, 8)
	}
}

// probesText is how many probes there will be, and how much that is.
func probesText(o search.Outlook, t search.Terms, b sweep.Bound) string {
	usual := fmt.Sprintf("%d to %d probes", o.Fewest, o.Usual)
	if o.Fewest == o.Usual {
		usual = words.Count(o.Usual, "probe")
	}
	text := usual + " where every load is decided at once"
	if t.Find == search.Knee {
		text = usual + " where throughput and latency bend without noise"
	}
	if o.Usual > t.Probes {
		text += ", which the budget may not have room for"
	}
	var requests int64
	var least time.Duration
	for _, p := range b.Cells[0].Phases {
		requests, least = requests+p.Requests, least+p.AtLeast
	}
	if requests > 0 {
		text += fmt.Sprintf("; %s each, %s to %s", words.Count(requests, "request"),
			words.Whole(int64(min(o.Fewest, t.Probes))*requests), words.Whole(int64(t.Probes)*requests))
	}
	if least > 0 {
		text += fmt.Sprintf("; at least %s each, %s in all",
			words.Span(least), words.Span(time.Duration(min(o.Fewest, t.Probes))*least))
	}
	if t.Time > 0 {
		text += "; none begins after " + words.Span(t.Time)
	}
	return text
}

// decidesText says what the requests of one run, and of all at one load, can tell.
func decidesText(of []search.Decides) string {
	parts := make([]string, len(of))
	for i, d := range of {
		runs := "1 run"
		if i > 0 {
			runs = fmt.Sprintf("%d runs", sweep.SearchedRuns)
		}
		holds := "cannot be shown to hold"
		switch {
		case d.Holds == 0:
			holds = "holds if none is bad"
		case d.Holds > 0:
			holds = fmt.Sprintf("holds with at most %s bad", words.Whole(d.Holds))
		}
		parts[i] = fmt.Sprintf("after %s (%s) a load %s, and fails with %s or more", runs, words.Count(d.Requests, "request"),
			holds, words.Whole(d.Fails))
	}
	return strings.Join(parts, ", ")
}
