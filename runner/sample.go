package runner

import (
	"cmp"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// sample collects the values of one metric; one without a metric collects none.
type sample struct {
	metric *metrics.Metric
	values []float64
	good   *goods // nil: there are no limits
	failed *goods // nil: nothing failed
	tiers  []tier // of a search with several limits

	answers decide.Scores
}

// sample is what a run brings along for the rule that ends trials early.
func (r *runner) sample(run sweep.Run, rep *RunReport) *sample {
	s := &sample{}
	if r.plan.Experiment.Search != nil || len(run.Cell.Resolved.Benchmark.SLOs) > 0 {
		s.good = &goods{}
	}
	if rep.Counts().Failed > 0 {
		s.failed = &goods{answered: true}
	}
	for _, t := range r.plan.Tiers() {
		opt := metricOptions(run, rep)
		opt.SLOs = t.SLOs
		missed, _ := metrics.Judge(t.SLOs) // CheckGates has found them to be in order
		s.tiers = append(s.tiers, tier{t.Name, metrics.NewCollector(opt), &goods{missed: missed}})
	}
	if m, ok := metrics.Lookup(decide.SampleTag(r.plan)); ok && m.PerRequest() {
		s.metric = m
	}
	return s
}

func (s *sample) add(rec *record.Record) {
	s.good.add(rec)
	s.failed.add(rec)
	for _, t := range s.tiers {
		t.all.Add(rec)
		t.good.add(rec)
	}
	s.answers.Add(rec)
	if s.metric == nil || rec.Warmup || !rec.InWindow || !rec.Succeeded() {
		return
	}
	if v := s.metric.Record(rec); !math.IsNaN(v) {
		s.values = append(s.values, v)
	}
}

func (s *sample) sorted() []float64 {
	slices.Sort(s.values)
	return s.values
}

// tier counts the good requests of a run by one of several limits.
type tier struct {
	name string
	all  *metrics.Collector
	good *goods
}

// shares are the good requests by each of several limits.
func (s *sample) shares() (out []decide.TierGood) {
	for _, t := range s.tiers {
		full := t.all.Summaries()[0]
		share, _ := full.Get(metrics.GoodRequestFraction)
		full.Stats = slices.DeleteFunc(full.Stats, func(s metrics.Stat) bool {
			return s.Tag != metrics.GoodRequestFraction
		})
		out = append(out, decide.TierGood{
			Share: share.Avg, Open: share.Open, Effect: t.good.effect(),
			Part: metrics.Part{Kind: "tier", Name: t.name, Summaries: []metrics.Summary{full}},
		})
	}
	return out
}

// goods are the attempted requests of a run, and which of them were good.
type goods struct {
	at     []int64 // when they were due, ns
	good   []bool
	missed func(*record.Record) (clock, sent string) // the limit that one missed; nil: what the record says
	// answered asks how many failures come together: what was cut off is left out, and whatever succeeded is good
	answered bool
}

func (g *goods) add(rec *record.Record) {
	if g == nil || rec.Warmup || !rec.Measured || rec.Part()&record.Attempted == 0 {
		return
	}
	good := rec.Succeeded() && rec.SLOSet && rec.SLOFailed == ""
	switch {
	case g.answered && rec.Part()&record.Answered == 0:
		return
	case g.answered:
		good = rec.Succeeded()
	case g.missed != nil:
		missed, _ := g.missed(rec)
		good = rec.Succeeded() && missed == ""
	}
	g.at, g.good = append(g.at, rec.Intended), append(g.good, good)
}

// effect is their design effect in order of time; 0 where it is not asked.
func (g *goods) effect() float64 {
	if g == nil {
		return 0
	}
	order := make([]int, len(g.at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.at[a], g.at[b]) })
	inOrder := make([]bool, len(order))
	for i, k := range order {
		inOrder[i] = g.good[k] != g.answered
	}
	if g.answered {
		return stats.Together(inOrder)
	}
	return stats.DesignEffect(inOrder)
}
