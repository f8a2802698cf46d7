package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/plugin"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sweep"
)

// writeTheirs writes AIPerf's files over several runs, if AIPerf's files are wanted; else
// it keeps what Export makes them of.
func (r *runner) writeTheirs() error {
	over, err := r.overRuns()
	if err != nil {
		return err
	}
	if r.opt.AIPerf {
		return over.Write(r.dir.Path, r.summaryOf)
	}
	kept := aiperf.Kept{Schema: aiperf.KeptSchema, Several: r.plan.Several(), Over: over, Families: r.pages}
	var dirs []string // of the runs whose streams will not stay
	for i := range r.result.Outcomes {
		o := &r.result.Outcomes[i]
		rep := r.result.Reports[o.Run.ID]
		if rep == nil {
			continue
		}
		data, err := json.Marshal(r.dataSpec(o.Run))
		if err != nil {
			return err
		}
		kept.Runs = append(kept.Runs, aiperf.KeptRun{
			ID: o.Run.ID, Dir: o.Run.Dir, Profile: r.profile(o.Run, rep),
			Data: r.hide.JSON(data), DataSHA256: rep.Dataset,
		})
		if r.over() {
			dirs = append(dirs, o.Run.Dir)
		}
	}
	if len(kept.Runs) == 0 {
		return nil
	}
	about, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	file, err := sinks.WriteArchive(r.dir.Path, r.hide.OwnJSON(about), dirs)
	if err != nil {
		return err
	}
	r.wrote(r.dir.Path, file)
	return nil
}

// dataSpec is run as far as its requests depend on it: without what only the way to the
// server needs, which may be secret.
func (r *runner) dataSpec(run sweep.Run) onerun.Spec {
	s := specOf(run, func(path string) string {
		if path == "" {
			return ""
		}
		return shownPath(r.moved.now(Beside(r.opt.SourceName, path)))
	})
	e := &s.Benchmark.Endpoint
	e.APIKey, e.Headers, e.Flip = "", schema.Endpoint{}.Headers, nil
	s.Benchmark.Server = nil
	e.URLs = slices.Clone(e.URLs)
	for i, u := range e.URLs {
		e.URLs[i] = secret.URL(u)
	}
	return s
}

// Export writes AIPerf's files of the finished result directory dir to folder to, as they
// would have been written had they been wanted when the plan was carried out: all of them,
// or none with an error. files are their paths in to; notes says which inputs.json could
// not be made again, and why.
func Export(ctx context.Context, dir, to string) (files, notes []string, err error) {
	a, err := sinks.OpenArchive(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nothingKept(dir)
		}
		return nil, nil, err
	}
	defer a.Close()
	if err := os.MkdirAll(to, 0o755); err != nil {
		return nil, nil, err
	}
	stage, err := os.MkdirTemp(to, ".export-*.tmp")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(stage) //nolint:errcheck // what is left there is nobody's
	x := &export{
		archive: a, ctx: ctx, from: dir, to: stage, loader: onerun.NewLoader(),
		summaries: map[string]*metrics.Summary{},
	}
	x.loader.Host = plugin.HostOf(ctx)
	if x.kept, err = aiperf.ReadKept(a.About); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Join(dir, resultdir.RecordsKept), err)
	}
	logs, err := runLogs(filepath.Join(dir, resultdir.LogDir, resultdir.LogName))
	if err != nil {
		return nil, nil, err
	}
	x.logs = logs
	for i := range x.kept.Runs {
		if err := x.run(&x.kept.Runs[i]); err != nil {
			return nil, nil, err
		}
	}
	if err := x.kept.Over.Write(stage, func(dir string) *metrics.Summary { return x.summaries[dir] }); err != nil {
		return nil, nil, err
	}
	a.Close() // with what it unpacked
	if files, err = moveInto(stage, to); err != nil {
		return nil, nil, err
	}
	if absolute(to) == absolute(dir) {
		err = resultdir.AddFiles(dir, files)
	}
	return files, x.notes, err
}

// moveInto moves the files below stage to the same places below to, where none is yet.
func moveInto(stage, to string) (files []string, err error) {
	err = filepath.WalkDir(stage, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(stage, path)
		if err != nil {
			return err
		}
		if _, err := os.Lstat(filepath.Join(to, rel)); err == nil {
			return diag.New(filepath.Join(to, rel)+": exists already", "name another folder with --output")
		}
		files = append(files, rel)
		return nil
	})
	for _, rel := range files {
		if err != nil {
			break
		}
		target := filepath.Join(to, rel)
		if err = os.MkdirAll(filepath.Dir(target), 0o755); err == nil {
			err = os.Rename(filepath.Join(stage, rel), target)
		}
	}
	return files, err
}

// nothingKept says why a directory has nothing to make AIPerf's files of.
func nothingKept(dir string) error {
	switch m, err := resultdir.ReadManifest(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return diag.New(dir+": not finished", "aiperf run … --artifact-dir "+dir+" --resume")
	case err != nil:
		return err
	case slices.ContainsFunc(m.Files, func(f resultdir.ManifestFile) bool {
		return f.Kind == "aiperf" &&
			filepath.Ext(f.Path) == ".csv"
	}):
		return diag.New(dir+": AIPerf's files are there", "they were written with the results")
	}
	return diag.New(dir+": no records are kept there", "an older version of aiperf wrote it")
}

// export is one call of Export.
type export struct {
	archive   *sinks.Archive
	kept      aiperf.Kept
	ctx       context.Context //nolint:containedctx // of the call
	from, to  string          // to is where they are put together
	loader    *onerun.Loader
	logs      map[string][]byte
	summaries map[string]*metrics.Summary // by the folder of the run
	notes     []string
}

// run writes the files of one run.
func (x *export) run(k *aiperf.KeptRun) error {
	if k.Dir != "" && !filepath.IsLocal(k.Dir) {
		return fmt.Errorf("%s: run %q is in %q", x.from, k.ID, k.Dir)
	}
	p := k.Profile
	p.Dir, p.Info.Config.Fraction = filepath.Join(x.to, k.Dir), schema.TakesFraction
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return err
	}
	if p.Pages != nil {
		p.Pages.Families = x.kept.Families
	}
	p.Samples = func(add func(telemetry.Sample)) error { return samplesOf(x.from, k.ID, p.Info.T0, add) }
	p.Answers = func(add func(*sinks.Answer)) error { return answersOf(x.from, k.ID, p.Info.T0, add) }
	if err := x.inputs(k, p.Dir); err != nil {
		x.notes = append(x.notes, fmt.Sprintf("%s is not written: %s", filepath.Join(k.Dir, "inputs.json"),
			diag.Line(err)))
	}
	journal, err := x.archive.Journal(k.Dir, p.Dir)
	if err != nil {
		return err
	}
	if p.Slice > 0 {
		if p.Span, err = spanOf(journal); err != nil {
			return err
		}
	}
	files, err := aiperf.NewWriter(p)
	if err != nil {
		return err
	}
	c := metrics.NewCollector(p.Options)
	_, err = sinks.ReadJournal(journal, files.Add, func(rec *record.Record) error { c.Add(rec); return nil })
	if err != nil {
		files.Abort()
		return err
	}
	sum := &c.Summaries()[0]
	x.summaries[k.Dir] = sum
	if _, err := writeProfile(files, x.kept.Several, sum); err != nil {
		return err
	}
	if k.Dir == "" || len(x.logs[k.ID]) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(p.Dir, resultdir.LogDir), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.Dir, resultdir.LogDir, resultdir.LogName), x.logs[k.ID], 0o644)
}

// inputs makes the requests of a run again, and writes them if they are those that were
// sent.
func (x *export) inputs(k *aiperf.KeptRun, dir string) error {
	var spec onerun.Spec
	if err := json.Unmarshal(k.Data, &spec); err != nil {
		return err
	}
	run, err := x.loader.Open(x.ctx, x.ctx, spec)
	if err != nil {
		return err
	}
	if run.Set.Digest() != k.DataSHA256 {
		return errors.New("its data are not those that were sent")
	}
	_, err = writeInputs(dir, run, nil)
	return err
}

// samplesOf goes through the samples of one run of a finished directory, with times since
// the run's T0.
func samplesOf(dir, run string, t0 time.Time, add func(telemetry.Sample)) error {
	return rowsOf(dir, "telemetry", run, t0, func(rows *sinks.TableRows, i int, at int64) {
		text := func(name string) string { return rows.Texts[name][i] }
		add(telemetry.Sample{
			At: at, Source: text("source"), Collector: text("collector"), Metric: text("metric"),
			Labels: text("labels"), Unit: text("unit"), Kind: text("kind"), Value: rows.Floats["value"][i],
		})
	})
}

// answersOf goes through the answers of one run of a finished directory to questions with
// known answers, with times since the run's T0.
func answersOf(dir, run string, t0 time.Time, add func(*sinks.Answer)) error {
	return rowsOf(dir, "answers", run, t0, func(rows *sinks.TableRows, i int, at int64) {
		text := func(name string) string { return rows.Texts[name][i] }
		worker := int64(0)
		if all := rows.Floats["worker"]; i < len(all) { // results of earlier versions have none
			worker = int64(all[i])
		}
		add(&sinks.Answer{
			At: at, Worker: worker, SessionNum: int64(rows.Floats["session_num"][i]), SessionID: text("session_id"),
			ConversationID: text("conversation_id"), RequestID: text("x_request_id"), Phase: text("phase"),
			Item: text("item"), Task: text("task"), Grader: text("grader"), Status: text("status"),
			Outcome: text("outcome"), Why: text("why"), FinishReason: text("finish_reason"),
			Passed: rows.Floats["passed"][i] == 1, Unparsed: rows.Floats["unparsed"][i] == 1,
			Confidence: rows.Floats["confidence"][i], Expected: text("expected"), Actual: text("actual"),
			Explanation: text("explanation"), Output: text("output"), Reasoning: text("reasoning"),
		})
	})
}

// rowsOf goes through the rows of one run in a table of what happened over time, of a
// finished directory; at is since the run's T0. A directory without that table has none.
func rowsOf(
	dir, table, run string, t0 time.Time, each func(rows *sinks.TableRows, i int, at int64),
) error {
	about, err := sinks.ReadTable(dir, table, func(string) bool { return false })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	began, err := strconv.ParseInt(about.Meta["aiperf.t0_unix_ns"], 10, 64)
	if err != nil {
		return fmt.Errorf("%s.parquet: aiperf.t0_unix_ns: %w", table, err)
	}
	shift := float64(t0.UnixNano() - began)
	_, err = sinks.EachTable(dir, table, nil, func(rows *sinks.TableRows) error {
		for i, id := range rows.Texts["run_id"] {
			if id == run {
				each(rows, i, int64(rows.Floats["t_ns"][i]-shift))
			}
		}
		return nil
	})
	return err
}

// spanOf is from the first that was sent to the last that ended of what counts in a
// journal.
func spanOf(journal string) (metrics.Window, error) {
	var r onerun.Result
	_, err := sinks.ReadMeasured(journal, func(rec *record.Record) error { r.Note(rec); return nil })
	return r.Span, err
}
