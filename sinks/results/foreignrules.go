package results

import (
	"cmp"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/rules"
	"aiperf.dev/aiperf/sinks/importer"
)

// judgeForeign holds what another program measured against sets of rules: by the figures of its
// files that mean what ours do, and by the single requests where they are kept.
func judgeForeign(path string, sets []*rules.Set) (*rules.Document, error) {
	r, err := importer.Open(path)
	if err != nil {
		return nil, err
	}
	var counted []rules.Over
	for _, s := range sets {
		counted = append(counted, s.Counted()...)
	}
	var cells []rules.Cell
	for i := range r.Runs {
		run := &r.Runs[i]
		if run.Err != "" {
			continue
		}
		at := slices.IndexFunc(cells, func(c rules.Cell) bool { return c.Label == run.Label })
		if at < 0 {
			at = len(cells)
			cells = append(cells, rulesCellOf(r, run))
		}
		told, err := rulesRun(run, counted)
		if err != nil {
			return nil, err
		}
		c := &cells[at]
		c.Runs, c.Trials = append(c.Runs, told), c.Trials+1
	}
	var answers []rules.Judged
	for _, s := range sets {
		answers = append(answers, s.Of(cells))
	}
	return rules.NewDocument(answers), nil
}

// rulesCellOf is a cell as rules see it. What the files do not say is unknown, and not unset.
func rulesCellOf(r *importer.Result, run *importer.Run) rules.Cell {
	c := rules.Cell{Label: run.Label, By: cmp.Or(r.Own(), r.Tool)}
	c.Setting = func(path string) (any, bool) {
		v := run.Setting(path)
		return v, v != ""
	}
	if run.Config != nil { // AIPerf's files repeat what was asked
		c.Load, c.Setting = loadOf(phasesOf(run.Config)), settingsOf(run.Config)
	} else if run.Closed {
		c.Load = loadOfClosed(run)
	}
	meant := map[string]string{} // figures that are not ours, and why
	for _, d := range run.Definitions() {
		if d.Relation == importer.NotComparable {
			meant[d.Ours] = d.Relates
		}
	}
	c.Lacks = func(tag string) (what, hint string) {
		if why := meant[tag]; why != "" {
			return c.By + " means something else by " + tag + ": " + why, ""
		}
		return "", ""
	}
	return c
}

// loadOfClosed is what a closed loop is called by its settings.
func loadOfClosed(run *importer.Run) string {
	n, at := importer.Whole(run.Setting("phases.0.requests")), importer.Whole(run.Setting("phases.0.concurrency"))
	if n > 0 && at >= n {
		return rules.Offline
	}
	return closedLoop
}

// closedLoop is the type of a phase that holds a concurrency.
const closedLoop = "concurrency"

// rulesRun is one run as rules see it.
func rulesRun(run *importer.Run, counted []rules.Over) (rules.Run, error) {
	unlike := map[string]bool{}
	for _, d := range run.Definitions() {
		if d.Relation == importer.NotComparable {
			unlike[d.Ours] = true
		}
	}
	x := rules.Run{
		Sent: math.NaN(), Answered: valueOf(run, metrics.BenchmarkDuration), OK: run.OK,
		Counts: map[rules.Over]rules.Tally{},
		Figure: func(tag, stat string) float64 {
			if s := summaryOf(run, tag); s != nil && !unlike[tag] {
				return s.Value(stat)
			}
			return math.NaN()
		},
	}
	if run.Each == nil {
		return x, nil
	}
	first, last, end := math.Inf(1), math.Inf(-1), math.Inf(-1)
	err := run.Each(func(q *importer.Request) error {
		due := q.Sent
		if !run.Closed && !math.IsNaN(q.Intended) {
			due = q.Intended
		}
		first, last, end = min(first, due), max(last, due), max(end, q.End)
		for _, o := range counted {
			over, judged := overLimit(q, o, due)
			if !judged || unlike[o.Metric] {
				continue
			}
			t := x.Counts[o]
			if t.N++; over {
				t.Over++
			}
			x.Counts[o] = t
		}
		return nil
	})
	if span := (last - first) / 1e9; !math.IsInf(span, 0) {
		x.Sent = span
	}
	if span := (end - first) / 1e9; !math.IsInf(span, 0) && !math.IsNaN(span) {
		x.Answered = span
	}
	return x, err
}

// overLimit tells whether a request is beyond a limit, as for our own (witness.over): one that
// failed is, and times count from when it was due.
func overLimit(q *importer.Request, o rules.Over, due float64) (over, judged bool) {
	if o.Metric == rules.Limits || q.Status == "cancelled" {
		return false, false
	}
	if q.Status != "ok" {
		return true, true
	}
	late := 0.0
	if wait := (q.Sent - due) / 1e6; wait > 0 {
		late = wait
	}
	v := map[string]float64{
		metrics.TimeToFirstToken: q.TTFT + late, metrics.InterTokenLatency: q.ITL,
		metrics.RequestLatency: q.Latency + late,
	}[o.Metric]
	return v > o.Most, !math.IsNaN(v)
}
