package main

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sweep/quick"
)

var quickCommand = command{
	name: "quick", usage: "say how many users a server serves, and how fast",
	help: `aiperf quick finds an inference server on this machine, looks at it with 1, 4
and 16 users, and searches for the most users, up to 512, that it serves within
limits. It prints the answer, and writes the experiment that repeats the search.

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
			Doc: `limit of a good request, as in "ttft < 300" (ms); a load holds when 95 % of them are good`,
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
	chosen: map[string]string{"isl": "", "osl": ""},
	run:    (*app).quick,
}

// quickFile is the experiment that quick writes in its folder, and quickSearch the result of it there.
const (
	quickFile   = "quick.cue"
	quickSearch = "search"
)

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

// shown is the server's address without what stands behind it.
func (q *quickly) shown() string {
	base, _, _ := strings.Cut(q.ask.URL, "?")
	return base
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
		q.ask.Model, q.shown(), q.ask.Budget), c.Text)
	if err != nil {
		return err
	}
	file, doc, plan, opt := k.file, k.doc, k.plan, k.opt
	opt.Dir = filepath.Join(q.dir, quickSearch)
	if strings.HasPrefix(q.dir, "results") {
		opt.Latest = filepath.Join("results", "latest")
	}
	opt.Page = q.p.Get("report") != "none"
	q.note(fmt.Sprintf("searches from %s up to %d, in about %s of %s", words.Count(c.Low, "user"), c.High,
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
