package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/nearby"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep/quick"
)

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
			words.Clip(text, 80)), `such as "time_to_first_token < 500"; limits on times are in milliseconds, without a unit`)
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
