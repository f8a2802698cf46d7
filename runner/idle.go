package runner

import (
	"context"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// How a search waits between its probes until the server has nothing left to do.
var (
	idlePause  = 100 * time.Millisecond // between two looks at its metrics
	idleMost   = 30 * time.Second       // others may use the server, too
	idleAgain  = 2 * time.Second        // the same, once a wait of the plan was in vain
	idleUntold = time.Second            // where it has no such metrics and answers were cut off
)

// idle waits before a probe of a search until the servers say that nothing runs or waits,
// so that no probe inherits the queue of the one before. Servers that do not say it have
// nothing to do when all was answered; else they get a moment.
func (r *runner) idle(ctx context.Context, last *sweep.Run, next sweep.Run) {
	if r.plan.Experiment.Search == nil || last == nil || !r.opt.network() {
		return
	}
	b := &next.Cell.Resolved.Benchmark
	var targets []string
	for _, u := range b.Endpoint.URLs {
		at, err := r.servers.resolve(ctx, u, r.dir.Path)
		if err != nil {
			return // the run says it
		}
		targets = append(targets, at)
	}
	how := onerun.Transport(b, targets, record.NewClock())
	most := idleMost
	if r.neverIdle {
		most = idleAgain
	}
	for began := time.Now(); ; {
		n, known := onerun.Busy(ctx, b, how)
		spent := time.Since(began)
		switch {
		case !known:
			if cut(r.outcome(*last)) {
				pause(ctx, idleUntold)
			}
			return
		case n == 0:
			if spent > idlePause {
				r.log.say("INFO", "waited %s until the server was idle", words.Span(spent))
			}
			return
		case spent >= most:
			if !r.neverIdle {
				r.opt.say("the server still works on " + words.Count(int64(n), "request") + " after " +
					words.Span(spent) + ": others use it, or it goes on with answers that were cut off; probes are measured beside them")
			}
			r.neverIdle = true
			return
		}
		if !pause(ctx, idlePause) {
			return
		}
	}
}

// cut reports whether answers of a run were not waited for.
func cut(o *decide.Outcome) bool { return o != nil && o.Cut > 0 }

// pause waits; false when ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
