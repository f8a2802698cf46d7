package verdict

import (
	"testing"

	"aiperf.dev/aiperf/schema"
)

// What a check is said to judge is what it judges: it has nothing to say of another
// kind of run.
func TestChecksJudgeWhatTheySay(t *testing.T) {
	t.Parallel()
	closed := clean().judge(nil)
	opened := clean()
	open(opened)
	clocked := opened.judge(nil)
	whole := clean()
	whole.before = func(e *Evidence) { e.Streaming = false }
	for i := range whole.records {
		whole.records[i].Streamed, whole.records[i].Chunks = false, nil
	}
	inOne := whole.judge(nil)
	for _, c := range checks() {
		for of, found := range map[Of]map[string]Finding{openLoops: closed, closedLoops: clocked, streams: inOne} {
			if f, ok := found[c.ID]; ok && c.Of == of {
				t.Errorf("%s judges a run%s: %s", c.ID, of, f.Detail)
			}
		}
	}
}

// Limits are said to have no effect where their check judges nothing, and only there.
func TestIdleLimits(t *testing.T) {
	t.Parallel()
	phase := func(kind, is string) schema.Phase { return schema.Phase{Kind: kind, Type: is} }
	warmed := &schema.Benchmark{Phases: []schema.Phase{phase("warmup", "concurrency"), phase("profiling", "poisson")}}
	for id, want := range map[string]Of{
		"turnaround": closedLoops, "backlog": anyRun, "streamed": streams, "drift": trials, "stamps": severalRuns,
		"sentinel": sentinels, "stable": untilStable, "settling": nothing, "errors": anyRun, "no such check": anyRun,
	} {
		if got := Idle(id, schema.Experiment{}, warmed, 1); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	many := schema.Experiment{MultiRun: schema.MultiRun{NumRuns: 3, Sentinel: true}}
	warmed.Endpoint.Streaming = true
	warmed.Phases[1].Stability = &schema.Stability{}
	for _, id := range []string{"drift", "stable", "stamps", "sentinel", "streamed"} {
		if got := Idle(id, many, warmed, 1); got != anyRun {
			t.Errorf("%s: %q where it judges", id, got)
		}
	}
}
