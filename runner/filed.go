package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/mlflow"
	"aiperf.dev/aiperf/sweep/decide"
)

// filing bounds how long results are filed elsewhere.
const filing = 10 * time.Minute

// file files the results of a plan with MLflow: one run, or one for the plan and those of
// its trials nested in it. What goes wrong is told, and changes no result.
func (r *runner) file(hard context.Context, o *outlets) {
	uri := o.bench.MLflow.TrackingURI
	if uri == "" {
		return
	}
	ctx, stop := context.WithTimeout(hard, filing)
	defer stop()
	if o.mlflow == nil { // it was not there before the load
		again, stop := context.WithTimeout(ctx, returning)
		err := o.openMLflow(again)
		stop()
		if err != nil {
			r.opt.say(fmt.Sprintf("MLflow: nothing is filed with %s: %s", secret.URL(uri), r.hide.Text(diag.Line(err))))
			return
		}
	}
	whole := r.filedPlan(o)
	runs := r.filedRuns()
	if len(r.result.Outcomes) == 1 && len(runs) == 1 && !r.plan.Several() { // one run is all there is
		whole.Params, whole.Metrics = append(whole.Params, runs[0].Params...), runs[0].Metrics
		runs = nil
	}
	err := o.mlflow.File(ctx, whole)
	for i := 0; err == nil && i < len(runs); i++ {
		runs[i].Parent = whole.ID
		err = o.mlflow.File(ctx, runs[i])
	}
	if err != nil {
		r.opt.say(fmt.Sprintf("MLflow: not all was filed with %s: %s", o.mlflow.Address(), r.hide.Text(diag.Line(err))))
	}
	if whole.ID == "" {
		return
	}
	if err := r.keepFiled(o, whole, runs); err != nil {
		r.opt.say("MLflow: " + diag.Line(err))
	}
	if err == nil {
		r.opt.say(
			fmt.Sprintf(
				"MLflow: filed as run %s of %s at %s", whole.ID, words.Line(o.bench.MLflow.Experiment),
				o.mlflow.Address(),
			),
		)
	}
}

// filedName is AIPerf's file about what was filed.
const filedName = "mlflow_export.json"

// keepFiled writes what was filed under which ids.
func (r *runner) keepFiled(o *outlets, whole *mlflow.Run, runs []*mlflow.Run) error {
	keys := func(list [][2]string) (out []string) {
		for _, p := range list {
			out = append(out, p[0])
		}
		return out
	}
	var metricKeys, files []string
	for _, m := range whole.Metrics {
		metricKeys = append(metricKeys, m.Key)
	}
	for _, a := range whole.Artifacts {
		files = append(files, a.Name)
	}
	nested := map[string]string{}
	for _, n := range runs {
		if n.ID != "" {
			nested[n.Name] = n.ID
		}
	}
	var parent *string
	if p := o.bench.MLflow.ParentRunID; p != "" {
		parent = &p
	}
	b, err := json.MarshalIndent(map[string]any{
		"tracking_uri": o.mlflow.Address(), "experiment": o.bench.MLflow.Experiment, "experiment_id": o.mlflow.Experiment(),
		"run_id": whole.ID, "run_name": whole.Name, "benchmark_id": r.plan.Hash, "parent_run_id": parent,
		"live_streaming": false, "reused_live_run": false, "metric_keys": metricKeys, "param_keys": keys(whole.Params),
		"tag_keys": keys(whole.Tags), "uploaded_artifacts": files, "nested_runs": nested, "exported_at_ns": time.Now().UnixNano(),
	}, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(r.dir.Path, filedName), append(b, '\n'))
}

// filedPlan is the plan as a run of MLflow's.
func (r *runner) filedPlan(o *outlets) *mlflow.Run {
	c, b := &o.bench.MLflow, &o.bench
	out := &mlflow.Run{
		Name: cmp.Or(
			c.RunName, r.plan.Name, filepath.Base(absolute(r.dir.Path)),
		), Parent: c.ParentRunID, Status: "FINISHED",
		Began: r.result.Began, Ended: r.result.Began.Add(r.result.Elapsed),
		Params: [][2]string{
			{"endpoint.type", b.Endpoint.Type},
			{"endpoint.urls", r.hide.Text(strings.Join(b.Endpoint.URLs, ","))},
			{"endpoint.models", modelNames(b.Models.Items)},
			{"timing.mode", phaseTypes(b.Phases)},
			{"output.artifact_directory", r.dir.Path},
			{"runs", fmt.Sprint(len(r.result.Outcomes))},
		},
		Tags: [][2]string{
			{"aiperf.version", r.opt.Version},
			{"aiperf.was_cancelled", fmt.Sprint(r.result.Interrupted)},
			{"benchmark_id", r.plan.Hash},
			{"aiperf.verdict", r.result.said().String()},
		},
	}
	switch {
	case r.result.Interrupted:
		out.Status = "KILLED"
	case !r.result.Measured():
		out.Status = "FAILED"
	}
	for _, m := range c.Tags {
		out.Tags = append(out.Tags, [2]string{m.Name, fmt.Sprint(c.Tags.Get(m.Name))})
	}
	out.Metrics = append(out.Metrics, mlflow.Metric{Key: "aiperf.runs", Value: float64(len(r.result.Outcomes))})
	for _, name := range r.filedFiles(c.ArtifactGlobs) {
		out.Artifacts = append(out.Artifacts, mlflow.Artifact{
			Name: path.Join("exports", name), File: filepath.Join(r.dir.Path, filepath.FromSlash(name)),
		})
	}
	return out
}

// filedFiles are the files that go along, by their names below the directory.
func (r *runner) filedFiles(globs []string) (names []string) {
	usual := []string{resultdir.ViewName, resultdir.ResolvedName, resultdir.SourceName + ".*"}
	root := r.dir.Path
	_ = filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil //nolint:nilerr // what cannot be read does not go along
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return nil //nolint:nilerr // the same
		}
		rel = filepath.ToSlash(rel)
		fits := func(pattern string) bool {
			whole, _ := path.Match(pattern, rel)
			base, _ := path.Match(pattern, path.Base(rel))
			return whole || base
		}
		theirs := strings.HasPrefix(path.Base(rel), "profile_export") || path.Base(rel) == "inputs.json"
		if len(globs) > 0 && slices.ContainsFunc(globs, fits) ||
			len(globs) == 0 && (theirs || slices.ContainsFunc(usual, fits)) {
			names = append(names, rel)
		}
		return nil
	})
	slices.Sort(names)
	return names
}

// filedRuns are the trials as runs of MLflow's.
func (r *runner) filedRuns() (out []*mlflow.Run) {
	for i := range r.result.Outcomes {
		x := &r.result.Outcomes[i]
		run := &mlflow.Run{
			Name: fmt.Sprintf("%s, trial %d", x.Run.Cell.Short(), x.Run.Trial+1), Status: "FINISHED",
			Began: r.result.Began, Ended: r.result.Began.Add(r.result.Elapsed),
			Params: [][2]string{{"trial", fmt.Sprint(x.Run.Trial + 1)}},
			Tags: [][2]string{
				{"aiperf.cell", x.Run.Cell.ID}, {"aiperf.run", x.Run.ID}, {"aiperf.verdict", x.Verdict.String()},
			},
		}
		if rep := r.result.Reports[x.Run.ID]; rep != nil {
			run.Began, run.Ended = rep.Started, rep.Ended
		}
		run.Params = append(run.Params, loadParams(x.Run.Cell.Resolved.Benchmark.Phases)...)
		for _, v := range x.Run.Cell.Point {
			run.Params = append(run.Params, [2]string{v.Axis, r.hide.Text(fmt.Sprint(v.Natural()))})
		}
		if x.Err != "" {
			run.Status = "FAILED"
			run.Tags = append(run.Tags, [2]string{"aiperf.error", r.hide.Text(x.Err)})
		}
		run.Metrics = filedMetrics(x)
		out = append(out, run)
	}
	return out
}

// filedMetrics are the figures of a run: TAG is the mean, TAG.STAT any other, as AIPerf
// names them.
func filedMetrics(x *decide.Outcome) (out []mlflow.Metric) {
	out = append(out, mlflow.Metric{Key: "aiperf.completed_requests", Value: float64(x.OK)})
	for i := range x.Summaries {
		if x.Summaries[i].Window != decide.Full {
			continue
		}
		for _, row := range runMetrics(place(x.Run), &x.Summaries[i], nil, 0) {
			out = append(out, mlflow.Metric{Key: filedKey(row.Metric, row.Stat), Value: row.Value})
		}
	}
	for k, t := range x.Beside[decide.Full] {
		if metrics.Finite(t.Value) {
			out = append(out, mlflow.Metric{Key: k.Spoken(), Value: t.Value})
		}
	}
	slices.SortFunc(out, func(a, b mlflow.Metric) int { return strings.Compare(a.Key, b.Key) })
	return out
}

func filedKey(tag, stat string) string {
	if stat == "avg" {
		return tag
	}
	return tag + "." + stat
}

func modelNames(items []schema.Model) string {
	var names []string
	for _, m := range items {
		names = append(names, m.Name)
	}
	return strings.Join(names, ",")
}

// loadParams are the load of the first profiling phase by AIPerf's names.
func loadParams(phases []schema.Phase) (params [][2]string) {
	first := slices.IndexFunc(phases, func(p schema.Phase) bool { return p.Kind != "warmup" })
	if first < 0 {
		return nil
	}
	p := &phases[first]
	if p.Concurrency > 0 {
		params = append(params, [2]string{"loadgen.concurrency", strconv.Itoa(p.Concurrency)})
	}
	if p.Rate > 0 {
		params = append(params, [2]string{"loadgen.request_rate", strconv.FormatFloat(p.Rate, 'f', -1, 64)})
	}
	if p.Requests > 0 {
		params = append(params, [2]string{"loadgen.request_count", strconv.FormatInt(p.Requests, 10)})
	}
	if p.Duration != nil {
		params = append(params, [2]string{"loadgen.benchmark_duration", strconv.FormatFloat(float64(*p.Duration), 'f', -1, 64)})
	}
	return params
}

// phaseTypes are the types of the measured phases.
func phaseTypes(phases []schema.Phase) string {
	var types []string
	for _, p := range phases {
		if p.Kind != "warmup" && !slices.Contains(types, p.Type) {
			types = append(types, p.Type)
		}
	}
	return strings.Join(types, ",")
}
