package runner

import (
	"time"

	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Arrivals says when the first n requests of each phase of run are due, from
// the start of the phase, without sending anything; they are what the run will
// do as long as answers come in time. A closed loop has the sends for which no
// answer is needed. source is the experiment's file, whose neighbours may be
// data; phases are those of the run, in order.
func Arrivals(source string, run sweep.Run, n int) (phases []schema.Phase, due [][]time.Duration, err error) {
	r := &runner{opt: Options{SourceName: source}, tokenizers: tokenizers{}}
	m := &measurement{run: run}
	phases = phasesOf(run)
	for i := range phases {
		p := &phases[i]
		if m.set == nil && loadgen.NeedsSet(p) {
			if m, err = r.load(run); err != nil {
				return nil, nil, err
			}
		}
		set := m.set
		if p.Kind == "warmup" && m.warmup != nil {
			set = m.warmup
		}
		at, err := loadgen.ScheduleSet(*p, run.Seed, n, set)
		if err != nil {
			return nil, nil, err
		}
		due = append(due, at)
	}
	return phases, due, nil
}
