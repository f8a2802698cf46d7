package aiperf

import (
	"math"
	"time"

	"aiperf.dev/aiperf/internal/telemetry"
)

// Files of what GPUs and servers said in one phase.
const (
	phaseGPUs  = "gpu_telemetry.json"
	phasePages = "server_metrics.json"
)

// writePhaseTelemetry writes what GPUs and servers said in phase p into dir, and returns the
// names of the files; nil where nothing was read.
func (w *Writer) writePhaseTelemetry(dir string, p *phaseResult) (gpus, pages any, err error) {
	rel := func(name string) any { return "phases/" + p.Name + "/" + name }
	if set := w.Info.gpus; set != nil && len(set.sources) > 0 {
		if err := w.putPhase(dir, phaseGPUs, p, set.within(p).json()); err != nil {
			return nil, nil, err
		}
		gpus = rel(phaseGPUs)
	}
	if w.pages != nil {
		if err := w.putPhase(dir, phasePages, p, w.pages.phase(p)); err != nil {
			return nil, nil, err
		}
		pages = rel(phasePages)
	}
	return gpus, pages, nil
}

// putPhase writes data about a phase with a head that says which phase it is.
func (w *Writer) putPhase(dir, name string, p *phaseResult, data object) error {
	t0 := w.Info.T0.UnixNano()
	head := object{}.with("end_ns", t0+p.End).with("phase_index", p.index).with("phase_kind", phaseKind(p.Warmup)).
		with("phase_name", p.Name).with("profiling_index", p.profilingIndex()).with("start_ns", t0+p.Start).
		with("was_cancelled", p.Cancelled)
	b, err := indented(object{}.with("data", data).with("phase", head).with("schema_version", 1).with("warnings", []string{}))
	if err != nil {
		return err
	}
	return w.put(dir, name, "telemetry", append(b, '\n'))
}

// looksOf are the moments between which a phase is seen, in ns since T0: from the last of looks
// by its beginning, which all collectors take as two phases meet, to the first from its end on.
func looksOf(looks []telemetry.Look, p *phaseResult) (start, end int64) {
	start, end = p.Start, p.End
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	for _, l := range looks {
		if l.At <= start {
			from = max(from, l.At)
		}
		if l.At >= end {
			to = min(to, l.At)
		}
	}
	if from > math.MinInt64 {
		start = from
	}
	if to < math.MaxInt64 {
		end = to
	}
	return start, end
}

// within is the same set with the statistics of a phase.
func (s *gpuSet) within(p *phaseResult) *gpuSet {
	info := *s.RunInfo
	info.Start, info.End = info.T0.Add(time.Duration(p.Start)), info.T0.Add(time.Duration(p.End))
	out := &gpuSet{GPUs: s.GPUs, RunInfo: &info, collectors: s.collectors}
	for _, source := range s.sources {
		own := gpuSource{url: source.url}
		for _, g := range source.gpus {
			looks := make([]telemetry.Look, len(g.at))
			for i, at := range g.at {
				looks[i].At = at
			}
			start, end := looksOf(looks, p)
			in := *g
			in.stats = make([]object, len(s.Fields))
			in.summarize(s.Fields, start, end)
			own.gpus = append(own.gpus, &in)
		}
		out.sources = append(out.sources, own)
	}
	return out
}

// phase is what servers said in a phase, by page.
func (p *pageSet) phase(of *phaseResult) object {
	t0 := p.T0.UnixNano()
	summaries := object{}
	for _, source := range p.sources {
		looks := p.histories[source].Looks
		start, end := looksOf(looks, of)
		var within []telemetry.Look
		for _, l := range looks {
			if l.At >= start && l.At <= end {
				within = append(within, l)
			}
		}
		if len(within) == 0 {
			continue
		}
		one := *p
		one.sources = []string{source}
		summaries = summaries.with(shownEndpoint(source), object{}.with("endpoint_url", source).
			with("info", endpointInfo(within, t0)).with("metrics", one.metrics(start, end)))
	}
	kind := phaseKind(of.Warmup)
	o := object{}.with("benchmark_id", p.BenchmarkID).with("phase", kind).with("phase_index", of.index)
	if of.profiling >= 0 {
		o = o.with("profiling_index", of.profiling)
	}
	return o.with("phase_name", of.Name).with("phase_kind", kind).with("endpoint_summaries", summaries).
		with("start_ns", t0+of.Start).with("end_ns", t0+of.End).with("endpoints_configured", p.sources).
		with("endpoints_successful", p.sources).with("error_summary", []string{}).with("phase_results", []string{})
}
