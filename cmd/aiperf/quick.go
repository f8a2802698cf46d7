package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/compat"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/nearby"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/quick"
)

var quickCommand = command{
	name: "quick", usage: "say how many users a server serves, and how fast",
	help: `aiperf quick finds an inference server on this machine, looks at it with 1, 4
and 16 users, and searches for the most users that it serves within limits. It
prints the answer, and writes the experiment that repeats the search.

  aiperf quick
  aiperf quick -u http://localhost:8000 --budget 60s
  aiperf quick -u mock: --limit "time_to_first_token < 300"

The lengths of requests follow from how fast the server is and from the budget:
a longer budget has longer answers and a narrower result. --isl and --osl set
them. Without --limit a good request has its first token after 500 ms and a
token every 50 ms, or twice what the idle server takes.`,
	flags: []argv.Switch{
		{Name: "budget", Arg: "TIME", Topic: "load", Doc: "time for everything, 20s or more, such as 60s or 10m (default 5m)"},
		{
			Name: "limit", Arg: "LIMIT", Many: true, Topic: "load",
			Doc: `limit of a good request, as in "time_to_first_token < 300" (ms)`,
		},
		{
			Name: "report", Arg: "KIND", Words: []string{"html", "none"}, Topic: "results",
			Doc: "html (default): write report.html at the end; none: do not",
		},
		setFlag, progressFlag, outputFlag, lenient,
	},
	settings: true,
	often: []section{
		{"Server", []string{"url", "model", "endpoint-type", "api-key", "tokenizer"}},
		{"Question", []string{"budget", "limit", "isl", "osl"}},
		{"Results", []string{"artifact-dir", "output", "progress", "report"}},
	},
	run: (*app).quick,
}

// quickly is one execution of the command.
type quickly struct {
	*app
	p   *argv.Line // without the directory
	ask quick.Ask
	dir string
	// typed says that the command line names the endpoint type.
	typed bool
}

func (a *app) quick(p *argv.Line) error {
	if len(p.Words) > 0 {
		return diag.New("quick: unexpected "+p.Words[0],
			cmp.Or(p.Before[0], "-u URL names the server; aiperf run FILE runs an experiment"))
	}
	asJSON, err := wantJSON(p)
	if err != nil {
		return err
	}
	began := time.Now()
	q := &quickly{app: a, p: p}
	if err := q.question(); err != nil {
		return err
	}
	if err := q.place("quick"); err != nil {
		return err
	}
	first, err := q.first()
	if err != nil {
		return err
	}
	l := q.ask.Fit(first)
	a.note(fmt.Sprintf("looks at %s users, each request with %d tokens in%s", words.And(texts(quick.Levels())), l.ISL,
		map[bool]string{true: fmt.Sprintf(" and %d out", l.OSL)}[q.ask.Text]))
	res, err := q.look("levels", q.ask.Levels(first, l))
	if err != nil {
		return err
	}
	levels := quick.LooksOf(res.Results)
	if levels[0].OK == 0 {
		return exitCode(res, true, a.hard.Err() != nil)
	}
	return q.search(first, levels, l, q.ask.Budget-time.Since(began), asJSON)
}

func texts(numbers []int) (out []string) {
	for _, n := range numbers {
		out = append(out, strconv.Itoa(n))
	}
	return out
}

// quicksOwn are the parts of an experiment that quick writes, or that cannot be combined with a search.
var quicksOwn = []string{"search", "sweep", "multi_run", "gates", "compare"}

// question reads what the command line asks, and finds the server.
func (q *quickly) question() (err error) {
	q.ask = quick.Ask{
		Type: endpoint.Usual(nil).Type, Where: q.p.Values["limit"], Budget: 5 * time.Minute,
		Seed: int64(rand.Uint32()),
	}
	if text := q.p.Get("budget"); text != "" {
		if q.ask.Budget, err = budget(text); err != nil {
			return err
		}
	}
	said := func(path string) string {
		for _, as := range slices.Backward(q.p.Assigns) {
			if as.Path == path {
				if as.Value != nil && len(as.Value.Items) > 0 {
					return as.Value.Items[0].Text()
				}
				return as.Value.Text()
			}
		}
		return ""
	}
	for _, as := range q.p.Assigns {
		q.ask.SLOs = q.ask.SLOs || strings.HasPrefix(as.Path, "benchmark.slos")
		if strings.HasPrefix(as.Path, "benchmark.phases") {
			return diag.New(as.Origin.Where+": quick chooses the load itself",
				"leave it out; aiperf run, with search in the experiment, takes it")
		}
		if err := q.length(&as); err != nil {
			return err
		}
		if top, _, _ := strings.Cut(as.Path, "."); slices.Contains(quicksOwn, top) {
			return diag.New(as.Origin.Where+": quick makes its own search, of one system",
				"leave it out; aiperf run, with search in the experiment, takes limits, budget and resolution")
		}
	}
	if q.ask.SLOs && q.ask.Where != nil {
		return diag.New("--limit and --goodput both set limits", "keep one of them")
	}
	q.typed = said("benchmark.endpoint.type") != ""
	q.ask.Type = cmp.Or(said("benchmark.endpoint.type"), q.ask.Type)
	spec, ok := endpoint.Lookup(q.ask.Type)
	if ok && (!spec.TakesText || spec.Ready || spec.Needs != 0 || spec.Ranks) {
		return diag.New("quick: sends texts, which "+q.ask.Type+" does not take",
			"aiperf run, with search in the experiment")
	}
	if ok {
		q.ask.Streams, q.ask.Text = spec.CanStream, spec.ProducesTokens
	}
	limited := map[string]bool{}
	for _, text := range q.ask.Where {
		l, err := checkLimit(text)
		if err != nil {
			return err
		}
		if limited[l.Tag] {
			return diag.New("--limit: limits "+l.Tag+" twice", "keep the narrower one")
		}
		limited[l.Tag] = true
	}
	q.ask.URL, q.ask.Model = said("benchmark.endpoint.urls"), said("benchmark.models")
	if q.ask.URL == "" {
		return q.find(nearby.Find(q.issue, nearby.Places()))
	}
	return nil
}

// length takes the length of requests that the command line sets, as one number.
func (q *quickly) length(as *schema.Assignment) error {
	for name, to := range map[string]*int{"isl": &q.ask.Given.ISL, "osl": &q.ask.Given.OSL} {
		if path := strings.TrimSuffix(as.Path, ".mean"); !strings.HasSuffix(path, "."+name) {
			continue
		}
		value := as.Value
		if len(value.Items) == 1 {
			value = value.Items[0]
		}
		tokens, number := value.Plain().(float64)
		if n, whole := value.Plain().(int64); whole {
			tokens, number = float64(n), true
		}
		switch {
		case !number: // the experiment says what is wrong
		case tokens < 1:
			return diag.New(fmt.Sprintf("%s: expected 1 token or more, got %g", as.Origin.Where, tokens),
				"leave it out: quick then chooses a length")
		default:
			*to = int(tokens)
		}
	}
	return nil
}

// checkLimit refuses a limit that no request can be held against.
func checkLimit(text string) (schema.Limit, error) {
	l, ok := schema.ParseLimit(text)
	if !ok {
		return l, diag.New(fmt.Sprintf("--limit: %q: expected one metric of a request and its limit",
			words.Clip(text, 80)), `such as "time_to_first_token < 500"`)
	}
	m, known := metrics.Lookup(l.Tag)
	if !known || !m.PerRequest() {
		e := diag.New("--limit: no metric of a request is called "+l.Tag, "aiperf plugins --category metric lists them")
		if s := schema.Suggest(l.Tag, metrics.Tags()); s != "" && !known {
			e.Hint = "did you mean " + s + "?"
		}
		return l, e
	}
	if l.Unmet() {
		return l, diag.New(fmt.Sprintf("--limit: %q: no request is below %g", text, l.Value), "give a limit above 0")
	}
	if l.Above != m.LargerIsBetter {
		return l, diag.New(fmt.Sprintf("--limit: %q: the sign is the wrong way round", text),
			fmt.Sprintf("write %s %s %g", l.Tag, map[bool]string{true: ">", false: "<"}[m.LargerIsBetter], l.Value))
	}
	return l, nil
}

// budget reads a time such as 60s, 5m or 90.
func budget(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if n, bad := strconv.ParseFloat(text, 64); bad == nil {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err == nil && d >= 0 && d < quick.Least {
		return 0, diag.New(fmt.Sprintf("--budget: %s is too short: two looks at the server and a search take %s or more",
			text, words.Span(quick.Least)), "--budget 60s")
	}
	if err != nil || d < 0 || d > quick.Most {
		return 0, diag.New(fmt.Sprintf("--budget: expected a time from %s to %s, got %s",
			words.Span(quick.Least), words.Span(quick.Most), text), "60s, or 5m")
	}
	return d, nil
}

// find chooses the first server of this machine, and its first model where none is named.
func (q *quickly) find(found []nearby.Server) error {
	if len(found) == 0 {
		var ports []string
		for _, p := range nearby.Places() {
			ports = append(ports, strconv.Itoa(p.Port))
		}
		return diag.New("found no inference server on this machine that lists its models (ports "+words.And(ports)+")",
			"name one with -u URL, or try the built-in one: aiperf quick -u mock:")
	}
	s := found[0]
	q.ask.URL = s.URL()
	q.note(fmt.Sprintf("found a server at %s, where %s usually listens", s.URL(), s.Usually))
	for _, other := range found[1:] {
		q.note("another one: -u " + other.URL())
	}
	if q.ask.Model == "" {
		return q.model(s.Models)
	}
	return nil
}

// model chooses the first of a server's models whose name is only a name: what a server
// says must not read a variable of this machine.
func (q *quickly) model(served []string) error {
	plain := slices.DeleteFunc(slices.Clone(served), func(name string) bool {
		return strings.ContainsAny(name, "${}") || words.Line(name) != name
	})
	if len(plain) == 0 {
		return diag.New(q.ask.URL+" does not list any model", "name one with -m")
	}
	q.ask.Model = plain[0]
	said := "asks for the model " + q.ask.Model
	if len(plain) > 1 {
		said += fmt.Sprintf(", the first of %d that the server lists; -m names another", len(plain))
	}
	q.note(said)
	return nil
}

// place makes the folder of everything that is written: the one that was named, else a new
// one of the command's.
func (q *quickly) place(command string) error {
	for _, as := range q.p.Assigns {
		if as.Path == "benchmark.artifacts.dir" {
			q.dir = as.Value.Text()
		}
	}
	without := *q.p // the file is to run anywhere
	without.Assigns = slices.DeleteFunc(slices.Clone(q.p.Assigns),
		func(as schema.Assignment) bool { return as.Path == "benchmark.artifacts.dir" })
	q.p = &without
	if q.dir == "" {
		q.dir = unused(filepath.Join("results", command+"-"+time.Now().UTC().Format("20060102T150405Z")))
	} else if entries, err := os.ReadDir(q.dir); err == nil && len(entries) > 0 {
		return diag.New("--artifact-dir: "+q.dir+" is not empty", "name a new folder")
	}
	return written(os.MkdirAll(q.dir, 0o755))
}

// first asks one request at a time, of the chat API, and where the server has none of
// completions.
func (q *quickly) first() (quick.Look, error) {
	if q.ask.Model == "" {
		if mockserver.Named(q.ask.URL) {
			q.ask.Model = "demo"
		} else if err := q.served(); err != nil {
			return quick.Look{}, err
		}
	}
	res, err := q.look("first", q.ask.First(), "looks at "+q.shown()+" with one request at a time")
	if err != nil {
		return quick.Look{}, err
	}
	looks := quick.LooksOf(res.Results)
	if other := q.other(res); looks[0].OK == 0 && other != "" {
		q.note("has no " + q.ask.Type + " API: asks for " + other)
		q.ask.Type = other
		if res, err = q.look("first_"+other, q.ask.First()); err != nil {
			return quick.Look{}, err
		}
		looks = quick.LooksOf(res.Results)
	}
	if requests := res.Report().Requests; looks[0].OK == 0 && requests.Cut > 0 && requests.Failed == 0 {
		return quick.Look{}, &diag.Error{
			Code: diag.Invalid, Message: fmt.Sprintf("the server is too slow for a search within %s: no answer was complete after %s",
				words.Span(q.ask.Budget), words.Span(q.ask.Patience())),
			Hint: "--budget " + words.Span(4*q.ask.Budget) + ", or shorter answers with --osl 16",
		}
	}
	if looks[0].OK == 0 {
		if err := q.report(res, false, &console{}); err != nil {
			return quick.Look{}, err
		}
		return quick.Look{}, cmp.Or(exitCode(res, true, q.hard.Err() != nil), error(exit(diag.Failed)))
	}
	return looks[0], nil
}

// other is the API to try where the server does not know the usual one.
func (q *quickly) other(res *runner.Result) string {
	if q.typed || len(res.Outcomes) == 0 {
		return ""
	}
	rep := res.Reports[res.Outcomes[0].Run.ID]
	if rep == nil || !slices.ContainsFunc(rep.Errors, func(e verdict.ErrorCount) bool {
		return slices.Contains([]int64{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented},
			int64(e.HTTP))
	}) {
		return ""
	}
	return "completions"
}

// served asks the server which model it has.
func (q *quickly) served() error {
	q.ask.Model = "unknown"
	plan, _, err := q.expanded("first", q.ask.First())
	if err != nil {
		return err
	}
	names, err := runner.Served(q.issue, plan)
	if err != nil {
		q.tidy("first")
		return measureError(err)
	}
	return q.model(names)
}

// shown is the server's address without what stands behind it.
func (q *quickly) shown() string {
	base, _, _ := strings.Cut(q.ask.URL, "?")
	return base
}

// expanded is the plan of an experiment, written to a file in the folder.
func (q *quickly) expanded(name string, text []byte) (*sweep.Plan, *schema.Document, error) {
	file := filepath.Join(q.dir, name+".yaml")
	if err := atomicfile.Write(file, text); err != nil {
		return nil, nil, written(err)
	}
	doc, plan, err := q.expand("run", file, q.p, runnable(runner.Inputs))
	return plan, doc, err
}

// look carries out an experiment without a screen, and says so once nothing is refused. The file goes,
// its results have a copy.
func (q *quickly) look(name string, text []byte, says ...string) (*runner.Result, error) {
	plan, doc, err := q.expanded(name, text)
	if err != nil {
		q.tidy(name)
		return nil, err
	}
	if strings.HasPrefix(name, "first") && len(plan.Axes) > 0 {
		q.tidy(name)
		return nil, diag.New(plan.Axes[0].Origin.Where+": has several values, and quick asks about one", "give one of them")
	}
	opt, err := q.options("run", filepath.Join(q.dir, name+".yaml"), doc, plan, q.p)
	if err != nil {
		return nil, err
	}
	opt.Dir, opt.Latest, opt.Page, opt.CommandLine = filepath.Join(q.dir, name), "", false, quickTyped()
	opt.Say = func(line string) { q.note(line) }
	for _, line := range says {
		q.note(line)
	}
	res, err := runner.Run(q.issue, q.hard, plan, opt)
	q.tidy(name)
	if err != nil {
		return nil, measureError(err)
	}
	if res.Interrupted {
		return nil, exit(diag.Interrupted)
	}
	return res, nil
}

// tidy removes the file of a look, and the folder where nothing else is in it.
func (q *quickly) tidy(name string) {
	_ = os.Remove(filepath.Join(q.dir, name+".yaml"))
	if os.Remove(q.dir) == nil && strings.HasPrefix(q.dir, "results"+string(filepath.Separator)) {
		_ = os.Remove("results")
	}
}

// search writes the experiment of the search, carries it out and says what it found.
func (q *quickly) search(
	first quick.Look, levels []quick.Look, l quick.Lengths, left time.Duration, asJSON bool,
) error {
	c := q.ask.Search(first, levels, l, left)
	if c.Needs > 0 {
		return q.tooSlow(first, l, c)
	}
	k, err := q.kept("quick", fmt.Sprintf("How many users %s at %s serves within limits: made by aiperf quick --budget %s.",
		q.ask.Model, q.shown(), words.Span(q.ask.Budget)), c.Text)
	if err != nil {
		return err
	}
	file, doc, plan, opt := k.file, k.doc, k.plan, k.opt
	opt.Dir = filepath.Join(q.dir, "search")
	if strings.HasPrefix(q.dir, "results") {
		opt.Latest = filepath.Join("results", "latest")
	}
	opt.Page = q.p.Get("report") != "none"
	q.note(fmt.Sprintf("searches from %s on, in about %s of %s", words.Count(c.Low, "user"),
		words.Count(c.Probes, "probe"), words.Span(c.Length)))
	end := q.showProgress(doc, plan, q.p, &opt)
	opt.Say = func(line string) { q.note(line) }
	res, err := runner.Run(q.issue, q.hard, plan, opt)
	end()
	if err != nil {
		return measureError(err)
	}
	if err := q.answer(res, levels[0], file, asJSON); err != nil {
		return err
	}
	return exitCode(res, true, q.hard.Err() != nil)
}

// tooSlow says how long one request takes, how long a search would, and what to type for it.
func (q *quickly) tooSlow(first quick.Look, l quick.Lengths, c quick.Chosen) error {
	size := fmt.Sprintf("%d tokens in", l.ISL)
	if q.ask.Text {
		size += fmt.Sprintf(" and %d out", l.OSL)
	}
	minutes := math.Ceil(c.Needs.Minutes())
	e := &diag.Error{
		Code: diag.Invalid, Message: fmt.Sprintf(
			"the server is too slow for a search within %s: a request with %s takes %s when nothing else runs, and a search about %s",
			words.Span(q.ask.Budget), size, words.Span(q.ask.Idle(first, l)), words.Span(c.Needs)),
		Hint: fmt.Sprintf("--budget %.0fm", minutes),
	}
	if q.ask.Text && l.OSL > 16 {
		e.Hint += ", or shorter answers with --osl 16"
	}
	return e
}

// prepared is an experiment that is written for people, and ready to be carried out.
type prepared struct {
	file string
	doc  *schema.Document
	plan *sweep.Plan
	opt  runner.Options
}

// kept writes an experiment in CUE, with what it is above it, and reads it as anybody would
// who has it. Secrets are not in it: they are taken from text.
func (q *quickly) kept(name, what string, text []byte) (*prepared, error) {
	_, doc, err := q.expanded(name, text)
	if err != nil {
		q.tidy(name)
		return nil, err
	}
	cue, _, err := compat.Write(doc.Said(), "cue")
	if err != nil {
		return nil, err
	}
	k := &prepared{file: filepath.Join(q.dir, name+".cue")}
	head := fmt.Sprintf("// %s\n//\n//\taiperf run %s\n", what, k.file)
	if err := errors.Join(atomicfile.Write(k.file, append([]byte(head), cue...)),
		os.Remove(filepath.Join(q.dir, name+".yaml"))); err != nil {
		return nil, written(err)
	}
	hidden := compat.Secrets(doc.Said())
	q.env = func(name string) (string, bool) {
		if v, ok := hidden[name]; ok {
			return v, true
		}
		return os.LookupEnv(name)
	}
	plain := *q.p
	plain.Assigns = nil
	if k.doc, k.plan, err = q.expand("run", k.file, &plain, runnable(runner.Inputs)); err != nil {
		return nil, err
	}
	k.opt, err = q.options("run", k.file, k.doc, k.plan, &plain)
	k.opt.CommandLine = quickTyped()
	return k, err
}

// quickTyped is the command as it was typed, for what is kept with its results.
func quickTyped() string { return argv.Masked("quick", os.Args, schema.Options()) }

// answer prints what was found.
func (q *quickly) answer(res *runner.Result, idle quick.Look, file string, asJSON bool) error {
	if why := res.NothingMeasured(); why != nil {
		q.fail(why)
		return nil
	}
	r := res.Report()
	r.Width = screenWidth(q.Out)
	what := report.Quick{
		Idle: idle, File: file, Chosen: q.ask.Where == nil && !q.ask.SLOs,
		Limit: limitAt(res),
	}
	if asJSON {
		return q.writeDoc(struct {
			Answer []string `json:"answer"`
			File   string   `json:"file"`
			report.Doc
		}{r.QuickSentences(what), file, r.Doc(res.ExitCode(), res.Interrupted)})
	}
	return r.WriteQuick(q.Out, what)
}
