package forecast

import (
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
)

// Pace is what came back a second over the last seconds. Answers come in
// bursts; half a second of them says little.
type Pace struct {
	at               []int64 // ns
	tokens, requests []float64
}

// paceWindow is how many snapshots the mean goes over: five seconds.
const paceWindow = 10

// Smooth takes in a snapshot and gives it the mean of the last ones, each weighted by
// the time it is about. While a phase drains, the pace says nothing about the
// load, and there is none.
func (p *Pace) Smooth(s *loadgen.Snapshot) {
	if draining(*s) {
		*p = Pace{}
		s.OutputTokensPerSecond, s.RequestsPerSecond = 0, 0
		return
	}
	if len(p.at) == 0 {
		p.at = []int64{s.Start}
	}
	p.at, p.tokens, p.requests = append(p.at, s.At), append(p.tokens, s.OutputTokensPerSecond),
		append(p.requests, s.RequestsPerSecond)
	if n := len(p.tokens); n > paceWindow {
		p.at, p.tokens, p.requests = p.at[n-paceWindow:], p.tokens[n-paceWindow:], p.requests[n-paceWindow:]
	}
	s.OutputTokensPerSecond, s.RequestsPerSecond = p.mean(p.tokens), p.mean(p.requests)
}

func (p *Pace) mean(rates []float64) float64 {
	sum, span := 0.0, 0.0
	for i, v := range rates {
		w := float64(p.at[i+1] - p.at[i])
		sum, span = sum+w*v, span+w
	}
	if span <= 0 {
		return rates[len(rates)-1]
	}
	return sum / span
}

// draining tells that a phase sends nothing more and only waits for answers.
func draining(s loadgen.Snapshot) bool {
	return s.Planned > 0 && s.Sent >= s.Planned || s.Ends != record.None && s.At >= s.Ends
}
