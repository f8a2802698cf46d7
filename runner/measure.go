package runner

import (
	"context"
	"fmt"
	"slices"

	"aiperf.dev/aiperf/internal/plugin"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
)

// measured is a run of the plan that was carried out, before it is judged.
type measured struct {
	run sweep.Run
	*onerun.Opened
	*onerun.Result
}

// measure opens run and drives it; its files go to dir. Since nothing is measured
// while it is opened, that ends with issue; with hard it does not even wait for the
// piece of work under way.
func (r *runner) measure(issue, hard context.Context, run sweep.Run) (_ *measured, err error) {
	spec, driver := r.spec(run), r.opt.Driver
	if driver == nil {
		driver = onerun.Local{}
	}
	if driver.Network() && spec.ServerCounts() { // so it has to be there first
		if spec.Targets, err = r.resolve(issue, run); err != nil {
			return nil, err
		}
	}
	host := plugin.Host{Allow: r.opt.AllowHooks, Hide: r.hide}
	r.loader.Host = host
	open, err := r.loader.Open(issue, hard, spec)
	if err != nil {
		return nil, err
	}
	if driver.Network() && open.Targets == nil { // what is wrong with files is said before a server is started
		if open.Targets, err = r.resolve(issue, run); err != nil {
			return nil, err
		}
	}
	for _, line := range append(slices.Clone(open.Set.Doubts()), answersVary(&open.Benchmark)) {
		if line != "" && !slices.Contains(r.told, line) { // runs mostly share one set
			r.told = append(r.told, line)
			r.opt.say(line)
		}
	}
	dir, err := r.runDir(run)
	if err != nil {
		return nil, &onerun.LostError{Err: err}
	}
	if err := open.Start(hard, host); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			open.Close()
		}
	}()
	out, err := driver.Drive(issue, hard, open, &onerun.Session{
		Dir: dir, Hide: r.hide, Live: r.opt.Live, Exporters: r.outlets.begin(run),
	})
	r.outlets.end()
	if err != nil {
		return nil, err
	}
	return &measured{run, open, out}, nil
}

// spec is run as plain data; its targets come when there is a network.
func (r *runner) spec(run sweep.Run) onerun.Spec {
	at := func(path string) string { return r.moved.now(Beside(r.opt.SourceName, path)) }
	s := specOf(run, at)
	s.Meta, s.AllowCode = r.meta(run), r.opt.AllowCode
	return s
}

// specOf is run with its files where at finds them.
func specOf(run sweep.Run, at func(path string) string) onerun.Spec {
	s := onerun.Spec{Benchmark: run.Cell.Resolved.Benchmark, Seed: run.Seed, Text: run.Text}
	s.Benchmark.Phases = phasesOf(run)
	s.Benchmark.GPUTelemetry.MetricsFile = at(s.Benchmark.GPUTelemetry.MetricsFile)
	s.Benchmark.Datasets = slices.Clone(s.Benchmark.Datasets)
	for i := range s.Benchmark.Datasets {
		d := &s.Benchmark.Datasets[i]
		d.Path, d.Folder, d.SystemFile, d.Plugin = at(d.Path), at(d.Folder), at(d.SystemFile), at(d.Plugin)
	}
	s.Benchmark.Endpoint.Plugin = at(s.Benchmark.Endpoint.Plugin)
	if a := s.Benchmark.Accuracy; a != nil {
		found := *a
		found.Path, found.Plugin = at(a.Path), at(a.Plugin)
		s.Benchmark.Accuracy = &found
	}
	return s
}

// meta is what the stream of records says about its run.
func (r *runner) meta(run sweep.Run) sinks.RunMeta {
	axes := map[string]any{}
	for _, v := range run.Cell.Point {
		axes[v.Axis] = v.Label
	}
	return sinks.RunMeta{
		Experiment: r.plan.Name, Plan: r.plan.Hash, Cell: run.Cell.ID, CellIndex: run.Cell.Index, Trial: run.Trial,
		RunID: run.ID,
		Seed:  run.Seed, Axes: axes, Version: r.opt.Version,
	}
}

// resolve is the base URLs of a run's targets.
func (r *runner) resolve(ctx context.Context, run sweep.Run) (targets []string, err error) {
	for _, u := range run.Cell.Resolved.Benchmark.Endpoint.URLs {
		base, err := r.servers.resolve(ctx, u, r.dir.Path)
		if err != nil {
			return nil, err
		}
		targets = append(targets, base)
	}
	return targets, nil
}

// phasesOf are the phases that run goes through.
func phasesOf(run sweep.Run) []schema.Phase {
	phases := run.Cell.Resolved.Benchmark.Phases
	if !run.Warmup {
		phases = withoutWarmup(phases)
	}
	return mode.WithPriming(phases)
}

func withoutWarmup(phases []schema.Phase) []schema.Phase {
	var out []schema.Phase
	for _, p := range phases {
		if p.Kind != "warmup" {
			out = append(out, p)
		}
	}
	return out
}

// benchmarkID is AIPerf's 12 hex digits for one run, 32 for one of several, made
// from its identity.
func benchmarkID(run sweep.Run, attempt int, several bool) string {
	id := seed.Of(run.Seed, fmt.Sprintf("%s:%d", run.ID, attempt))
	if several {
		return fmt.Sprintf("%016x%016x", id, seed.Of(run.Seed, fmt.Sprintf("%s:%d:more", run.ID, attempt)))
	}
	return fmt.Sprintf("%012x", id&0xffffffffffff)
}
