package report

import (
	"math"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep/search"
)

// This file is what a search found as data: summary.json has it.

// searchDoc is a search as data.
type searchDoc struct {
	Outcome    search.Outcome `json:"outcome"`
	Axis       string         `json:"axis"`
	Holds      *float64       `json:"holds,omitempty"` // the largest load that holds
	Fails      *float64       `json:"fails,omitempty"` // the smallest above it that fails
	HoldsAgain *float64       `json:"holds_again,omitempty"`
	Twice      bool           `json:"ends_seen_twice"`
	Likely     *float64       `json:"most_likely,omitempty"`
	Knee       *kneeDoc       `json:"knee,omitempty"`
	Law        *lawDoc        `json:"scalability_law,omitempty"`
	NoLaw      string         `json:"scalability_law_does_not_fit,omitempty"`
	Tiers      []tierDoc      `json:"tiers,omitempty"` // several limits, each with its own answer
	Loads      []loadDoc      `json:"loads"`
	Probes     []probeDoc     `json:"probes"`
}

// tierDoc is the answer for one of several limits.
type tierDoc struct {
	Tier   string         `json:"tier"`
	Out    search.Outcome `json:"outcome"`
	Share  float64        `json:"share"`
	Holds  *float64       `json:"holds,omitempty"`
	Fails  *float64       `json:"fails,omitempty"`
	Again  *float64       `json:"holds_again,omitempty"`
	Twice  bool           `json:"ends_seen_twice"`
	Likely *float64       `json:"most_likely,omitempty"`
	Loads  []loadDoc      `json:"loads"`
}

// paramDoc is a figure with its interval.
type paramDoc struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

func param(p stats.Param) *paramDoc {
	if math.IsNaN(p.Value) || math.IsInf(p.High, 0) {
		return nil
	}
	return &paramDoc{p.Value, p.Low, p.High}
}

type kneeDoc struct {
	Throughput *paramDoc `json:"throughput,omitempty"` // the load at which it bends
	Latency    *paramDoc `json:"latency,omitempty"`
}

// lawDoc are the parameters of the Universal Scalability Law.
type lawDoc struct {
	Lambda   *paramDoc `json:"requests_per_second_of_one_user"`
	Sigma    *paramDoc `json:"contention"`
	Kappa    *paramDoc `json:"coherency"`
	Peak     *paramDoc `json:"largest_throughput_at,omitempty"`
	Residual float64   `json:"residual"`
}

type loadDoc struct {
	Load     float64      `json:"load"`
	Decision search.State `json:"decision"`
	Runs     int          `json:"runs"`
	Share    *float64     `json:"good_share,omitempty"`
	Low      *float64     `json:"low,omitempty"`
	High     *float64     `json:"high,omitempty"`
	Requests int64        `json:"requests,omitempty"`
	Fitted   *float64     `json:"good_share_isotonic,omitempty"`
	Rate     *float64     `json:"requests_per_second,omitempty"`
	Latency  *float64     `json:"request_latency_mean_ms,omitempty"`
	Law      *float64     `json:"requests_per_second_by_law,omitempty"`
}

type probeDoc struct {
	Probe    int     `json:"probe"`
	Load     float64 `json:"load"`
	Unusable string  `json:"unusable,omitempty"`
}

func (r *Report) searchDoc() *searchDoc {
	a := r.Search
	if a == nil {
		return nil
	}
	at := func(l *search.Load) *float64 {
		if l == nil {
			return nil
		}
		return &l.Load
	}
	d := &searchDoc{
		Outcome: a.Outcome, Axis: r.Plan.Searched().Name, Holds: at(a.Holds), Fails: at(a.Fails),
		HoldsAgain: at(a.Again), Twice: a.Sure, Loads: []loadDoc{}, Probes: []probeDoc{},
	}
	for i, t := range a.Tiers {
		d.Tiers = append(d.Tiers, tierDoc{
			Tier: t.Name, Out: t.Outcome, Share: r.Plan.Tiers()[i].Share, Holds: at(t.Holds), Fails: at(t.Fails),
			Again: at(t.Again), Twice: t.Sure, Likely: metrics.OrNil(t.Curve.Likely), Loads: loadDocs(t.Answer),
		})
	}
	d.Likely = metrics.OrNil(a.Curve.Likely)
	if k := a.Knee; k != nil {
		d.Knee = &kneeDoc{}
		if k.ThroughputShown {
			d.Knee.Throughput = param(k.At)
		}
		if k.LatencyShown {
			d.Knee.Latency = param(k.LatencyAt)
		}
	}
	if l := a.Curve.Law; l != nil {
		d.Law = &lawDoc{param(l.Lambda), param(l.Sigma), param(l.Kappa), param(l.Peak), l.Residual}
	} else {
		d.NoLaw = a.Curve.NoLaw
	}
	d.Loads = loadDocs(a)
	for i, x := range a.Runs {
		d.Probes = append(d.Probes, probeDoc{i + 1, x.Load, x.Unfit})
	}
	return d
}

// loadDocs are the loads of an answer.
func loadDocs(a *search.Answer) []loadDoc {
	out := []loadDoc{}
	for i, l := range a.Loads {
		x := loadDoc{Load: l.Load, Decision: l.State, Runs: l.Runs, Requests: int64(l.Of)}
		if l.Of > 0 && !math.IsNaN(l.Share) {
			x.Share, x.Low, x.High = &l.Share, &l.Low, &l.High
		}
		if p := a.Curve.Points; i < len(p) {
			x.Fitted, x.Law = metrics.OrNil(p[i].Share), metrics.OrNil(p[i].Law)
			x.Rate, x.Latency = metrics.OrNil(p[i].Rate), metrics.OrNil(p[i].Latency)
		}
		out = append(out, x)
	}
	return out
}
