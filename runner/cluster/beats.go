package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// seat is the place of a worker. One that has not joined, or is gone, takes no orders.
type seat struct {
	hello
	heard  time.Time // when it was heard last
	missed int       // words of the coordinator's own that came back since then
	closed bool      // the server has no connection to it any more
	left   bool      // it said that it goes
}

// signalled is why a worker goes by itself.
const signalled = "it was told to end there, by Ctrl-C or a signal"

// Coordinator and workers say twice a second that they are there, and more seldom where there
// are many workers: a coordinator hears two hundred a second.
const (
	beatEvery = 500 * time.Millisecond
	beatApart = 5 * time.Millisecond
)

func (c *Coordinator) beatEvery() time.Duration {
	return max(beatEvery, time.Duration(c.o.Workers)*beatApart)
}

// Silence is counted in the coordinator's own words that came back by the same way since a
// worker's last one: a coordinator that has no time to listen, or a server that stands still,
// delays both, and takes nobody for gone. While requests are sent, a worker that says nothing
// for two seconds does not send what it was asked to, either. One that reads files may be busy.
const (
	missedSending = 4
	missedBefore  = 20
)

// lease is how long a worker goes on that hears nothing of its coordinator, which beats as
// often as every says.
func lease(every time.Duration) time.Duration { return max(10*time.Second, 4*every) }

// say has the coordinator say that it is there: to each worker, which stops by itself when it
// hears nothing for its lease, and to itself.
func (c *Coordinator) say() error {
	c.pulse, c.echoed = nats.NewInbox(), true
	// the server answers for workers that it has no connection to
	closed, err := c.bus.conn.Subscribe(c.pulse+".>", func(m *nats.Msg) {
		if m.Header.Get("Status") != "503" {
			return
		}
		orders := strings.TrimPrefix(m.Subject, c.pulse+".")
		c.mu.Lock()
		defer c.mu.Unlock()
		for k := range c.seats {
			if c.seats[k].Orders == orders {
				c.seats[k].closed = true
			}
		}
	})
	if err != nil {
		return err
	}
	c.bus.back(func() { // its last word may be lost, and workers that lose their connection join once more
		c.mu.Lock()
		defer c.mu.Unlock()
		c.echoed = true
		for k := range c.seats {
			c.seats[k].closed = true
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	c.still = func() { cancel(); <-over; _ = closed.Unsubscribe() }
	go func() {
		defer close(over)
		tick := time.NewTicker(c.beatEvery())
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				c.sayOnce()
			}
		}
	}()
	return nil
}

func (c *Coordinator) sayOnce() {
	var to []hello
	c.mu.Lock()
	for _, s := range c.seats {
		if s.Orders != "" {
			to = append(to, s.hello)
		}
	}
	own := c.echoed // one at a time: those that were held up would count as so many
	c.echoed = false
	c.mu.Unlock()
	for _, h := range to {
		_ = c.bus.conn.PublishRequest(h.here(), c.pulse+"."+h.Orders, nil)
	}
	if own {
		_ = c.bus.conn.Publish(subjectBeat, packed(beat{K: -1, Orders: c.pulse}))
	}
}

// beat notes that a worker is there, or that a word of the coordinator's own has come back.
func (c *Coordinator) beat(m *nats.Msg) {
	var b beat
	if json.Unmarshal(m.Data, &b) != nil || b.K >= int64(len(c.seats)) {
		return
	}
	if b.K < 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		if b.Orders == c.pulse {
			c.echoed = true
			for k := range c.seats {
				c.seats[k].missed++
			}
		}
		return
	}
	if len(b.Gob) > 0 && decode(b.Gob, &b.Live) != nil {
		return
	}
	c.mu.Lock()
	s := &c.seats[b.K]
	there := s.Orders == b.Orders // else another has taken its place
	if there {
		s.heard, s.missed = time.Now(), 0
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

// silent is a worker of which nothing was heard for too long, or that has ended.
func (c *Coordinator) silent() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	lost := func(k int, why string) error { return &lostError{int64(k), int64(c.o.Workers), why} }
	for k, p := range c.processes {
		if p == nil || !p.over() {
			continue
		}
		if p.Err != nil {
			return lost(k, p.Err.Error())
		}
		return lost(k, "it ended")
	}
	if err := c.bus.gone(); err != nil {
		return err
	}
	bound := missedBefore
	if c.now != nil {
		bound = missedSending
	}
	for k := range c.seats {
		switch s := &c.seats[k]; {
		case s.Orders == "":
		case s.left:
			return lost(k, signalled)
		case s.closed && c.processes[k] == nil: // else the process says more when it has ended
			return lost(k, "its connection was closed")
		case s.missed > bound:
			quiet := time.Duration(s.missed) * c.beatEvery()
			return lost(k, fmt.Sprintf("nothing was heard of it for %s", quiet.Round(100*time.Millisecond)))
		}
	}
	return nil
}

// fence notes until when a worker that is given up may still send, of another run than the next
// one: where its connection is open it may be on the other side of a cut line.
func (c *Coordinator) fence(s *seat, here bool) {
	if s.Orders != "" && !s.closed && !here {
		c.fences[s.Orders] = s.heard.Add(lease(c.beatEvery()) + missedSending*c.beatEvery())
	}
}

// fenced waits until workers that were given up have stopped for want of a word, or have come
// back.
func (c *Coordinator) fenced(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		c.mu.Lock()
		for orders, until := range c.fences {
			if time.Now().After(until) {
				delete(c.fences, orders)
			}
		}
		left := len(c.fences)
		c.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}
