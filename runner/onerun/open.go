package onerun

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/gclimit"
	"aiperf.dev/aiperf/internal/grade"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/plugin"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/render"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/tokenizer/chat"
	"aiperf.dev/aiperf/schema"
)

// Opened is a run with everything it needs, read and ready. Spec is its own copy.
type Opened struct {
	Spec
	API       *endpoint.Spec
	Tokenizer tokenizer.Tokenizer
	doubt     string         // about the tokenizer's counts
	Chat      *chat.Template // prompts are counted inside it; nil: as they are
	Set       *dataset.Set
	Warmup    *dataset.Set // of phases that warm up with texts of their own; nil without any
	judge     func(*record.Record) (clock, sent string)
	graders   graders // of questions with known answers; nil without any
	programs  programs
	loader    *Loader
}

// Loader opens runs and remembers what neighbouring runs share: one data set, the
// tokenizers, what servers were asked about them. It belongs to one goroutine.
type Loader struct {
	Host plugin.Host // who runs the program that a data set comes from

	key        string
	sets       map[string]*dataset.Set // the last ones made, by stream
	tokenizers map[string]opened
	unread     map[string]telemetry.Source // pages of metrics that gave nothing in the last run that asked, by name
	nvml       *telemetry.Local            // stays open between runs; nil before it was asked for
	asked      *dataset.Set                // the last questions made, and what they are
	askedKey   string
}

// opened is a tokenizer with what is to be said of its counts.
type opened struct {
	tok   tokenizer.Tokenizer
	doubt string
}

// NewLoader remembers nothing yet.
func NewLoader() *Loader {
	return &Loader{tokenizers: map[string]opened{}, unread: map[string]telemetry.Source{}}
}

// Forget lets go of the data set: the next run makes its own.
func (l *Loader) Forget() { l.key, l.sets = "", nil }

// Open reads what spec names. Nothing is sent, unless the server itself is the
// tokenizer. It ends with issue when the record under way is read, and with hard at
// once.
func (l *Loader) Open(issue, hard context.Context, spec Spec) (*Opened, error) {
	defer gclimit.Writing()() // a large trace leaves as much garbage as it is itself
	if err := spec.Share.Check(); err != nil {
		return nil, err
	}
	run := &Opened{Spec: spec, loader: l, programs: programs{}}
	asks := spec.ServerCounts() && len(spec.Targets) > 0
	if asks {
		if err := run.askForTokenizer(issue); err != nil {
			return nil, err
		}
	}
	err := l.read(plugin.WithHost(issue, l.Host), hard, run)
	if bad := tokenizer.Err(run.Tokenizer); asks && bad != nil {
		return nil, fmt.Errorf("tokenizer server: %w", bad)
	}
	if err != nil {
		return nil, &InputError{err}
	}
	if asks { // its usage says what the requests and answers had
		run.Benchmark.Endpoint.UseServerTokenCount = true
	}
	return run, nil
}

// InputError says that a file of the experiment is wrong, which shows only when all
// of it is read. Nothing was sent then.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// read is the part of Open that touches nothing but files.
func (l *Loader) read(issue, hard context.Context, run *Opened) (err error) {
	bench := &run.Benchmark
	bench.FollowAIPerf() // a spec that was read has lost it
	if run.API, err = endpoint.Open(&bench.Endpoint); err != nil {
		return err
	}
	run.API.Ask = run.programs.asker(plugin.Endpoint)
	if len(bench.SLOs) > 0 {
		if run.judge, err = metrics.Judge(bench.SLOs); err != nil {
			return err
		}
	}
	if run.Tokenizer == nil {
		if err := l.tokenizer(run); err != nil {
			return err
		}
	}
	return l.conversations(issue, hard, run)
}

// conversations makes the run's data sets.
func (l *Loader) conversations(issue, hard context.Context, run *Opened) error {
	bench := &run.Benchmark
	data := bench.Datasets[0]
	if run.API.Ranks && data.Made() && data.Rankings == nil {
		data.Rankings = &schema.Rankings{} // a query and passages of the usual lengths
	}
	templated, wrap, err := run.template(&data)
	if err != nil {
		return err
	}
	if bench.Accuracy.Alone() {
		run.Set, err = l.questions(issue, run)
		return err
	}
	roots := dataset.Seeds{Shape: run.Seed, Text: run.Text}
	if run.Set, err = l.open(issue, hard, data, run.Tokenizer, roots, wrap, "profiling"); err != nil {
		return err
	}
	if templated != nil && run.Set.Len() > 0 {
		if err := templated.CheckChat(run.Set.First()); err != nil {
			return diag.Errorf("tokenizer.apply_chat_template: the first request: %w",
				err).Try("leave it out to count the texts alone")
		}
	}
	if c := run.Set.First(); len(c.Turns) > 0 {
		if err = run.API.Fits(&c.Turns[0]); err != nil {
			return err
		}
	}
	if bench.Accuracy.Mixed() {
		q, err := l.questions(issue, run)
		if err != nil {
			return err
		}
		run.Set = run.Set.Asking(q, bench.Accuracy.Asked())
	}
	if warmsUp(bench.Phases) {
		run.Warmup, err = l.open(issue, hard, data, run.Tokenizer, roots, wrap, "warmup")
	}
	return err
}

// questions are those of the run's benchmark, and what judges the answers. Phases that
// ask each of them once get their number.
func (l *Loader) questions(ctx context.Context, run *Opened) (_ *dataset.Set, err error) {
	a := run.Benchmark.Accuracy
	form := dataset.Form{Messages: run.API.TakesSystem}
	text, err := json.Marshal([]any{a, form})
	if err != nil {
		return nil, err
	}
	key := string(text) + run.Tokenizer.Name()
	if l.asked == nil || l.askedKey != key {
		if l.asked, err = dataset.Questions(ctx, a, a.Path, form, run.Tokenizer); err != nil {
			return nil, err
		}
		l.askedKey = key
	}
	if err := run.API.Fits(&l.asked.First().Turns[0]); err != nil {
		return nil, err
	}
	run.Benchmark.BoundByQuestions() // a spec that was read has lost it
	for i := range run.Benchmark.Phases {
		if p := &run.Benchmark.Phases[i]; p.Once {
			p.Requests = int64(l.asked.Len())
		}
	}
	limit, err := grade.CodeLimit(os.Getenv(grade.CodeLimitVariable))
	if err != nil {
		return nil, err
	}
	run.graders, err = gradersOf(l.asked, grade.Options{
		AllowCode: run.AllowCode, CodeLimit: limit, Ask: run.programs.asker(plugin.Grader),
	})
	return l.asked, err
}

// template opens the chat template that prompts are counted in, if that is
// asked for: what renders in it, and what it puts around the texts of data.
func (run *Opened) template(data *schema.Dataset) (*render.Renderer, dataset.Wrapping, error) {
	var wrap dataset.Wrapping
	bench := &run.Benchmark
	if !bench.Tokenizer.ApplyChatTemplate {
		return nil, wrap, nil
	}
	var err error
	if run.Chat, err = ChatTemplate(bench); err != nil {
		return nil, wrap, fmt.Errorf("tokenizer.apply_chat_template: %w", err)
	}
	rd, err := render.New(&bench.Endpoint, bench.Models, run.API, run.Tokenizer)
	if err != nil {
		return nil, wrap, err
	}
	rd.Chat = run.Chat
	system := data.SystemPrompt
	if p := data.Prefix; system == "" && (p != nil && p.SharedSystemLength > 0 || data.SystemFile != "") {
		system = "You are an assistant."
	}
	if wrap, err = rd.Wrapping(system); err != nil {
		wrap, err = dataset.Wrapping{}, nil // a template that wants other turns: the first request tells
	}
	return rd, wrap, err
}

// ChatTemplate is the chat template of what is measured.
func ChatTemplate(b *schema.Benchmark) (*chat.Template, error) {
	if row, ok := endpoint.Lookup(b.Endpoint.Type); ok && row.Messages == nil {
		return nil, diag.Errorf("endpoint type %s gets no chat template",
			b.Endpoint.Type).Try("leave it out, or use type chat")
	}
	dir, err := TokenizerOf(b).Folder(b.Models.Items[0].Name)
	if err != nil {
		return nil, err
	}
	return chat.Open(dir)
}

func warmsUp(phases []schema.Phase) bool {
	for _, p := range phases {
		if p.Kind == "warmup" && p.Primes == "" {
			return true
		}
	}
	return false
}

// open makes a set, or hands over the one that was made before. The goroutine
// that is left behind when hard ends has nothing but memory of its own, and the
// same end.
func (l *Loader) open(
	issue, hard context.Context, cfg schema.Dataset, tok tokenizer.Tokenizer, roots dataset.Seeds,
	wrap dataset.Wrapping, stream string,
) (*dataset.Set, error) {
	b, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%s %v %d %d %v %s", b, cfg.GapsStay, roots.Shape, roots.Text, wrap, tok.Name())
	if key != l.key {
		l.key, l.sets = key, map[string]*dataset.Set{}
	}
	if s := l.sets[stream]; s != nil {
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
			l.sets[stream] = m.set
		}
		return m.set, m.err
	case <-hard.Done():
		return nil, context.Cause(hard)
	}
}

// TokenizerOf is what the experiment counts with. The default revision is as
// good as none: any snapshot in the cache will do.
func TokenizerOf(b *schema.Benchmark) tokenizer.Ref {
	ref := tokenizer.Ref{Name: b.Tokenizer.Name, Revision: b.Tokenizer.Revision}
	if ref.Revision == "main" {
		ref.Revision = ""
	}
	return ref
}

// askForTokenizer makes the server count.
func (run *Opened) askForTokenizer(ctx context.Context) (err error) {
	bench := &run.Benchmark
	who := NewInquirer(&bench.Endpoint, Transport(bench, run.Targets, record.NewClock()))
	if run.Tokenizer, err = who.tokenizer(ctx, run.Targets[0], bench.Models.Items[0].Name); err != nil {
		return diag.Errorf("tokenizer server: %s: %w", bench.Endpoint.URLs[0],
			err).Try("name the model's own tokenizer (--tokenizer)")
	}
	return nil
}

// tokenizer opens what run counts with.
func (l *Loader) tokenizer(run *Opened) (err error) {
	ref, model := TokenizerOf(&run.Benchmark), run.Benchmark.Models.Items[0].Name
	key := keyOf(ref, model)
	o, ok := l.tokenizers[key]
	if !ok {
		if o, err = openTokenizer(ref, model); err != nil {
			return err
		}
		l.tokenizers[key] = o
	}
	run.Tokenizer, run.doubt = o.tok, o.doubt
	return nil
}

func openTokenizer(ref tokenizer.Ref, model string) (o opened, err error) {
	if ref.Name == tokenizer.Server { // nobody to ask: a preview, or a simulated server
		ref.Name, o.doubt = tokenizer.Default, "tokens counted with "+tokenizer.Default+": the server is not asked"
	}
	if ref.Name == "" {
		o.tok, o.doubt = tokenizer.ForModel(model, ref.Revision)
	} else {
		o.tok, err = ref.Open()
	}
	return o, err
}

// compared is what the server was asked about the run's tokenizer, once a plan.
func (l *Loader) compared(run *Opened, ask func() string) string {
	key := keyOf(TokenizerOf(&run.Benchmark), run.Benchmark.Models.Items[0].Name) + "\x00" + run.Targets[0]
	o, asked := l.tokenizers[key]
	if !asked {
		o = opened{tok: run.Tokenizer, doubt: ask()}
		l.tokenizers[key] = o
	}
	return o.doubt
}

func keyOf(ref tokenizer.Ref, model string) string {
	return ref.Name + "\x00" + ref.Revision + "\x00" + model
}
