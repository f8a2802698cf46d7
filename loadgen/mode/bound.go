package mode

import (
	"math"
	"time"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
)

// Planned is what a phase sends as far as it is known before anything is sent.
type Planned struct {
	Requests int64 // 0 when not known
	// what schedule and duration take with an infinitely fast server; random arrivals count with their mean
	AtLeast time.Duration
	Stops   []string // what ends it, in words; the first to happen does
}

// Plan says what p sends. Without any bound the mode's default applies.
func (m *Mode) Plan(p *schema.Phase) Planned {
	n, stops := m.ends(p)
	var limit float64 // seconds; 0: none
	if p.Duration != nil && !math.IsInf(float64(*p.Duration), 1) {
		limit = float64(*p.Duration)
		stops = append(stops, p.Duration.Go().String())
	}
	if limit > 0 && m.Expected != nil {
		n = atMost(n, int64(m.Expected(p, limit)))
	}
	return Planned{Requests: n, AtLeast: seconds(m.least(p, n, limit)), Stops: stops}
}

// ends is the number of requests that ends p, 0 when none does, and what ends
// it but time, in words.
func (m *Mode) ends(p *schema.Phase) (n int64, stops []string) {
	if p.Requests > 0 {
		n, stops = p.Requests, append(stops, words.Count(p.Requests, "request"))
	}
	if p.Sessions > 0 {
		stops = append(stops, words.Count(p.Sessions, "session"))
	}
	switch {
	case len(stops) > 0 || p.Duration != nil:
	case p.Once:
		stops = []string{"each question once"}
	case m.Ends:
		stops = []string{"end of the schedule"}
	case m.Requests > 0:
		n = max(m.Requests, m.PerSlot*int64(p.Concurrency))
		stops = []string{words.Count(n, "request") + " by default"}
	}
	return n, stops
}

// least is how long the schedule alone takes, in s: n requests at a rate r are
// sent in n/r seconds; a phase with a duration and no count lasts that long.
func (m *Mode) least(p *schema.Phase, n int64, limit float64) float64 {
	switch {
	case p.Requests == 0 && p.Sessions == 0 && limit > 0:
		return limit
	case p.Sessions > 0 && p.Requests == 0 || m.Closed || m.Varying || !(p.Rate > 0):
		return 0
	case limit > 0:
		return min(float64(n)/p.Rate, limit)
	}
	return float64(n) / p.Rate
}

// PeakRate is the highest rate, in requests/s, that p asks for; 0 where no
// clock says when to send.
func PeakRate(p *schema.Phase) float64 {
	rate := p.Rate
	if a := p.Scales(schema.ScaleRate); a != nil {
		rate = max(rate, a.Control.Max)
	}
	for _, k := range p.RateSeries {
		rate = max(rate, k.QPS)
	}
	return rate
}

// atMost is the smaller count, where 0 means that there is none.
func atMost(n, limit int64) int64 {
	if n == 0 {
		return limit
	}
	return min(n, limit)
}
