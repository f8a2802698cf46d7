package capture

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"aiperf.dev/aiperf/internal/words"
)

// Serve passes on what comes through l, until issue ends or a limit is reached. Then nothing
// new is taken; what is being answered goes on to its end, or to that of hard.
func (c *Capture) Serve(issue, hard context.Context, l net.Listener) (Summary, error) {
	server := &http.Server{
		Handler: c, ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // broken connections are counted
	}
	var err error
	ended := make(chan struct{})
	go func() { err = server.Serve(l); close(ended) }()
	var over <-chan time.Time
	if c.o.Duration > 0 {
		t := time.NewTimer(c.o.Duration)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-ended: // it could not serve
	case <-issue.Done():
	case <-c.full:
	case <-over:
	}
	if n := c.inside.Load(); n > 0 && hard.Err() == nil {
		c.warn(words.CountOf(n, "answer is", "answers are") + " still coming; Ctrl-C ends them")
	}
	if shut := server.Shutdown(hard); shut != nil {
		_ = server.Close() // what is broken off is recorded as such
	}
	<-ended
	c.passing.Wait()
	sum, end := c.close()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return sum, errors.Join(err, end)
}
