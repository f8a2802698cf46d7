package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/render"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sweep"
)

// maxInputs bounds inputs.json: it is for people to look at, and a million
// prompts are not looked at.
const maxInputs = 10_000

// maxMade bounds the bodies in it of a set that is not held in memory, in
// bytes.
const maxMade = 64 << 20

// writeInputs keeps what the plan was made from: the experiment as given and
// as resolved. Files that an earlier process wrote stay as they are.
func (r *runner) writeInputs() error {
	if len(r.opt.Source) > 0 {
		if err := writeOnce(filepath.Join(r.dir.Path, "experiment"+r.opt.SourceEnding), r.opt.Source); err != nil {
			return err
		}
	}
	type cell struct {
		ID        string          `json:"id"`
		Label     string          `json:"label"`
		Benchmark json.RawMessage `json:"benchmark"`
	}
	doc := struct {
		Command    string            `json:"command"`
		Experiment schema.Experiment `json:"experiment"`
		Origins    []string          `json:"origins,omitempty"`
		Cells      []cell            `json:"cells"`
	}{Command: r.opt.CommandLine, Experiment: r.plan.Experiment, Origins: r.opt.Origins}
	for _, c := range r.plan.Cells {
		doc.Cells = append(doc.Cells, cell{c.ID, c.Label, c.Resolved.JSON})
	}
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("resolved.json: %w", err)
	}
	return writeOnce(filepath.Join(r.dir.Path, resultdir.ResolvedName), append(r.hide.JSON(b), '\n'))
}

func writeOnce(path string, b []byte) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	return atomicfile.Write(path, b)
}

// writeRun writes the run's own files: run.json first, since with the journal
// it holds everything, then AIPerf's, if they are wanted.
func (r *runner) writeRun(m *measured, rep *RunReport, read *reading) error {
	dir := filepath.Join(r.dir.Path, m.run.Dir)
	if err := resultdir.WriteMasked(filepath.Join(dir, resultdir.ReportName), rep, r.hide); err != nil {
		return err
	}
	if read.files != nil {
		files, err := writeProfile(read.files, r.plan.Several(), &read.summaries[0])
		if err != nil {
			return err
		}
		r.wrote(dir, files...)
	}
	return removeTraces(dir)
}

// writeProfile completes AIPerf's files of a run: its configuration, where it is one of
// several, and its summaries.
func writeProfile(files *aiperf.Writer, several bool, sum *metrics.Summary) ([]sinks.FileInfo, error) {
	if several {
		if _, err := aiperf.WriteRunConfig(files.Dir, files.Info); err != nil {
			files.Abort()
			return nil, err
		}
	}
	return files.Close(sum)
}

// writePrompts writes inputs.json, if AIPerf's files are wanted. After the last run nobody
// needs the data any more: what a large run leaves behind takes their place.
func (r *runner) writePrompts(m *measured) error {
	if r.opt.AIPerf {
		dir := filepath.Join(r.dir.Path, m.run.Dir)
		file, err := writeInputs(dir, m.Opened, r.hide)
		if err != nil {
			return err
		}
		r.wrote(dir, file)
	}
	m.Set, m.Warmup = nil, nil
	if r.at.Index+1 == r.at.Total {
		r.loader.Forget()
	}
	return nil
}

// writeInputs writes inputs.json of a run that was opened.
func writeInputs(dir string, run *onerun.Opened, hide *secret.Masker) (sinks.FileInfo, error) {
	rd, err := render.New(&run.Benchmark.Endpoint, run.Benchmark.Models, run.API, nil)
	if err != nil {
		return sinks.FileInfo{}, err
	}
	return aiperf.WriteInputs(dir, payloads(run, rd, hide))
}

// runInfo is the run as AIPerf's files describe it.
func (r *runner) runInfo(run sweep.Run, rep *RunReport) *aiperf.RunInfo {
	info := &aiperf.RunInfo{
		Version: aiperfVersion, BenchmarkID: rep.Benchmark, Seed: rep.Seed, Trial: rep.Trial, RunLabel: run.Label,
		VariationLabel: run.Cell.Label, VariationIndex: run.Cell.Index, CLICommand: r.opt.CommandLine,
		Config: aiperf.InputConfig{
			All:  schema.OnlyAIPerf(run.Cell.Resolved.AsAIPerf()),
			Said: schema.OnlyAIPerf(run.Cell.Resolved.Given), Flags: len(r.opt.Source) == 0,
			Dir: shownPath(filepath.Join(r.dir.Path, run.Dir)), Fraction: schema.TakesFraction,
		},
		T0: rep.Started, WasCancelled: rep.Cancelled != "", GPUs: run.Cell.Resolved.Benchmark.GPUTelemetry.Enabled,
	}
	if r.plan.Several() {
		info.SweepID, info.Config.Said = r.sweepID(), nil
	}
	info.VariationValues = parameters(run.Cell)
	if start, end, ok := rep.window(); ok {
		t0 := rep.Started.UnixNano()
		info.Start, info.End = time.Unix(0, t0+start), time.Unix(0, t0+end)
	}
	for _, p := range rep.Phases {
		info.Phases = append(info.Phases, aiperf.PhaseName{
			Name: p.Name, Warmup: p.Warmup, Start: p.Start, End: p.End, Cancelled: p.Stop == "interrupted" ||
				p.Stop == "failures", Branches: p.Branches, Scale: p.Scale,
		})
		if p.Branches != nil && !p.Warmup {
			if info.Branches == nil {
				info.Branches = &record.Branches{}
			}
			info.Branches.Add(p.Branches)
		}
	}
	return info
}

// aiperfVersion is the version of AIPerf whose file shapes are written; its
// readers look at it.
const aiperfVersion = "0.13.0"

// shownPath is a path as files name it.
func shownPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// sweepID is a UUID that all runs of one plan share.
func (r *runner) sweepID() string {
	h := fmt.Sprintf("%016x%016x", seed.Of(r.plan.BaseSeed, r.plan.Hash), seed.Of(r.plan.BaseSeed+1, r.plan.Hash))
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:]
}

// payloads are the bodies of every conversation, by the renderer that sends
// them.
func payloads(run *onerun.Opened, rd *render.Renderer, hide *secret.Masker) iter.Seq2[string, []json.RawMessage] {
	keys := render.NewKeys(run.Seed, run.Text, measuredPhase(run.Benchmark.Phases))
	return func(yield func(string, []json.RawMessage) bool) {
		i, size := int64(0), 0
		for c := range run.Set.Each() {
			var shown []json.RawMessage
			for _, b := range rd.Bodies(keys, c, i) {
				shown = append(shown, hide.JSON(b))
				size += len(b)
			}
			if i++; !yield(c.ID, shown) || i == maxInputs || !run.Set.Held() && size > maxMade {
				return
			}
		}
	}
}

// measuredPhase is the name of the first phase that is no warmup.
func measuredPhase(phases []schema.Phase) string {
	for i := range phases {
		if phases[i].Kind != "warmup" {
			return phases[i].Name
		}
	}
	return ""
}

// notable is the report of a run without the findings that found nothing, which the table
// checks has.
func notable(report []byte) ([]byte, error) {
	var rep RunReport
	if err := json.Unmarshal(report, &rep); err != nil {
		return nil, err
	}
	rep.Findings = slices.DeleteFunc(rep.Findings, verdict.Finding.Clean)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(&rep)
	return b.Bytes(), err
}

// tabledFindings are the findings of runs as the table has them, by run and in the order of
// the catalogue: of a clean one all there is to say.
func tabledFindings(dir string) (map[string][]verdict.Finding, error) {
	t, err := sinks.ReadTable(dir, "checks", nil)
	if err != nil {
		return nil, err
	}
	of := map[string][]verdict.Finding{}
	for i := range t.N {
		run := t.Texts["run_id"][i]
		f := verdict.Finding{
			Verdict: verdict.Valid, // those that say otherwise are in the report
			Check:   t.Texts["check"][i], Kind: verdict.Kind(t.Texts["kind"][i]), Value: t.Floats["value"][i],
			Unit: t.Texts["unit"][i], Detail: t.Texts["detail"][i],
		}
		if limit := t.Floats["limit"][i]; !math.IsNaN(limit) {
			f.Warn = &limit
		}
		of[run] = append(of[run], f)
	}
	return of, nil
}

// Reports are the run reports of a result directory, in the order in which the runs were begun.
func Reports(dir string) ([]*RunReport, error) {
	runs, err := resultdir.Begun(dir)
	if err != nil {
		return nil, err
	}
	var tabled map[string][]verdict.Finding
	if _, err := os.Lstat(filepath.Join(dir, resultdir.ReportsName)); err == nil {
		if tabled, err = tabledFindings(dir); err != nil {
			return nil, err
		}
	}
	var out []*RunReport
	reports := resultdir.ReportsOf(dir)
	for _, run := range runs {
		var rep RunReport
		if err := reports.Read(run.Run, run.Dir, &rep); err == nil {
			if all := tabled[run.Run]; all != nil {
				for _, f := range rep.Findings {
					if i := slices.IndexFunc(all, func(t verdict.Finding) bool { return t.Check == f.Check }); i >= 0 {
						all[i] = f
					}
				}
				rep.Findings = all
			}
			out = append(out, &rep)
		}
	}
	return out, nil
}

// PlanFindings are what a finished directory says about its plan as a whole.
func PlanFindings(dir string) (found []verdict.Finding) {
	m, err := resultdir.ReadManifest(dir)
	if err != nil {
		return nil // not finished: the plan has not been judged
	}
	_ = json.Unmarshal(m.Findings, &found) // a manifest without any says nothing
	return found
}
