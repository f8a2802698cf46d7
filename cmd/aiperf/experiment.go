package main

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/gclimit"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// Flags that several commands share.
var (
	setFlag = argv.Switch{
		Name: "set", Arg: "PATH=VALUE", Many: true, Topic: "file",
		Doc: "set any value, as in endpoint.timeout=30",
	}
	exprFlag = argv.Switch{
		Name: "expression", Short: "e", Arg: "EXPR", Once: true, Minor: true,
		Topic: "file", Doc: "which experiment of a CUE package",
	}
	tagFlag = argv.Switch{
		Name: "inject", Short: "t", Arg: "KEY=VALUE", Many: true, Minor: true, Topic: "file",
		Doc: "fill @tag(KEY) in CUE",
	}
	pkgFlag = argv.Switch{
		Name: "package", Short: "p", Arg: "NAME", Once: true, Minor: true,
		Topic: "file", Doc: "CUE package of the folder or file",
	}
	modFlag = argv.Switch{
		Name: "allow-download", Minor: true, Topic: "file",
		Doc: "download CUE modules that are not in the cache",
	}
	outputFlag = argv.Switch{
		Name: "output", Short: "o", Arg: "FORMAT", Words: []string{"text", "json"},
		Topic: "results", Doc: "text (default) or json, on stdout",
	}
	lenient = argv.Switch{Name: "lenient", Topic: "file", Doc: "warn about settings without effect"}
	strict  = argv.Switch{Name: "strict", Topic: "file", Doc: "refuse settings without effect"}
)

// load reads the experiment a command line describes: FILE or flags or both.
// What cannot be run is refused here, before a plan is made of it.
func (a *app) load(command, file string, p *argv.Line) (*schema.Document, error) {
	doc, err := a.read(command, file, p)
	if err != nil {
		return nil, err
	}
	if err := checkVerdictIDs(doc.Envelope()); err != nil {
		return nil, runner.Located(doc, err)
	}
	a.warn(doc.Warnings()...)
	return doc, nil
}

// read loads an experiment. Beside mistakes the document is as schema.Load leaves it.
func (a *app) read(command, file string, p *argv.Line) (*schema.Document, error) {
	if strings.EqualFold(filepath.Ext(file), ".jsonl") {
		return nil, diag.New(file+": holds records, not an experiment",
			"aiperf dataset inspect "+file+" shows what it holds; --input-file takes it")
	}
	doc, err := a.open(command, file, p)
	var missing *fs.PathError
	if errors.As(err, &missing) {
		return nil, fileError(missing)
	}
	if err == nil {
		a.warn(doc.Notes()...)
	}
	return doc, err
}

func (a *app) open(command, file string, p *argv.Line) (*schema.Document, error) {
	return schema.Load(schema.Source{
		File: file, Select: a.selection(p), Assignments: p.Assigns, Command: command,
		Workers: int64(a.sharing), Env: a.env, Tags: decide.Names(), RunTags: runTags(), Look: lookAt,
		Inline: format.DetectInline,
	})
}

// lookAt is what the schema may know of a file of records.
func lookAt(path string) (schema.Records, error) {
	if runner.IsPipe(path) { // it is refused where it is looked at
		return schema.Records{}, errors.New("a pipe")
	}
	found, err := format.Detect(path)
	return schema.Records{
		Format: found.Format, Timed: found.Timed, Count: func() int64 { return format.Count(path) },
		Roots: func(name string) int64 { return format.Roots(path, name) },
	}, err
}

// selection is which part of a CUE package is meant, and whether the modules
// that it depends on may be fetched.
func (a *app) selection(p *argv.Line) schema.Select {
	sel := schema.Select{Package: p.Get("package"), Expr: p.Get("expression"), Tags: p.Values["inject"]}
	if p.Has("allow-download") {
		sel.Download = &schema.Download{
			Via: schema.Network(a.issue),
			Say: func(module string) { a.note("fetches " + module) },
		}
	}
	return sel
}

// runTags are the metrics that no single request has.
func runTags() []string {
	return slices.DeleteFunc(decide.Names(), func(tag string) bool {
		m, ok := metrics.Lookup(tag)
		return ok && m.PerRequest()
	})
}

// effects says what the plan's experiment asks for and cannot have: a setting
// without effect is never silent. Commands that AIPerf has warn of settings that it
// takes, too.
func (a *app) effects(command, file string, doc *schema.Document, plan *sweep.Plan, p *argv.Line) error {
	refuse, asAIPerf := !p.Has("lenient"), (command == "profile" || command == "config") && !p.Has("strict")
	idle := idleOf(doc, plan)
	bad := idle.Refused
	if p.Has("strict") {
		bad = append(bad, idle.Told...)
	} else {
		a.warnOf(idle.Told)
	}
	for _, found := range []struct {
		errs  schema.Errors
		known bool
	}{{idle.Ours, false}, {idle.Theirs, true}} {
		if !refuse || found.known && asAIPerf {
			a.warnOf(found.errs)
			continue
		}
		bad = append(bad, found.errs...)
	}
	a.warnOf(idle.Partly)
	flags := doc.Warnings()
	if len(flags) == 0 || !refuse || asAIPerf {
		a.warn(flags...)
		flags = nil
	}
	if bad = a.byFlags(command, file, bad, p); len(bad)+len(flags) == 0 {
		return nil
	}
	for _, f := range flags {
		bad = append(bad, diag.New(f, ""))
	}
	for _, e := range bad {
		if e.Hint == "" {
			e.Hint = "drop it, or --lenient warns of it instead"
		}
	}
	return bad
}

// byFlags warns of what a file says to an effect that flags have taken away, and
// leaves the rest: the file is right as it stands.
func (a *app) byFlags(command, file string, bad schema.Errors, p *argv.Line) schema.Errors {
	if file == "" || len(p.Assigns) == 0 || len(bad) == 0 {
		return bad
	}
	alone := *p
	alone.Assigns = nil
	doc, err := a.open(command, file, &alone)
	if err != nil {
		return bad
	}
	plan, err := sweep.Expand(doc)
	if err != nil {
		return bad
	}
	was := idleOf(doc, plan)
	mistakes := slices.Concat(was.Refused, was.Ours, was.Theirs)
	return slices.DeleteFunc(bad, func(e *schema.Error) bool {
		own := !e.Typed() && !slices.ContainsFunc(mistakes, func(m *schema.Error) bool {
			return m.Place == e.Place &&
				m.Path == e.Path
		})
		if own {
			a.warnOf(schema.Errors{e})
		}
		return own
	})
}

func idleOf(doc *schema.Document, plan *sweep.Plan) schema.Idle {
	cells := make([]*schema.Resolved, len(plan.Cells))
	for i, c := range plan.Cells {
		cells[i] = c.Resolved
	}
	idle := doc.Idle(cells)
	idle.Ours = append(idle.Ours, idleLimits(doc.Envelope(), cells)...)
	return idle
}

func (a *app) warnOf(errs schema.Errors) {
	for _, e := range errs {
		a.warn(e.Error())
	}
}

// supported refuses what is declared and not built yet.
func supported(doc *schema.Document) error {
	if es := doc.Unsupported(); len(es) > 0 {
		return es
	}
	return nil
}

func checkVerdictIDs(e schema.Experiment) error {
	ids := verdict.CheckIDs()
	known := map[string]bool{}
	for _, id := range ids {
		known[id] = true
	}
	var bad schema.Errors
	for _, id := range slices.Sorted(maps.Keys(e.Verdict)) {
		if !known[id] {
			hint := "aiperf checks --list names them"
			if s := schema.Suggest(id, ids); s != "" {
				hint = "did you mean " + s + "?"
			}
			bad = append(bad, &schema.Error{Path: "verdict." + id, Message: "unknown check", Hint: hint})
		}
	}
	if len(bad) > 0 {
		return bad
	}
	return nil
}

// idleLimits are limits of checks that judge none of the runs of cells.
func idleLimits(e schema.Experiment, cells []*schema.Resolved) (idle schema.Errors) {
	for _, id := range slices.Sorted(maps.Keys(e.Verdict)) {
		var why verdict.Of
		acts := slices.ContainsFunc(cells, func(c *schema.Resolved) bool {
			why = verdict.Idle(id, e, &c.Benchmark, len(cells))
			return why == ""
		})
		if !acts {
			idle = append(idle, &schema.Error{Path: "verdict." + id, Message: "has no effect" + string(why)})
		}
	}
	return idle
}

// planCheck looks at a plan before anything is sent; file is the experiment's own.
// Without a plan it looks at the parts of an experiment that has mistakes.
type planCheck func(doc *schema.Document, plan *sweep.Plan, file string) error

// runnable refuses what is not built yet, then what inputs refuses.
func runnable(inputs planCheck) planCheck {
	return func(doc *schema.Document, plan *sweep.Plan, file string) error {
		if err := supported(doc); err != nil {
			return err
		}
		return inputs(doc, plan, file)
	}
}

// expand loads and expands in one step, for the commands that need a plan. What the
// experiment names beside its body (gates, objectives, axes, checks) and what the
// command checks of the plan is refused in one round.
//
// An interrupt ends the wait for a file that gives nothing, as a pipe without a
// writer: no context reaches a read, so it is left behind, and the process ends.
func (a *app) expand(command, file string, p *argv.Line, checks ...planCheck) (*schema.Document, *sweep.Plan, error) {
	type expanded struct {
		doc  *schema.Document
		plan *sweep.Plan
		err  error
	}
	done := make(chan expanded, 1)
	go func() {
		doc, plan, err := a.expanded(command, file, p, checks...)
		done <- expanded{doc, plan, err}
	}()
	select {
	case x := <-done:
		return x.doc, x.plan, x.err
	case <-a.issue.Done():
		return nil, nil, context.Cause(a.issue)
	}
}

func (a *app) expanded(command, file string, p *argv.Line, checks ...planCheck) (*schema.Document, *sweep.Plan, error) {
	defer gclimit.Reading()()
	var bad diag.Errors
	add := func(err error) {
		var many diag.Errors
		if errors.As(err, &many) {
			bad = append(bad, many...)
		} else if err != nil {
			bad = append(bad, diag.Of(err))
		}
	}
	if err := a.readPipes(p); err != nil {
		return nil, nil, err
	}
	doc, err := a.read(command, file, p)
	if doc == nil {
		return nil, nil, err
	}
	var plan, checked *sweep.Plan // and whether its parts are looked at together
	if add(err); doc.Whole() {
		plan, err = sweep.Expand(doc)
		if add(err); err != nil {
			bad = append(bad, doc.Survey(bad...)...)
		} else {
			a.hide = plan.Hide()
			if err := a.effects(command, file, doc, plan, p); err != nil {
				add(err)
			} else if len(bad) == 0 {
				checked = plan
			}
			add(runner.DeclareMetrics(plan, file))
		}
	}
	add(checkVerdictIDs(doc.Envelope()))
	_, err = runner.Rules(doc.Envelope(), file)
	add(err)
	var endless *diag.Error
	if plan != nil {
		add(decide.CheckGates(plan, decide.Names()))
		endless = decide.Endless(plan)
	} else {
		add(decide.CheckNames(doc.Envelope(), doc.Sweep(), decide.Names()))
	}
	mayRun := command == "profile" && file == "" && !p.Has("strict")
	if endless != nil && !mayRun {
		add(endless)
	}
	for _, check := range checks {
		add(check(doc, checked, file))
	}
	if len(bad) > 0 {
		return nil, nil, refused(doc, bad)
	}
	a.warn(plan.Warnings...)
	a.warn(limitsInSeconds(plan)...)
	if endless != nil {
		a.warn("--convergence-metric has no effect: " + endless.Message)
	}
	return doc, plan, nil
}

// refused is what was found before anything was sent, with places; one mistake
// stands alone.
func refused(doc *schema.Document, bad diag.Errors) error {
	_ = runner.Located(doc, bad) // in place
	if bad = bad.Sorted(); len(bad) == 1 {
		return asUsage(bad[0])
	}
	return bad
}

// asUsage makes an error of an early station one of usage: nothing was sent yet.
func asUsage(err error) error {
	var many diag.Errors
	if err == nil || errors.As(err, &many) || errors.As(err, new(interrupt)) {
		return err
	}
	one := *diag.Of(err)
	one.Code = diag.Usage
	return &one
}

// fileError is the one line for a file that cannot be read.
func fileError(e *fs.PathError) error {
	hint := ""
	if errors.Is(e, fs.ErrNotExist) {
		hint = "aiperf config init > my.cue writes one to start from"
		if st, err := os.Stat(e.Path); err == nil && st.IsDir() {
			hint = "name a file"
		}
	}
	return diag.New(e.Path+": "+e.Err.Error(), hint)
}

// onlyFile is the one positional argument of commands that take an experiment.
func onlyFile(p *argv.Line, usage string) (string, error) {
	switch {
	case len(p.Words) > 1:
	case len(p.Words) == 1 && strings.TrimSpace(p.Words[0]) != "":
		return p.Words[0], nil
	default:
		what := "which experiment?"
		switch {
		case strings.Contains(usage, " DIR"):
			what = "which result directory?"
		case usage == "aiperf run FILE" && len(p.Assigns) > 0:
			usage += "; without a file: aiperf profile FLAGS"
		case len(p.Assigns) > 0:
			usage += "; without a file: aiperf profile FLAGS --dry-run"
		}
		return "", diag.New(what, usage)
	}
	return "", diag.New("one experiment at a time, got "+strings.Join(p.Words, " "),
		"write FILE before flags that take several values")
}

// wantJSON reads --output.
func wantJSON(p *argv.Line) (bool, error) {
	switch p.Get("output") {
	case "", "text":
		return false, nil
	case "json":
		return true, nil
	}
	return false, diag.New("--output: "+p.Get("output")+" is not one of text, json", "")
}
