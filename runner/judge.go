package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
)

// describe writes the report's first half: identity and what the engine said.
func (r *runner) describe(m *measurement, got *measured, attempt int) *RunReport {
	rep := &RunReport{
		Schema: "aiperf.run/1", Run: m.run.ID, Cell: m.run.Cell.ID, Label: m.run.Cell.Label, Trial: m.run.Trial, Attempt: attempt,
		Seed: m.run.Seed, Started: got.clock.Wall(0).UTC(), Ended: got.ended.UTC(), Benchmark: benchmarkID(m.run, attempt, len(r.plan.Runs) > 1),
		Host: reportHost(got.host), Dataset: m.set.Digest(), Tokenizer: m.tok.Name(), Stamps: got.transport.Stamps, Cancelled: got.result.Cancelled,
	}
	for _, p := range got.result.Phases {
		rep.Phases = append(rep.Phases, reportPhase(p))
		rep.Warnings = append(rep.Warnings, p.Notes...)
	}
	rep.Warnings = append(rep.Warnings, m.set.Warnings()...)
	if m.doubt != "" {
		rep.Warnings = append(rep.Warnings, m.doubt)
	}
	rep.Warnings = append(rep.Warnings, transportDoubts(&m.bench.Endpoint, got.transport.Stamps)...)
	return rep
}

// transportDoubts are what the way to the server takes away from the results.
func transportDoubts(e *schema.Endpoint, stamps string) (doubts []string) {
	if e.Insecure && slices.ContainsFunc(e.URLs, func(u string) bool { return strings.HasPrefix(u, "https:") }) {
		doubts = append(doubts, "insecure: the server's TLS certificate was not checked; anybody may have answered")
	}
	if stamps != "kernel" {
		doubts = append(doubts, "arrival stamps are this program's and not the kernel's: what it was late by is in the latencies")
	}
	return doubts
}

// collector is the metrics of one run, empty.
func collector(run sweep.Run, rep *RunReport) *metrics.Collector {
	b := run.Cell.Resolved.Benchmark
	opt := metrics.Options{Streaming: b.Endpoint.Streaming, Tokens: producesTokens(b.Endpoint.Type), ServerCount: b.Endpoint.UseServerTokenCount, SLOs: b.SLOs}
	if start, end, ok := rep.window(); ok {
		opt.Window = metrics.Window{Start: start, End: end}
	}
	if start, end, ok := rep.steady(); ok {
		opt.Steady = metrics.Window{Start: start, End: end}
	}
	return metrics.NewCollector(opt)
}

// read goes through the run's journal and gives its statistics and the evidence
// for the verdict. Metrics always come from the journal, so that a run that was
// measured by an earlier process counts exactly the same. It goes twice: each
// keeps samples of every request, and reading costs less than keeping both.
func (r *runner) read(m *measurement, rep *RunReport, got *measured) (*reading, error) {
	summaries, err := r.summarize(m.run, rep)
	if err != nil {
		return nil, err
	}
	e := newEvidence(got.result, got.host)
	e.Emitted, e.ServerTokens, e.TokenSource = got.emitted, m.bench.Endpoint.UseServerTokenCount, m.doubt
	e.Stamps, e.ClockJumps, e.ClockJump = got.transport.Stamps, got.transport.ClockJumps, float64(got.transport.ClockJump)/1e6
	e.Identity, e.BuiltIn = got.identity, slices.ContainsFunc(m.bench.Endpoint.URLs, IsMock)
	if ratio, ok := r.headroom[m.run.Cell.ID]; ok {
		e.Headroom = ratio
	}
	if got.sink != nil {
		e.SinkError = got.sink.Error()
	}
	if !m.spec.ProducesTokens {
		e.TokenSource = ""
	}
	_, err = sinks.ReadMeasured(r.journalPath(m.run), func(rec *record.Record) error {
		e.Add(rec)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &reading{summaries: summaries, evidence: e}, nil
}

// summarize is the statistics of the records of one run.
func (r *runner) summarize(run sweep.Run, rep *RunReport) ([]metrics.Summary, error) {
	c := collector(run, rep)
	_, err := sinks.ReadMeasured(r.journalPath(run), func(rec *record.Record) error {
		c.Add(rec)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c.Summaries(), nil
}

// reading is what the records of one run say.
type reading struct {
	summaries []metrics.Summary // full, then steady if there is one
	evidence  *Evidence
}

// judge completes the report with the verdict.
func (r *runner) judge(rep *RunReport, e *Evidence) {
	rep.Findings = Judge(e, r.plan.Experiment.Verdict)
	rep.Verdict = Worst(rep.Findings).String()
	_, ok, failed, _ := rep.totals()
	rep.Errors, rep.SLOMissed = e.Errors.frequent(10), e.Missed
	rep.Bounds, rep.Notices, rep.Identity = e.Bounds(), e.Notices(), e.Identity
	rep.AllFailed = ok == 0 && failed > 0
	for _, p := range e.Phases {
		if rep.FirstError == "" {
			rep.FirstError = p.FirstError
		}
	}
}

// outcome is the run as the aggregation sees it.
func outcome(run sweep.Run, rep *RunReport, summaries []metrics.Summary) sweep.Outcome {
	sent, ok, failed, cancelled := rep.totals()
	o := sweep.Outcome{Run: run, Summaries: summaries, Verdict: rep.Verdict, Sent: sent, OK: ok, Failed: failed, Cancelled: cancelled}
	switch {
	case rep.AllFailed:
		o.Err = fmt.Sprintf("every request failed, first: %s", rep.FirstError)
	case rep.gaveUp():
		o.Err = rep.Cancelled
	}
	return o
}

// recall brings back a run that an earlier process finished, after checking
// that its records are the ones that process wrote.
func (r *runner) recall(run sweep.Run, was event) (*RunReport, sweep.Outcome, error) {
	var rep RunReport
	if sum, err := r.seal(run); err != nil || sum != was.SHA256 {
		return nil, sweep.Outcome{}, errors.Join(err, errors.New("records differ from the journal"))
	}
	if err := readJSON(filepath.Join(r.dir.path, run.Dir, reportName), &rep); err != nil {
		return nil, sweep.Outcome{}, err
	}
	summaries, err := r.summarize(run, &rep)
	return &rep, outcome(run, &rep, summaries), err
}

// seal is the digest over a run's records and report.
func (r *runner) seal(run sweep.Run) (string, error) {
	records, _, err := digest(r.journalPath(run))
	if err != nil {
		return "", err
	}
	report, _, err := digest(filepath.Join(r.dir.path, run.Dir, reportName))
	return records + report, err
}

func (r *runner) journalPath(run sweep.Run) string {
	return filepath.Join(r.dir.path, run.Dir, streamName)
}

// runDir makes the directory of a run.
func (r *runner) runDir(run sweep.Run) (string, error) {
	dir := filepath.Join(r.dir.path, run.Dir)
	return dir, os.MkdirAll(dir, 0o755)
}

// journalMeta is what the stream says about its run.
func (r *runner) journalMeta(run sweep.Run, clock record.Clock) sinks.RunMeta {
	axes := map[string]any{}
	for _, v := range run.Cell.Point {
		axes[v.Axis] = v.Label
	}
	return sinks.RunMeta{
		Experiment: r.plan.Name, Plan: r.plan.Hash, Cell: run.Cell.ID, CellIndex: run.Cell.Index, Trial: run.Trial, RunID: run.ID,
		Seed: run.Seed, Axes: axes, T0: clock.Wall(0).UTC().Round(time.Nanosecond), Version: r.opt.Version,
	}
}

func producesTokens(endpointType string) bool {
	spec, ok := endpoint.Lookup(endpointType)
	return ok && spec.ProducesTokens
}
