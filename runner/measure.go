package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/fidelity"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/render"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/tokenizer/chat"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
)

// measurement is one run in the making: everything it needs, open.
type measurement struct {
	run     sweep.Run
	bench   schema.Benchmark
	spec    *endpoint.Spec
	tok     tokenizer.Tokenizer
	doubt   string         // about the tokenizer
	chat    *chat.Template // prompts are counted inside it; nil: as they are
	set     *dataset.Set
	warmup  *dataset.Set
	replay  *fidelity.Replay // nil where nothing recorded is played
	targets []string         // base URLs with the built-in server resolved
	judge   func(*record.Record) (clock, sent string)
}

// prepare opens what the run needs. Nothing is sent but one connection to each
// target, so that a wrong address is said in one line. Since nothing is measured
// yet, it ends with issue; with hard it does not even wait for the piece of work
// under way.
func (r *runner) prepare(issue, hard context.Context, run sweep.Run) (*measurement, error) {
	if asksServer(run) && r.opt.Simulate == nil {
		return r.prepareByServer(issue, hard, run)
	}
	m, err := r.load(issue, hard, run)
	if err != nil || r.opt.Simulate != nil {
		return m, err
	}
	m.targets, err = r.resolve(issue, run)
	return m, err
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

// asksServer tells whether the server is the tokenizer.
func asksServer(run sweep.Run) bool {
	return run.Cell.Resolved.Benchmark.Tokenizer.Name == tokenizer.Server
}

// prepareByServer is prepare where the server counts: it has to be there first,
// and its usage says what the requests and answers had.
func (r *runner) prepareByServer(issue, hard context.Context, run sweep.Run) (*measurement, error) {
	targets, err := r.resolve(issue, run)
	if err != nil {
		return nil, err
	}
	bench := &run.Cell.Resolved.Benchmark
	who := newInquirer(&bench.Endpoint, transportConfig(&measurement{bench: *bench, targets: targets}, record.NewClock()))
	model := bench.Models.Items[0].Name
	tok, err := who.tokenizer(issue, targets[0], model)
	if err != nil {
		return nil, diag.Errorf("tokenizer server: %s: %w", bench.Endpoint.URLs[0], err).Try("name the model's own tokenizer (--tokenizer)")
	}
	r.tokenizers[keyOf(tokenizerOf(bench), model)] = opened{tok: tok}
	m, err := r.load(issue, hard, run)
	if bad := tok.Err(); bad != nil {
		err = fmt.Errorf("tokenizer server: %w", bad)
	}
	if err != nil {
		return nil, err
	}
	m.targets, m.bench.Endpoint.UseServerTokenCount = targets, true
	return m, nil
}

// inputError says that a file of the experiment is wrong, which showed only when all of it was
// read. Nothing was sent then.
type inputError struct{ error }

func (e *inputError) Unwrap() error { return e.error }

// load is the part of prepare that touches nothing but files.
func (r *runner) load(issue, hard context.Context, run sweep.Run) (*measurement, error) {
	m, err := r.readInputs(issue, hard, run)
	if err != nil {
		return nil, &inputError{err}
	}
	return m, nil
}

// readInputs reads the tokenizer and the data of a run.
func (r *runner) readInputs(issue, hard context.Context, run sweep.Run) (*measurement, error) {
	defer LimitGC()() // a large trace leaves as much garbage as it is itself
	m := &measurement{run: run, bench: run.Cell.Resolved.Benchmark}
	m.bench.Phases = phasesOf(run)
	var err error
	if m.spec, err = endpoint.Open(&m.bench.Endpoint); err != nil {
		return nil, err
	}
	if len(m.bench.SLOs) > 0 {
		if m.judge, err = metrics.Judge(m.bench.SLOs); err != nil {
			return nil, err
		}
	}
	if m.tok, m.doubt, err = r.tokenizers.open(tokenizerOf(&m.bench), m.bench.Models.Items[0].Name); err != nil {
		return nil, err
	}
	data := m.bench.Datasets[0]
	if m.spec.Ranks && data.Made() && data.Rankings == nil {
		data.Rankings = &schema.Rankings{} // a query and passages of the usual lengths
	}
	for _, path := range []*string{&data.Path, &data.Folder, &data.SystemFile} {
		*path = r.moved.now(Beside(r.opt.SourceName, *path))
	}
	templated, wrap, err := m.template(&data)
	if err != nil {
		return nil, err
	}
	if m.set, err = r.datasets.open(issue, hard, data, m.tok, dataset.Seeds{Shape: run.Seed, Text: run.Text}, wrap, "profiling"); err != nil {
		return nil, err
	}
	for _, line := range m.set.Doubts() {
		if !slices.Contains(r.told, line) { // runs mostly share one set
			r.told = append(r.told, line)
			r.opt.say(line)
		}
	}
	if templated != nil && m.set.Len() > 0 {
		if err := templated.CheckChat(m.set.First()); err != nil {
			return nil, diag.Errorf("tokenizer.apply_chat_template: the first request: %w", err).Try("leave it out to count the texts alone")
		}
	}
	if c := m.set.First(); len(c.Turns) > 0 {
		if err = m.spec.Fits(&c.Turns[0]); err != nil {
			return nil, err
		}
	}
	if hasWarmup(m.bench.Phases) {
		if m.warmup, err = r.datasets.open(issue, hard, data, m.tok, dataset.Seeds{Shape: run.Seed, Text: run.Text}, wrap, "warmup"); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// template opens the chat template that prompts are counted in, if that is
// asked for: what renders in it, and what it puts around the texts of data.
func (m *measurement) template(data *schema.Dataset) (*render.Renderer, dataset.Wrapping, error) {
	var wrap dataset.Wrapping
	if !m.bench.Tokenizer.ApplyChatTemplate {
		return nil, wrap, nil
	}
	var err error
	if m.chat, err = openTemplate(&m.bench); err != nil {
		return nil, wrap, fmt.Errorf("tokenizer.apply_chat_template: %w", err)
	}
	rd, err := render.New(&m.bench.Endpoint, m.bench.Models, m.spec, m.tok)
	if err != nil {
		return nil, wrap, err
	}
	rd.Chat = m.chat
	system := data.SystemPrompt
	if p := data.Prefix; system == "" && (p != nil && p.SharedSystemLength > 0 || data.SystemFile != "") {
		system = "You are an assistant."
	}
	if wrap, err = rd.Wrapping(system); err != nil {
		wrap, err = dataset.Wrapping{}, nil // a template that wants other turns: the first request tells
	}
	return rd, wrap, err
}

// measured is what came out of a measurement, before it is judged.
type measured struct {
	result    loadgen.Result
	host      telemetry.Host
	clock     record.Clock
	ended     time.Time
	transport transport.Stats
	identity  *verdict.Identity // nil where the server does not say what it is
	emitted   int64
	span      metrics.Window // first sent .. last ended of what counts, ns since T0
	sink      error
}

// note counts a record that the engine hands over.
func (m *measured) note(r *record.Record) {
	m.emitted++
	if r.Warmup || !r.InWindow || r.Sent == record.None || r.End == record.None {
		return
	}
	if m.span.End == 0 {
		m.span.Start = r.Sent
	}
	m.span.Start, m.span.End = min(m.span.Start, r.Sent), max(m.span.End, r.End)
}

// measure drives the run and writes its records to the journal at path.
func (r *runner) measure(issue, hard context.Context, m *measurement, path string) (_ *measured, err error) {
	if r.opt.Simulate != nil {
		return r.simulate(issue, hard, m, path)
	}
	out := &measured{clock: record.NewClock()}
	journal, err := sinks.NewJournal(path, r.journalMeta(m.run, out.clock))
	if err != nil {
		return nil, &lostError{err}
	}
	how := transportConfig(m, out.clock)
	client, err := transport.Open(how)
	if err != nil {
		return nil, errors.Join(err, journal.Close(), os.Remove(path))
	}
	for i := range m.targets {
		if err := client.Probe(issue, i); err != nil {
			return nil, errors.Join(unreachable(err), client.Close(), journal.Close(), os.Remove(path))
		}
	}
	who := newInquirer(&m.bench.Endpoint, how)
	before := who.ask(issue)
	kept, err := r.openDetails(m, filepath.Dir(path), out.clock)
	if err != nil {
		return nil, errors.Join(err, client.Close(), journal.Close(), os.Remove(path))
	}
	monitor := telemetry.Start()
	if m.doubt == "" && asksTokens(m, before) {
		m.doubt = r.tokenizers.compared(m, func() string { return who.disagrees(issue, m) })
	}
	job := m.job(out, journal)
	job.Hide = r.hide
	job.Client, job.Live = client, r.opt.Live
	kept.attach(&job)
	out.result, err = m.drive(issue, hard, job)
	if kerr := kept.close(); kerr != nil && out.sink == nil {
		out.sink = kerr
	}
	out.host = monitor.Stop()
	out.ended = time.Now()
	out.identity = identity(before, func() []verdict.ServerIdentity { return who.ask(hard) }, modelNames(m.bench.Models))
	if cerr := journal.Close(); cerr != nil && out.sink == nil {
		out.sink = cerr
	}
	err = errors.Join(err, client.Close()) // which looks at the clocks once more
	out.transport = client.Stats()
	return out, err
}

// job is what the engine is to do; records go to the journal.
func (m *measurement) job(out *measured, journal *sinks.Journal) loadgen.Job {
	tok := m.tok
	if m.bench.Endpoint.UseServerTokenCount && m.bench.Tokenizer.Name == tokenizer.Server {
		tok = nil // while it is measured the server is asked nothing: its usage counts
	}
	keep := func(rec *record.Record) {
		out.note(rec)
		if werr := journal.Write(rec); werr != nil && out.sink == nil {
			out.sink = werr
		}
	}
	return loadgen.Job{
		Phases: m.bench.Phases, Endpoint: m.bench.Endpoint, Models: m.bench.Models, Spec: m.spec, Set: m.set, WarmupSet: m.warmup,
		Tokenizer: tok, Chat: m.chat, Clock: out.clock, Seed: m.run.Seed, Text: m.run.Text, Judge: m.judge,
		Emit: keep, Unsent: keep,
	}
}

// simulate is measure in a world of its own.
func (r *runner) simulate(issue, hard context.Context, m *measurement, path string) (*measured, error) {
	world, err := r.opt.Simulate(m.bench.Endpoint.URLs)
	if err != nil {
		return nil, err
	}
	out := &measured{clock: record.NewClock(), transport: transport.Stats{Stamps: "kernel"}}
	journal, err := sinks.NewJournal(path, r.journalMeta(m.run, out.clock))
	if err != nil {
		return nil, &lostError{err}
	}
	job := m.job(out, journal)
	job.Hide = r.hide
	job.World = world
	out.result, err = m.drive(issue, hard, job)
	out.ended = out.clock.Wall(world.Now())
	if cerr := journal.Close(); cerr != nil && out.sink == nil {
		out.sink = cerr
	}
	return out, err
}

// drive runs the job. Conversations that could not be read while it ran are its
// failure.
func (m *measurement) drive(issue, hard context.Context, job loadgen.Job) (loadgen.Result, error) {
	defer spareGC()()
	result, err := loadgen.Run(issue, hard, job)
	for _, set := range []*dataset.Set{m.set, m.warmup} {
		if err == nil && set != nil {
			err = set.Err()
		}
	}
	if bad := tokenizer.Err(job.Tokenizer); bad != nil {
		m.doubt = "not all texts were counted: " + bad.Error()
	}
	return result, err
}

// transportConfig is how the targets are spoken to.
func transportConfig(m *measurement, clock record.Clock) transport.Config {
	e := &m.bench.Endpoint
	conns, bounded := mode.Connections(m.bench.Phases)
	if !bounded {
		conns = 0
	}
	return transport.Config{
		Targets: m.targets, Clock: clock, Reuse: e.ConnectionReuse, MaxConns: conns,
		Insecure: e.Insecure, CAFile: e.CAFile, ClientCert: e.ClientCert, ClientKey: e.ClientKey,
		HTTP2: e.HTTP == 2, ProxyEnv: e.Proxy == "env", SourceAddresses: e.SourceAddresses,
	}
}

func hasWarmup(phases []schema.Phase) bool {
	for _, p := range phases {
		if p.Kind == "warmup" && p.Primes == "" {
			return true
		}
	}
	return false
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

// datasets keeps the last set made: neighbouring runs mostly share one.
type datasets struct {
	key string
	set map[string]*dataset.Set
}

// open makes a set, or hands over the one that was made before. It ends with
// issue when the record under way is read, and with hard at once: the goroutine
// that is left behind has nothing but memory of its own, and the same end.
func (d *datasets) open(issue, hard context.Context, cfg schema.Dataset, tok tokenizer.Tokenizer, roots dataset.Seeds, wrap dataset.Wrapping, stream string) (*dataset.Set, error) {
	b, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%s %d %d %v %s", b, roots.Shape, roots.Text, wrap, tok.Name())
	if key != d.key {
		d.key, d.set = key, map[string]*dataset.Set{}
	}
	if s := d.set[stream]; s != nil {
		return s, nil
	}
	type made struct {
		set *dataset.Set
		err error
	}
	done := make(chan made, 1)
	go func() {
		set, err := dataset.OpenSeeds(issue, cfg, tok, roots, wrap, stream)
		done <- made{set, err}
	}()
	select {
	case m := <-done:
		if m.err == nil {
			d.set[stream] = m.set
		}
		return m.set, m.err
	case <-hard.Done():
		return nil, context.Cause(hard)
	}
}

// tokenizers keeps what was opened: building a vocabulary costs milliseconds.
type tokenizers map[string]opened

// tokenizerOf is what the experiment counts with. The default revision is as
// good as none: any snapshot in the cache will do.
func tokenizerOf(b *schema.Benchmark) tokenizer.Ref {
	ref := tokenizer.Ref{Name: b.Tokenizer.Name, Revision: b.Tokenizer.Revision}
	if ref.Revision == "main" {
		ref.Revision = ""
	}
	return ref
}

type opened struct {
	tok   tokenizer.Tokenizer
	doubt string
}

// compared is what the server was asked about the run's tokenizer, once a plan.
func (t tokenizers) compared(m *measurement, ask func() string) string {
	key := keyOf(tokenizerOf(&m.bench), m.bench.Models.Items[0].Name) + "\x00" + m.targets[0]
	o, asked := t[key]
	if !asked {
		o = opened{tok: m.tok, doubt: ask()}
		t[key] = o
	}
	return o.doubt
}

func keyOf(ref tokenizer.Ref, model string) string {
	return ref.Name + "\x00" + ref.Revision + "\x00" + model
}

func (t tokenizers) open(ref tokenizer.Ref, model string) (tokenizer.Tokenizer, string, error) {
	key := keyOf(ref, model)
	if o, ok := t[key]; ok {
		return o.tok, o.doubt, nil
	}
	var o opened
	var err error
	if ref.Name == tokenizer.Server { // nobody to ask: a preview, or a simulated server
		ref.Name, o.doubt = tokenizer.Default, "counts by "+tokenizer.Default+": the server is not asked"
	}
	if ref.Name == "" {
		o.tok, o.doubt = tokenizer.ForModel(model, ref.Revision)
	} else if o.tok, err = ref.Open(); err != nil {
		return nil, "", err
	}
	t[key] = o
	return o.tok, o.doubt, nil
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
