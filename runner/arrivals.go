package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"time"

	"aiperf.dev/aiperf/internal/plugin"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Arrivals says when the first n requests of each phase of run are due, from
// the start of the phase, without sending anything; they are what the run will
// do as long as answers come in time. A closed loop has the sends for which no
// answer is needed. source is the experiment's file, whose neighbours may be
// data; phases are those of the run, in order.
func Arrivals(ctx context.Context, source string, run sweep.Run, n int) (
	phases []schema.Phase, due [][]time.Duration, err error,
) {
	phases = phasesOf(run)
	sets := setsOf(ctx, source, run)
	for i := range phases {
		at, err := sets.arrivals(&phases[i], n)
		if err != nil {
			return nil, nil, err
		}
		due = append(due, at)
	}
	return phases, due, nil
}

// Replay is how many requests a fixed schedule of run sends, and when the last
// of them is due, from the start of the phase.
func Replay(ctx context.Context, source string, run sweep.Run, phase *schema.Phase) (
	requests int64, last time.Duration, err error,
) {
	at, err := setsOf(ctx, source, run).arrivals(phase, math.MaxInt)
	if err != nil || len(at) == 0 {
		return 0, 0, err
	}
	return int64(len(at)), at[len(at)-1], nil
}

// Conversations are those that the measured phases of run draw from; nothing is
// sent. source is the experiment's file.
func Conversations(ctx context.Context, source string, run sweep.Run) (*dataset.Set, error) {
	m, err := loaded(ctx, source, run)
	if err != nil {
		return nil, err
	}
	return m.Set, nil
}

// loaded is a run that is not sent; ctx says whether plug-ins may run for it.
func loaded(ctx context.Context, source string, run sweep.Run) (*onerun.Opened, error) {
	loader := onerun.NewLoader()
	loader.Host = plugin.HostOf(ctx)
	return loader.Open(ctx, ctx, specOf(run, func(path string) string { return Beside(source, path) }))
}

// playable is the data of a run that is not sent, read when it is needed.
type playable struct {
	ctx    context.Context //nolint:containedctx // of the one question that it is made for
	source string
	run    sweep.Run
	m      *onerun.Opened
}

func setsOf(ctx context.Context, source string, run sweep.Run) *playable {
	return &playable{ctx: ctx, source: source, run: run}
}

func (s *playable) arrivals(p *schema.Phase, n int) (_ []time.Duration, err error) {
	if !mode.NeedsSet(p) {
		return mode.Schedule(p, s.run.Seed, n, nil)
	}
	if s.m == nil {
		if s.m, err = loaded(s.ctx, s.source, s.run); err != nil {
			return nil, err
		}
	}
	set := s.m.Set
	if p.Kind == "warmup" && s.m.Warmup != nil {
		set = s.m.Warmup
	}
	return mode.Schedule(p, s.run.Seed, n, set)
}

// Bound is what the plan costs at least. file is the experiment's, beside which
// the rows of fixed schedules may lie; one that many cells replay is read once.
func Bound(ctx context.Context, file string, plan *sweep.Plan) (sweep.Bound, error) {
	type sends struct {
		requests int64
		last     time.Duration
	}
	known := map[string]sends{}
	var bad error
	b := plan.Bound(func(run sweep.Run, f *schema.Phase) (int64, time.Duration) {
		key, err := json.Marshal([]any{run.Cell.Resolved.Benchmark.Datasets, f})
		s, ok := known[string(key)]
		if bad = cmp.Or(bad, err); !ok && bad == nil {
			s.requests, s.last, bad = Replay(ctx, file, run, f)
			known[string(key)] = s
		}
		return s.requests, s.last
	})
	return b, bad
}
