package runner

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/loadgen/dataset/exam"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/render"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// placeholderNames are what headers may hold in braces.
func placeholderNames() string {
	var names []string
	for _, p := range render.Placeholders() {
		names = append(names, "{"+p.Name+"}")
	}
	return strings.Join(names, ", ")
}

// describe writes the report's first half: identity and what the engine said.
func (r *runner) describe(m *measured, attempt int) *RunReport {
	rep := &RunReport{
		Schema: "aiperf.run/1", Run: m.run.ID, Cell: m.run.Cell.ID, Label: m.run.Cell.Label, Short: m.run.Cell.Short(),
		Trial: m.run.Trial, Attempt: attempt,
		Seed: m.run.Seed, Started: m.T0.UTC(), Ended: m.Ended.UTC(),
		Benchmark: benchmarkID(m.run, attempt, r.plan.Several()),
		Host:      reportHost(m.Host), Workers: m.Senders,
		Dataset: m.Set.Digest(), DataNotes: m.Set.Notes(), Tokenizer: m.Tokenizer.Name(),
		Stamps: m.Transport.Stamps, Cancelled: m.Cancelled,
	}
	r.describeData(m, rep)
	rep.talks = m.Set.Trees() || m.Set.Turns() > m.Set.Len()
	if slices.ContainsFunc(m.Benchmark.Datasets, func(d schema.Dataset) bool {
		return d.SystemPrompt != "" ||
			d.SystemFile != ""
	}) {
		rep.system = int64(m.Tokenizer.Count(m.Set.First().System))
	}
	if m.Unreachable {
		rep.Aborted = m.Cancelled
	}
	for _, p := range m.Phases {
		rep.Phases = append(rep.Phases, reportPhase(p))
		rep.Warnings = append(rep.Warnings, p.Notes...)
	}
	rep.Warnings = append(rep.Warnings, m.run.Cell.Resolved.Idle()...)
	rep.Warnings = append(rep.Warnings, m.Set.Warnings()...)
	if a := m.Benchmark.Accuracy; a != nil && a.Shots != nil && !exam.TakesShots(a.Benchmark) {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("accuracy.n_shots has no effect: %s has no examples", a.Benchmark))
	}
	if line := answersVary(&m.Benchmark); line != "" {
		rep.Warnings = append(rep.Warnings, line)
	}
	if words := render.Literal(&m.Benchmark.Endpoint); len(words) > 0 {
		rep.Warnings = append(rep.Warnings, "headers: "+strings.Join(words, ", ")+
			" is sent unchanged, because it is not one of the placeholders "+placeholderNames())
	}
	if m.Chat != nil && m.Set.Media() {
		rep.Warnings = append(rep.Warnings,
			"input tokens do not include those of images, sounds and videos; --use-server-token-count uses the server's count")
	}
	rep.Warnings = append(rep.Warnings, m.Notes...)
	rep.Pages = r.news(m.Sources)
	for _, line := range m.Log {
		if !slices.Contains(r.told, line) {
			r.told = append(r.told, line)
			r.log.say("INFO", "%s", line)
		}
	}
	rep.Warnings = append(rep.Warnings, transportDoubts(&m.Benchmark.Endpoint, m.Transport.Stamps)...)
	return rep
}

// describeData fills in what a receipt tells of the data. Runs mostly share one set.
func (r *runner) describeData(m *measured, rep *RunReport) {
	if r.hits == nil {
		r.hits = map[string]float64{}
	}
	hit, known := r.hits[rep.Dataset]
	if !known {
		hit = m.Set.PrefixHit()
		r.hits[rep.Dataset] = hit
	}
	rep.PrefixHit = metrics.OrNil(hit)
	if m.Tokenizer.Name() != tokenizer.Server { // that would be asked over the network
		rep.Fingerprint = tokenizer.Fingerprint(m.Tokenizer)
	}
}

// answersVary says that a benchmark's answers are drawn anew in each run, "" where they are
// asked to be the most likely ones. A body of the user's own may say so itself.
func answersVary(b *schema.Benchmark) string {
	if !b.Accuracy.Alone() || b.Endpoint.Template != nil || b.Endpoint.Plugin != "" {
		return ""
	}
	said := b.Endpoint.Extra.Get("temperature")
	t, err := strconv.ParseFloat(fmt.Sprint(said), 64)
	switch {
	case said == nil:
		return "accuracy: no temperature is sent, so the server's own holds and answers may differ from run to run: --extra-inputs temperature:0"
	case err == nil && t == 0:
		return ""
	}
	return "accuracy: temperature is not 0, so answers differ from run to run: --extra-inputs temperature:0"
}

// transportDoubts are what the way to the server takes away from the results.
func transportDoubts(e *schema.Endpoint, stamps string) (doubts []string) {
	if e.Insecure && slices.ContainsFunc(e.URLs, func(u string) bool { return strings.HasPrefix(u, "https:") }) {
		doubts = append(doubts, "insecure: the server's TLS certificate was not checked, so another server may have answered")
	}
	if stamps != "kernel" {
		doubts = append(doubts, "arrival stamps are this program's and not the kernel's, so latencies include its own delays")
	}
	return doubts
}

// metricOptions say what the metrics of one run can be computed from.
func metricOptions(run sweep.Run, rep *RunReport) metrics.Options {
	b := run.Cell.Resolved.Benchmark
	opt := metrics.Options{
		Streaming: b.Endpoint.Streaming, Tokens: producesTokens(b.Endpoint.Type),
		ServerCount: b.Endpoint.UseServerTokenCount, SLOs: b.SLOs, Answers: b.Accuracy != nil,
	}
	if start, end, ok := rep.window(); ok {
		opt.Window = metrics.Window{Start: start, End: end}
	}
	if start, end, ok := rep.steady(); ok {
		opt.Steady = metrics.Window{Start: start, End: end}
	}
	return opt
}

// read goes through the run's journal and gives its statistics and the evidence
// for the verdict, and AIPerf's files, if they are wanted, their lines. Metrics always come from the
// journal, so that a run that was measured by an earlier process counts exactly
// the same.
func (r *runner) read(m *measured, rep *RunReport) (*reading, error) {
	e := verdict.NewEvidence(m.Result.Result, m.Host)
	e.Emitted, e.ServerTokens, e.TokenSource = m.Emitted, m.Benchmark.Endpoint.UseServerTokenCount, m.Doubt
	e.Stamps, e.ClockJumps, e.ClockJump = m.Transport.Stamps, m.Transport.ClockJumps, float64(m.Transport.ClockJump)/1e6
	e.StampError = stampError(m.Transport.StampError)
	e.Identity, e.BuiltIn = m.Identity, slices.ContainsFunc(m.Benchmark.Endpoint.URLs, mockserver.Named)
	if ratio, ok := r.headroom[m.run.Cell.ID]; ok {
		e.Headroom = ratio
	}
	for _, s := range m.Senders {
		e.Apart = max(e.Apart, s.ClockWithin+s.BeganLate)
		if s.Lost != nil {
			e.Lost = append(e.Lost, verdict.LostWorker{
				Worker: s.Worker, Of: len(m.Senders), After: s.Lost.After, Why: s.Lost.Why,
			})
		}
	}
	e.SinkError = m.Lost
	e.Streaming = m.Benchmark.Endpoint.Streaming && m.API.CanStream
	e.IgnoresEnd = m.Benchmark.Endpoint.Extra.Get("ignore_eos") != nil ||
		m.Benchmark.Endpoint.Extra.Get("min_tokens") != nil
	e.Shared = slices.ContainsFunc(m.Benchmark.Datasets, func(d schema.Dataset) bool { return d.Prefix != nil })
	e.Reuse = reuseOf(m.Benchmark.Datasets)
	e.Talks, e.System = rep.talks, rep.system
	if !m.API.ProducesTokens {
		e.TokenSource = ""
	}
	files, err := r.theirs(m, rep)
	if err != nil {
		return nil, err
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	var digestErr, recordsErr error
	beside.Go(func() { rep.records, _, digestErr = resultdir.Digest(r.journalPath(m.run)) })
	c, parts := metrics.NewCollector(metricOptions(m.run, rep)), partsOf(m.run, rep)
	s, missed := r.sample(m.run, rep), metrics.CountMisses(m.Benchmark.SLOs)
	ours := func(rec *record.Record) error {
		c.Add(rec)
		parts.Add(rec)
		e.Add(rec)
		s.add(rec)
		missed.Add(rec)
		return nil
	}
	if files == nil {
		_, err = sinks.ReadMeasured(r.journalPath(m.run), ours)
	} else {
		_, err = sinks.ReadJournal(r.journalPath(m.run), files.Add, ours)
	}
	if err != nil {
		files.Abort()
		return nil, err
	}
	beside.Go(func() { recordsErr = files.EndRecords() })
	if m.Fidelity != nil {
		rep.Fidelity = reportFidelity(*m.Fidelity)
		rep.DataNotes = append([]string{rep.Fidelity.line()}, rep.DataNotes...)
	}
	rep.Swaps = m.Swaps
	rep.FailedEffect, rep.GoodEffect = s.failed.effect(), s.good.effect()
	rep.SLOMissed, rep.SLOSeveral = missed.Of, missed.Several
	rep.Censored = censored(c.Censoring())
	rep.Warnings = append(rep.Warnings, parts.Notes()...)
	if err := r.readServers(m.run, rep); err != nil {
		files.Abort()
		return nil, err
	}
	out := &reading{
		summaries: c.Summaries(), parts: parts.Parts(), sample: s.sorted(),
		tiers: s.shares(), answers: s.answers, evidence: e, files: files,
	}
	beside.Wait()
	if err := errors.Join(digestErr, recordsErr); err != nil {
		files.Abort()
		return nil, err
	}
	return out, nil
}

// theirs begins AIPerf's files of a run; nil where they are not wanted.
func (r *runner) theirs(m *measured, rep *RunReport) (*aiperf.Writer, error) {
	if !r.opt.AIPerf {
		return nil, nil //nolint:nilnil // none is wanted
	}
	a := &m.Benchmark.Artifacts
	sayOfSlices(a, rep)
	p := r.profile(m.run, rep)
	p.Span = m.Span
	if a.Trace && p.Records && r.opt.network() { // in virtual time nothing is sent over HTTP
		p.Trace = filepath.Join(p.Dir, aiperf.TraceName)
	}
	return aiperf.NewWriter(p)
}

// partsOf splits the requests of a run that has several targets or models, or questions
// among other requests.
func partsOf(run sweep.Run, rep *RunReport) *metrics.Parts {
	b := run.Cell.Resolved.Benchmark
	return metrics.NewParts(metricOptions(run, rep), len(b.Endpoint.URLs) > 1, len(b.Models.Items) > 1,
		b.Accuracy.Mixed())
}

// censored leaves out what is endless: absent means that nothing bounds it.
func censored(bounds []metrics.Bounds) (out []CensoredBound) {
	for _, b := range bounds {
		out = append(out, CensoredBound{
			Metric: b.Tag, Stat: b.Stat, Plain: b.Plain, Low: b.Low,
			High: metrics.OrNil(b.High),
		})
	}
	return out
}

// stampError is what the transport measured, in the verdict's unit.
func stampError(s transport.StampError) verdict.StampError {
	return verdict.StampError{N: s.N, Mean: s.Mean / 1e3, P50: s.P50 / 1e3, P90: s.P90 / 1e3, P99: s.P99 / 1e3}
}

// summarize is the statistics of the records of one run, with the sample that
// the plan asks for.
func (r *runner) summarize(run sweep.Run, rep *RunReport) (*reading, error) {
	c, parts := metrics.NewCollector(metricOptions(run, rep)), partsOf(run, rep)
	s := r.sample(run, rep)
	_, err := sinks.ReadMeasured(r.journalPath(run), func(rec *record.Record) error {
		c.Add(rec)
		parts.Add(rec)
		s.add(rec)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := r.readServers(run, rep); err != nil {
		return nil, err
	}
	return &reading{
		summaries: c.Summaries(), parts: parts.Parts(), sample: s.sorted(), tiers: s.shares(),
		answers: s.answers,
	}, nil
}

// reading is what the records of one run say.
type reading struct {
	summaries []metrics.Summary // full, then steady if there is one
	parts     []metrics.Part    // of each target and of each model, where there are several
	sample    []float64         // of the metric that decides when trials are enough
	tiers     []decide.TierGood // the same of several limits
	answers   decide.Scores     // to questions with known answers
	evidence  *verdict.Evidence
	files     *aiperf.Writer // nil: AIPerf's are not wanted
}

// shown is a metric as tables show it: over the steady window where there is one.
func (r *reading) shown(tag string) (metrics.Stat, bool) {
	for _, s := range slices.Backward(r.summaries) {
		if stat, ok := s.Get(tag); ok {
			return stat, true
		}
	}
	return metrics.Stat{}, false
}

// figures are those that are known, of the span that the result shows: the live view says no other number of a run
// than the result does.
func (r *reading) figures() map[string]float64 {
	out := map[string]float64{}
	for _, f := range sinks.CellFigures() {
		if stat, ok := r.shown(f.Tag); ok {
			if v := stat.Value(f.Stat); !math.IsNaN(v) && !math.IsInf(v, 0) {
				out[f.Name] = v
			}
		}
	}
	return out
}

// withoutIntervals takes away those within the run, of the whole of it and of its
// parts.
func (r *reading) withoutIntervals() {
	without := func(summaries []metrics.Summary) {
		for i := range summaries {
			for k := range summaries[i].Stats {
				summaries[i].Stats[k].Intervals = nil
			}
		}
	}
	without(r.summaries)
	for _, p := range r.parts {
		without(p.Summaries)
	}
}

// judge completes the report with the verdict.
func (r *runner) judge(rep *RunReport, read *reading) {
	e := read.evidence
	rep.Findings = verdict.Judge(e, r.plan.Experiment.Verdict)
	rep.HalfShift, rep.Lateness = metrics.OrNil(e.HalfShift()), metrics.OrNil(e.LatenessP99())
	share, limit := e.Backlog()
	rep.Queued = e.Queued()
	rep.Backlog, rep.BacklogMax = metrics.OrNil(share), metrics.OrNil(limit)
	if e.TokenSource != "" && !e.ServerTokens { // else nothing is counted by us
		rep.Warnings = append(rep.Warnings, e.TokenSource)
	}
	rep.Verdict = verdict.Word(rep.Findings, r.asked())
	rep.Figures, rep.Ranges = read.figures(), rep.ranges()
	n := rep.Counts()
	rep.Errors = e.Errors().Frequent(10)
	rep.Bounds, rep.Notices, rep.Identity = e.Bounds(), e.Notices(read.shown), e.Identity
	rep.AllFailed = n.OK == 0 && n.Failed > 0
	rep.Aborted, rep.Lost = cmp.Or(rep.Aborted, e.ServerDied()), e.RecordsLost()
}

// asked are the numbers that the experiment names, as Taints does.
func (r *runner) asked() (names []string) {
	for _, k := range decide.Asked(r.plan) {
		names = append(names, k.Spoken())
	}
	return names
}

func (r *runner) journalPath(run sweep.Run) string {
	return filepath.Join(r.dir.Path, run.Dir, resultdir.StreamName)
}

// runDir makes the directory of a run.
func (r *runner) runDir(run sweep.Run) (string, error) {
	dir := filepath.Join(r.dir.Path, run.Dir)
	return dir, os.MkdirAll(dir, 0o755)
}

func producesTokens(endpointType string) bool {
	spec, ok := endpoint.Lookup(endpointType)
	return ok && spec.ProducesTokens
}

// reuseOf is what a data set declares of prefixes that a server knows already. How often
// each of several sets is played is not declared.
func reuseOf(sets []schema.Dataset) verdict.Reuse {
	if len(sets) != 1 || sets[0].Prefix == nil {
		return verdict.Reuse{}
	}
	p := sets[0].Prefix
	return verdict.Reuse{
		Rate: p.HitRate, Entries: int64(sets[0].Entries),
		Pool: int64(p.PoolSize), Length: int64(p.Length),
	}
}
