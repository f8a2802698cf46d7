package runner

import (
	"context"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/sweep"
)

// reach makes one connection to every server of the plan, before anything is
// made for it. When none can be reached the plan is not begun: its directory
// keeps its name for the attempt that works. Of several servers one may be down;
// its cells fail, and the others are measured.
func reach(ctx context.Context, plan *sweep.Plan) error {
	tried := map[string]bool{}
	var failed []error
	for _, c := range plan.Cells {
		m := &measurement{bench: c.Resolved.Benchmark}
		for _, u := range m.bench.Endpoint.URLs {
			if IsMock(u) {
				return nil
			}
			if tried[u] {
				continue
			}
			tried[u] = true
			m.targets = []string{u}
			if err := transport.Reach(ctx, transportConfig(m, record.NewClock())); err != nil {
				failed = append(failed, unreachable(err))
			}
		}
	}
	if len(failed) < len(tried) || ctx.Err() != nil {
		return nil
	}
	return failed[0]
}

// unreachable is err with what to try about it.
func unreachable(err error) *diag.Error {
	return &diag.Error{
		Code: diag.Failed, Message: err.Error(), Cause: err,
		Hint: "is the server running there? try the command against the built-in one: --url mock:",
	}
}
