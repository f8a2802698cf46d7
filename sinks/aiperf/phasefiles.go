package aiperf

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

// phaseResult is one phase of a run that has several.
type phaseResult struct {
	PhaseName
	index, profiling int                // profiling is -1 for a warmup
	collector        *metrics.Collector // nil for the only profiling phase, whose summary is the run's
	errors           errorSummary
	ok, failed       int64
	summary          metrics.Summary
}

// newPhases prepares for the phases of a run, none when it is a single one.
func newPhases(p *Profile) []*phaseResult {
	if len(p.Info.Phases) < 2 && (len(p.Info.Phases) == 0 || !p.Info.Phases[0].Warmup) {
		return nil
	}
	var out []*phaseResult
	profiling, measured := 0, 0
	for _, name := range p.Info.Phases {
		if !name.Warmup {
			measured++
		}
	}
	single := measured == 1
	for i, name := range p.Info.Phases {
		r := &phaseResult{PhaseName: name, index: i, profiling: -1}
		if !name.Warmup {
			r.profiling = profiling
			profiling++
		}
		if !name.Warmup && single {
			out = append(out, r)
			continue
		}
		opt := p.Options
		opt.Window, opt.Steady = metrics.Window{Start: name.Start, End: name.End}, metrics.Window{}
		r.collector = metrics.NewCollector(opt)
		out = append(out, r)
	}
	return out
}

// add counts a record by itself, as if its phase alone were the run.
func (p *phaseResult) add(r *record.Record) {
	if !r.Warmup && !r.InWindow {
		return
	}
	if p.collector != nil {
		own := *r
		own.Warmup, own.InWindow = false, true
		p.collector.Add(&own)
	}
	if !r.Succeeded() {
		p.failed++
		p.errors.add(errorDetails(r))
		return
	}
	p.ok++
}

// warmupOf is the summary of the first warmup phase with a success.
func warmupOf(phases []*phaseResult) *metrics.Summary {
	for _, p := range phases {
		if p.Warmup && p.ok > 0 {
			return p.sum(nil)
		}
	}
	return nil
}

func (p *phaseResult) sum(run *metrics.Summary) *metrics.Summary {
	if p.collector == nil {
		return run
	}
	if p.summary.Stats == nil {
		p.summary = p.collector.Summaries()[0]
	}
	return &p.summary
}

// writePhases writes phases/NAME/ and phase_manifest.json.
func (w *Writer) writePhases() error {
	if w.phases == nil {
		return nil
	}
	var rows []object
	t0 := w.Info.T0.UnixNano()
	for _, p := range w.phases {
		rel, dir := "phases/"+p.Name, filepath.Join(w.Dir, "phases", p.Name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		row := object{}.with("end_ns", t0+p.End).with("error_request_count", p.failed).with("error_summary",
			p.errors.list())
		var csv, json any
		if p.ok > 0 {
			csv = rel + "/" + w.names.CSV
			if w.JSON {
				json = rel + "/" + w.names.JSON
			}
			if err := w.writePhase(dir, p); err != nil {
				return err
			}
		}
		gpus, pages, err := w.writePhaseTelemetry(dir, p)
		if err != nil {
			return err
		}
		if gpus != nil {
			row = row.with("gpu_telemetry_json", gpus)
		}
		rows = append(rows, row.with("metrics_csv", csv).with("metrics_json", json).with("phase_index", p.index).
			with("phase_kind", phaseKind(p.Warmup)).with("phase_name", p.Name).with("profiling_index", p.profilingIndex()).
			with("server_metrics_json", pages).with("start_ns", t0+p.Start).with("successful_request_count", p.ok).
			with("total_request_count", p.ok+p.failed).with("was_cancelled", p.Cancelled))
	}
	b, err := indented(object{}.with("phases", rows).with("schema_version", 1))
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(w.Dir, w.names.Phases), err)
	}
	return w.put(w.Dir, w.names.Phases, "phases", append(b, '\n'))
}

// profilingIndex counts profiling phases alone; nil for a warmup.
func (p *phaseResult) profilingIndex() any {
	if p.profiling < 0 {
		return nil
	}
	return p.profiling
}

func (w *Writer) writePhase(dir string, p *phaseResult) error {
	info := *w.Info
	info.Warmup, info.GPUs, info.gpus, info.Branches = nil, false, nil, p.Branches
	info.WasCancelled = p.Cancelled
	info.Start, info.End = info.T0.Add(time.Duration(p.Start)), info.T0.Add(time.Duration(p.End))
	return w.writeSummary(dir, &info, p.sum(w.summary), p.errors.list())
}

func phaseKind(warmup bool) string {
	if warmup {
		return "warmup"
	}
	return "profiling"
}
