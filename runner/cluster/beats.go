package cluster

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// beat notes that a worker is there.
func (c *Coordinator) beat(m *nats.Msg) {
	var b beat
	if json.Unmarshal(m.Data, &b) != nil || b.K < 0 || b.K >= int64(len(c.beats)) {
		return
	}
	if len(b.Gob) > 0 && decode(b.Gob, &b.Live) != nil {
		return
	}
	c.mu.Lock()
	there := c.seats[b.K].Orders == b.Orders // else another has taken its place
	if there {
		c.beats[b.K] = time.Now()
	}
	run := c.now
	c.mu.Unlock()
	if !there && strings.HasPrefix(b.Orders, nats.InboxPrefix) {
		why := order{Quit: true, Why: "the coordinator heard nothing of this worker for too long, and goes on without it"}
		_ = c.bus.conn.Publish(b.Orders, packed(why))
	}
	if there && run != nil && run.number == b.Run {
		run.seen(b.K, &b.Live)
	}
}

// Workers say twice a second that they are there, and more seldom where they are many: a
// coordinator hears two hundred a second.
const (
	beatEvery = 500 * time.Millisecond
	beatApart = 5 * time.Millisecond
)

func (c *Coordinator) beatEvery() time.Duration {
	return max(beatEvery, time.Duration(c.o.Workers)*beatApart)
}

// silent is a worker of which nothing was heard for too long, or that has ended. A coordinator
// that has no time to listen hears nobody: then it is not the workers who are silent, unless
// that goes on.
func (c *Coordinator) silent() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, p := range c.processes {
		if p == nil || !p.over() {
			continue
		}
		why := "it ended"
		if p.Err != nil {
			why = p.Err.Error()
		}
		return &lostError{int64(k), int64(c.o.Workers), why}
	}
	patience := max(silence, 4*c.beatEvery())
	heard := slices.MaxFunc(c.beats, time.Time.Compare)
	for k, at := range c.beats {
		quiet := time.Since(at)
		if c.seats[k].Orders != "" && (heard.Sub(at) > patience || quiet > 3*patience) {
			return &lostError{int64(k), int64(c.o.Workers), "nothing was heard of it for " + quiet.Round(time.Second).String()}
		}
	}
	return nil
}
