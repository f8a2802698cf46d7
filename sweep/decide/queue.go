package decide

import (
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
)

// Waiting is why consecutive requests of a cell are similar: they wait for each other.
type Waiting struct {
	Users    int     // that a closed loop keeps in flight, of several; 0 for another load
	Open     bool    // a rate, or a schedule
	Asked    float64 // requests/s of an open loop that the server fell behind, else 0
	Answered float64 // requests/s
}

// queueSeen is the part of the backlog's limit above which a queue is spoken of that the limit does
// not make a finding of: about a twentieth of all requests waited at the end, beyond what the
// answers explain. internal/sim counts how often that is said below and above the server's capacity.
const queueSeen = 0.5

// Waiting tells how the cell's load makes its requests wait.
func (c *CellResult) Waiting() (w Waiting) {
	if c.Cell == nil || c.Cell.Resolved == nil {
		return w
	}
	asked, users := 0.0, 0
	for _, p := range c.Cell.Resolved.Benchmark.Phases {
		if p.Kind != "warmup" {
			asked, users = p.Rate, p.Concurrency
		}
	}
	if c.Cell.Closed() {
		if users > 1 {
			w.Users = users
		}
		return w
	}
	w.Open = true
	share, limit, n := 0.0, 0.0, 0.0
	for _, o := range c.runs {
		if o.Backlog != nil {
			share, limit, n = share+o.Backlog.Share, max(limit, o.Backlog.Limit), n+1
		}
	}
	rate, ok := c.Headline().Get(Key{metrics.RequestThroughput, "avg"})
	if n > 0 && ok && rate.Mean < asked && share/n > queueSeen*limit {
		w.Asked, w.Answered = asked, rate.Mean
	}
	return w
}

// Slower is a rate that leaves the server room, in two digits: four fifths of what it answered.
func (w Waiting) Slower() string { return words.Number(0.8 * w.Answered) }
