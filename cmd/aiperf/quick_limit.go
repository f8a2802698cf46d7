package main

import (
	"fmt"
	"net/http"
	"slices"
	"unicode"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/diagnose"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
)

// This file says what limits the server that quick looked at.

// refusedAt says that a server refuses requests beyond some rate, where that is why most of those
// that failed in a cell did; "" for any other.
func refusedAt(res *runner.Result, cell int) string {
	var refused, failed, answered int64
	rate, runs := 0.0, 0.0
	for i := range res.Outcomes {
		o := &res.Outcomes[i]
		rep := res.Reports[o.Run.ID]
		if o.Run.Cell.Index != cell || rep == nil {
			continue
		}
		failed, answered = failed+o.Failed, answered+o.OK+o.Failed
		for _, e := range rep.Errors {
			if e.HTTP == http.StatusTooManyRequests {
				refused += e.Count
			}
		}
		if len(o.Summaries) > 0 {
			if st, ok := o.Summaries[0].Get(metrics.RequestThroughput); ok {
				rate, runs = rate+st.Avg, runs+1
			}
		}
	}
	if refused == 0 || 2*refused < failed {
		return ""
	}
	said := fmt.Sprintf("the server limits the rate of requests: it refused %s of %s with 429, too many requests",
		words.Whole(refused), words.Whole(answered))
	if runs > 0 {
		said += ", and answered " + words.Number(rate/runs) + " a second"
	}
	return said
}

// within is a sentence behind a colon: its first word is small, unless it is an abbreviation.
func within(sentence string) string {
	first, size := utf8.DecodeRuneInString(sentence)
	if size == 0 {
		return ""
	}
	if next, _ := utf8.DecodeRuneInString(sentence[size:]); unicode.IsUpper(next) {
		return sentence
	}
	return string(unicode.ToLower(first)) + sentence[size:]
}

// limitAt is what limits the server at the smallest load that is too much, or else at the
// largest that was measured.
func limitAt(res *runner.Result) string {
	d, err := diagnose.Dir(res.Dir)
	if err != nil || res.Search == nil || len(res.Search.Loads) == 0 {
		return ""
	}
	at, head := res.Search.Loads[len(res.Search.Loads)-1].Load, "At "
	if res.Search.Fails != nil {
		at, head = res.Search.Fails.Load, "What limits it, at "
	}
	for _, c := range res.Plan.Cells {
		if said := refusedAt(res, c.Index); c.Load() == at && said != "" {
			return fmt.Sprintf("%s%s: %s", head, words.Count(int64(at), "user"), said)
		}
		i := slices.IndexFunc(d.Cells, func(x diagnose.Result) bool { return x.Index == c.Index })
		if c.Load() == at && i >= 0 {
			if !d.Cells[i].Limits() {
				head = "At "
			}
			return fmt.Sprintf("%s%s: %s", head, words.Count(int64(at), "user"), within(d.Cells[i].Sentence))
		}
	}
	return ""
}
