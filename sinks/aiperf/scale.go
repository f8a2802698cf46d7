package aiperf

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/loadgen/scale"
)

// The files of a phase that raises its own load, in its folder below phases.
const (
	scaleEvents  = "adaptive_scale_events.jsonl"
	scaleSummary = "adaptive_scale_summary.json"
	scaleVersion = 2
)

// scaled is one phase that raises its own load, with its place among the phases.
type scaled struct {
	*scale.Report
	name, kind       string
	index, profiling int
	t0               time.Time
}

// writeScales writes the files of phases that raise their own load, and the manifest that
// names them.
func (w *Writer) writeScales() error {
	var rows []object
	profiling := 0
	for i, p := range w.Info.Phases {
		if p.Warmup {
			continue
		}
		s := scaled{p.Scale, p.Name, phaseKind(p.Warmup), i, profiling, w.Info.T0}
		profiling++
		if p.Scale == nil {
			continue
		}
		dir, rel := filepath.Join(w.Dir, "phases", p.Name), "phases/"+p.Name+"/"
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		var lines []byte
		for i := range s.Events {
			b, err := s.event(&s.Events[i]).MarshalJSON()
			if err != nil {
				return fmt.Errorf("write %s: %w", filepath.Join(dir, scaleEvents), err)
			}
			lines = append(append(lines, b...), '\n')
		}
		if err := w.put(dir, scaleEvents, "phases", lines); err != nil {
			return err
		}
		if err := w.putIndented(dir, scaleSummary, s.summary()); err != nil {
			return err
		}
		rows = append(rows, object{}.with("events_path", rel+scaleEvents).with("phase_index", s.index).
			with("phase_kind", s.kind).with("phase_name", s.name).with("profiling_index", s.profiling).
			with("summary_path", rel+scaleSummary))
	}
	if rows == nil {
		return nil
	}
	return w.putIndented(w.Dir, w.names.Scales,
		object{}.with("adaptive_phases", rows).with("schema_version", scaleVersion))
}

func (w *Writer) putIndented(dir, name string, o object) error {
	b, err := indented(o)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
	}
	return w.put(dir, name, "phases", append(b, '\n'))
}

// value is one of the setting that is raised: whole where it is a count.
func (s *scaled) value(v float64) any {
	if s.Config.Whole() {
		return int64(v)
	}
	return number(v)
}

// some is such a value that may be absent.
func (s *scaled) some(v *float64) any {
	if v == nil {
		return nil
	}
	return s.value(*v)
}

// event is one line of the events.
func (s *scaled) event(e *scale.Event) object {
	limit := s.Config.SLA[max(0, e.Binding)]
	var binding, value, passed any
	if e.Binding >= 0 {
		binding = scale.Key(limit)
	}
	if e.Value != nil {
		value = number(*e.Value)
	}
	if e.Passed != nil {
		passed = *e.Passed
	}
	values := object{}
	for _, f := range s.Config.SLA {
		if x, ok := e.Values[scale.Key(f)]; ok {
			values = values.with(scale.Key(f), number(x))
		}
	}
	at := s.t0.Add(time.Duration(e.At))
	w, after := &e.Window, s.value(e.After)
	throughput := 0.0
	if w.To > w.From {
		throughput = w.Throughput()
	}
	return object{}.with("accepted_value", after).with("adaptive_iteration", e.Iteration).with("binding_sla", binding).
		with("boundary_value", s.some(e.Boundary)).with("cancelled", w.Cancelled).
		with("candidate_value", s.value(e.Candidate)).with("completed", w.Completed).
		with("control", object{}.with("actual_value", after).with("target_value", after)).
		with("control_value", after).with("control_value_after", after).
		with("control_value_before", s.value(e.Before)).with("control_variable", s.Config.Control.Variable).
		with("error_count", w.Errors).with("errored", w.Errors).with("event", e.Kind).with("fault_window_id", nil).
		with("first_failing_value", s.some(e.FirstFailing)).with("in_flight", nil).
		with("last_passing_value", s.some(e.LastPassing)).with("phase", e.Stage).with("phase_end_ts", nil).
		with("phase_id", s.name).with("phase_index", s.index).with("phase_kind", s.kind).with("phase_name", s.name).
		with("phase_start_ts", nil).with("profiling_index", s.profiling).with("reason", e.Reason).with("run_id", nil).
		with("sample_count", w.OK()).with("schema_version", scaleVersion).with("sent", w.Sent).
		with("sla_bound", number(limit.Threshold)).with("sla_metric", limit.MetricTag).with("sla_op", limit.Op).
		with("sla_passed", passed).with("sla_stat", limit.Stat).with("sla_value", value).with("sla_values", values).
		with("step_policy", s.Config.Strategy.StepPolicy).with("step_size", s.some(e.Step)).
		with("strategy_type", s.Config.Strategy.Type).with("throughput", number(throughput)).
		with("timestamp", at.UnixNano()).with("timestamp_ns", at.UnixNano()).with("timestamp_utc", micro(at))
}

// micro is a moment as AIPerf writes it in these files.
func micro(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// summary is what became of the phase.
func (s *scaled) summary() object {
	c, limit := s.Config, s.Config.SLA[0]
	last := &scale.Window{}
	var candidates []object
	for i := range s.Candidates {
		last = &s.Candidates[i].Window
		candidates = append(candidates, s.candidate(&s.Candidates[i]))
	}
	var since any
	if s.SustainedFrom != nil {
		since = s.t0.Add(time.Duration(*s.SustainedFrom)).UnixNano()
	}
	throughput := 0.0
	if last.To > last.From {
		throughput = last.Throughput()
	}
	value := s.value(s.Value)
	return object{}.with("base_step", c.Strategy.BaseStep).with("boundary_value", s.some(s.Boundary)).
		with("candidates", candidates).with("completed_reason", s.Reason).
		with("control", object{}.with("actual_value", value).with("target_value", value)).
		with("control_value", value).with("control_variable", c.Control.Variable).
		with("first_failing_value", s.some(s.FirstFailing)).with("last_passing_value", s.some(s.LastPassing)).
		with("max_step_multiplier", c.Strategy.MaxStepMultiplier).with("phase_index", s.index).
		with("phase_kind", s.kind).with("phase_name", s.name).with("profiling_index", s.profiling).
		with("result", object{}.with("boundary_value", s.some(s.Boundary)).
			with("first_failing_value", s.some(s.FirstFailing)).with("last_passing_value", s.some(s.LastPassing))).
		with("schema_version", scaleVersion).
		with("sla", object{}.with("bound", number(limit.Threshold)).with("metric", limit.MetricTag).with("op", limit.Op).
			with("stat", limit.Stat)).
		with("sla_bound", number(limit.Threshold)).with("sla_metric", limit.MetricTag).with("sla_op", limit.Op).
		with("sla_passed_during_sustain", s.SustainWindows > 0 && s.SustainPassed == s.SustainWindows).
		with("sla_stat", limit.Stat).with("status", s.Status).with("step_percent", number(c.Strategy.StepPercent)).
		with("step_policy", c.Strategy.StepPolicy).with("strategy_type", c.Strategy.Type).
		with("sustain_duration_seconds", number(c.SustainDuration)).with("sustain_passed_windows", s.SustainPassed).
		with("sustain_started_at", since).with("sustain_windows", s.SustainWindows).with("throughput", number(throughput)).
		with("totals", object{}.with("cancelled", last.Cancelled).with("completed", last.Completed).
			with("errored", last.Errors).with("sent", last.Sent))
}

// candidate is one window of the summary.
func (s *scaled) candidate(c *scale.Candidate) object {
	w := &c.Window
	figure := func(metric, stat string) any {
		if x, ok := c.Figures[metric][stat]; ok {
			return number(x)
		}
		return nil
	}
	var why any
	if !c.Accepted {
		why = "sla_miss"
	}
	const itl, latency, ttft = metrics.InterTokenLatency, metrics.RequestLatency, metrics.TimeToFirstToken
	return object{}.with("accepted", c.Accepted).with("adaptive_iteration", c.Iteration).with("cancelled", w.Cancelled).
		with("candidate_value", s.value(c.Value)).with("control_value", s.value(c.Value)).
		with("duration_s", number(float64(w.To-w.From)/1e9)).with("end_ts", micro(s.t0.Add(time.Duration(w.To)))).
		with("error_count", w.Errors).
		with("itl_p50_ms", figure(itl, "p50")).with("itl_p95_ms", figure(itl, "p95")).
		with("itl_p99_ms", figure(itl, "p99")).with("latency_avg_ms", figure(latency, "avg")).
		with("latency_p50_ms", figure(latency, "p50")).with("latency_p95_ms", figure(latency, "p95")).
		with("latency_p99_ms", figure(latency, "p99")).with("rejection_reason", why).
		with("request_count", w.Completed).with("start_ts", micro(s.t0.Add(time.Duration(w.From)))).
		with("success_count", w.OK()).with("success_rate", number(float64(w.OK())/max(1, float64(w.Completed)))).
		with("throughput_rps", number(w.Throughput())).with("ttft_p50_ms", figure(ttft, "p50")).
		with("ttft_p95_ms", figure(ttft, "p95")).with("ttft_p99_ms", figure(ttft, "p99"))
}
