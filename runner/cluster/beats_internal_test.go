package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"aiperf.dev/aiperf/runner/onerun"
)

// sitting is a coordinator with workers that have joined, and say nothing by themselves.
func sitting(t *testing.T, n int) *Coordinator {
	t.Helper()
	c := newCoordinator(&Options{Workers: n, Version: "test"}, &bus{})
	c.pulse = nats.NewInbox()
	for k := range c.seats {
		c.seats[k] = seat{hello: hello{Orders: nats.NewInbox()}, heard: time.Now()}
	}
	return c
}

// says has somebody say that it is there: worker k, or below 0 the coordinator.
func (c *Coordinator) says(k int) {
	orders := c.pulse
	if k >= 0 {
		orders = c.seats[k].Orders
	}
	c.beat(&nats.Msg{Data: packed(beat{K: int64(k), Orders: orders})})
}

// A worker is silent when the coordinator has heard itself often enough since, and never because
// time went by in which the coordinator heard nobody, itself neither.
func TestSilence(t *testing.T) {
	t.Parallel()
	c := sitting(t, 2)
	c.now = &carrying{number: 1}
	for k := range c.seats {
		c.seats[k].heard = time.Now().Add(-time.Hour)
	}
	for range missedSending {
		c.says(-1)
		c.says(0)
	}
	if err := c.silent(); err != nil {
		t.Errorf("after %d words of the coordinator's: %v", missedSending, err)
	}
	c.says(-1)
	if err := c.silent(); err == nil || err.Error() != "worker 2 of 2 was lost: nothing was heard of it for 2.5s" {
		t.Errorf("one word later: %v", err)
	}
	c.now = nil // before the run a worker may be busy with its files
	if err := c.silent(); err != nil {
		t.Errorf("before the run: %v", err)
	}
	for range missedBefore {
		c.says(-1)
		c.says(0)
	}
	if err := c.silent(); err == nil {
		t.Error("before the run nobody is ever lost")
	}
	c.says(1)
	if err := c.silent(); err != nil {
		t.Errorf("it has come back: %v", err)
	}
}

// The next run waits for a worker that was given up and may still send, until it has come back
// or must have stopped.
func TestFence(t *testing.T) {
	t.Parallel()
	c := sitting(t, 3)
	was := c.seats[1].Orders
	c.leave(1)
	short, cancel := context.WithTimeoutCause(t.Context(), 0, errors.New("it waits"))
	defer cancel()
	if err := c.fenced(short); err == nil || err.Error() != "it waits" {
		t.Errorf("a worker may still send: %v", err)
	}
	if w := c.join(hello{Orders: nats.NewInbox(), K: 1, Version: "test", Was: was}); w.Refused != "" {
		t.Fatal(w.Refused)
	}
	if err := c.fenced(t.Context()); err != nil {
		t.Errorf("it has come back: %v", err)
	}
	c.seats[2].closed = true // it has ended
	c.leave(2)
	if err := c.fenced(t.Context()); err != nil {
		t.Errorf("it had ended: %v", err)
	}
	c.seats[0].heard = time.Now().Add(-time.Hour)
	c.leave(0)
	if err := c.fenced(t.Context()); err != nil {
		t.Errorf("it has stopped long ago: %v", err)
	}
}

// A worker of another machine that ends is noticed by its connection, without waiting for its
// silence; before the run another one takes its place.
func TestAnEndIsNoticed(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdef"
	asked := make(chan int64, 8)
	opened := make(chan error, 1)
	b, err := openBus("127.0.0.1:0", token)
	if err != nil {
		t.Fatal(err)
	}
	c := newCoordinator(&Options{
		Workers: 2, Version: "test", Missing: func(n int64, _ string, _ time.Duration) { asked <- n },
	}, b)
	if err := c.listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	go func() { opened <- c.fill(t.Context()) }()
	join := func(k int64) (end func(), over chan error) {
		ctx, cancel := context.WithCancel(context.Background())
		over = make(chan error, 1)
		go func() {
			over <- Join(ctx, ctx, Joining{URL: b.url, Token: token, Version: "test", K: k, driver: onerun.Local{}})
		}()
		return cancel, over
	}
	if n := <-asked; n != 2 {
		t.Errorf("%d are missing, want 2", n)
	}
	end, over := join(1)
	for look := time.NewTicker(time.Millisecond); c.orders(1) == ""; <-look.C {
	}
	end()
	if err := <-over; err != nil {
		t.Errorf("it was told to end: %v", err)
	}
	if n := <-asked; n != 2 {
		t.Errorf("%d are missing after one has gone, want 2", n)
	}
	_, first := join(0)
	end, second := join(1)
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	end()
	err = c.await(t.Context(), nil, 0)
	if err == nil || !strings.Contains(err.Error(), "worker 2 of 2 was lost: its connection was closed") {
		t.Errorf("a worker has ended: %v", err)
	}
	if err := errors.Join(<-second, c.Close(), <-first); err != nil {
		t.Error(err)
	}
}
