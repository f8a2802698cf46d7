package cluster

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"aiperf.dev/aiperf/internal/diag"
)

// lose is called when the coordinator cannot be reached any more. Where it has died, a worker
// that keeps what it sees sends the run under way to its end.
func (w *worker) lose(issue, ctx context.Context, j *Joining) {
	w.once.Do(func() {
		close(w.cut)
		w.mu.Lock()
		goesOn := w.keep != nil && w.stops[0] != nil && w.told.Run != int(w.run.Load())
		w.mu.Unlock()
		if !goesOn {
			w.quit()
			return
		}
		go func() {
			defer context.AfterFunc(issue, w.quit)()
			w.watch(ctx, j)
		}()
	})
}

// alone tells whether the coordinator cannot be reached any more.
func (w *worker) alone() bool {
	select {
	case <-w.cut:
		return true
	default:
		return false
	}
}

// watch sees, as long as the worker goes on without its coordinator, that it is dead: its machine
// says that nobody listens there, or another one does. If it lives it has given this worker up, and
// has others send the run: as it may where no machine answers.
func (w *worker) watch(ctx context.Context, j *Joining) {
	for {
		conn, _, err := connect(j.URL, j.Token, nil)
		switch {
		case err == nil:
			lives := conn.ConnectedServerId() == w.server
			conn.Close()
			if lives {
				w.quit()
				return
			}
		case notAnswering(err):
			w.quit()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * knocking):
		}
	}
}

// notAnswering tells whether an error says that no machine answers at an address.
func notAnswering(err error) bool {
	var unknown *net.DNSError
	var late net.Error
	return errors.As(err, &unknown) || errors.As(err, &late) && late.Timeout() ||
		errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

// lack notes that the run under way is not whole.
func (w *worker) lack() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.short = true
}

// hand hands over what is kept of a run, under the number that it has now.
func (w *worker) hand(run int) done {
	ship := &shipper{w: w, run: run}
	err := w.keep.each(func(message []byte) error {
		var b batch
		if err := decode(message, &b); err != nil {
			return err
		}
		b.Run = run
		ship.ship(encode(b))
		return ship.err
	})
	err = errors.Join(err, ship.flush())
	d := done{K: w.me.K, Run: run}
	if err != nil {
		e := diag.Of(err)
		d.Failed, d.Hint = e.Error(), e.Hint
		return d
	}
	d = w.keep.done
	d.Run = run
	return d
}
