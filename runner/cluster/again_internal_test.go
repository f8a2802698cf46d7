package cluster

import (
	"context"
	"strings"
	"testing"
	"time"
)

// A worker that waits joins the next coordinator when the one that it had has died, and is
// told when its place is taken.
func TestWorkersJoinAgain(t *testing.T) {
	t.Parallel()
	token := "0123456789abcdef"
	open := func(listen string) *Coordinator {
		t.Helper()
		b, err := openBus(listen, token)
		if err != nil {
			t.Fatal(err)
		}
		c := newCoordinator(&Options{Workers: 1, Version: "test"}, b)
		if err := c.listen(t.Context()); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := open("127.0.0.1:0")
	address := strings.TrimPrefix(first.bus.url, "nats://")
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	over := make(chan error, 1)
	go func() {
		over <- Join(ctx, ctx, Joining{URL: first.bus.url, Token: token, Version: "test", K: 0, Wait: time.Hour})
	}()
	<-first.all
	err := Join(ctx, ctx, Joining{URL: first.bus.url, Token: token, Version: "test", K: 0})
	if err == nil || !strings.Contains(err.Error(), "joined already") {
		t.Errorf("a second worker in the place of the first: %v", err)
	}
	first.still()
	if err := first.bus.close(); err != nil { // as when the coordinator is killed
		t.Fatal(err)
	}
	second := open(address)
	<-second.all
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if err := <-over; err != nil {
		t.Errorf("the worker that was let go: %v", err)
	}
}
