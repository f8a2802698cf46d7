package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/bundle"
	"aiperf.dev/aiperf/sinks/report"
	readback "aiperf.dev/aiperf/sinks/results"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

var rerunCommand = command{
	name: "rerun", usage: "measure a sealed plan on another server, and say whether it reproduces", minor: true,
	help: `aiperf rerun FILE -u URL carries out the plan of a sealed result: the same
cells, trials, order and seeds, and so the same requests. It ends in a
comparison with the sealed figures: REPRODUCED, NOT REPRODUCED or UNDECIDED.

  aiperf rerun result.aiperf -u http://localhost:8000
  aiperf rerun result.aiperf -u host:8000 --api-key KEY --margin 0.03
  aiperf rerun result.aiperf -u host:8000 --data traces/monday.jsonl

Only where and how the server is reached may differ: its address, credentials,
model and tokenizer. A bundle has no secrets, and no data sets: files that
requests were made of must be here, with the digest that is sealed.
Exit code 0: REPRODUCED; 3: NOT REPRODUCED; 4: UNDECIDED; 1 and 2: not measured.`,
	flags: []argv.Switch{
		{Name: "data", Arg: "FILE", Many: true, Doc: "a data set that the sealed plan needs; without it, one of that name here"},
		{Name: "margin", Arg: "SHARE", Doc: "smallest change that counts (default 0.05, and 0.15 from p95 on)"},
		{
			Name: "share-margin", Arg: "SHARE",
			Doc: "smallest change of a share that counts: errors, good requests (default 0.01, which is 1 point)",
		},
		progressFlag, lenient,
	},
	settings: true,
	run: func(a *app, p *argv.Line) error {
		file, err := onlyFile(p, "aiperf rerun FILE -u URL")
		if err != nil {
			return err
		}
		terms, err := compareTerms(p)
		if err != nil {
			return err
		}
		if err := onlyTheWay(p); err != nil {
			return err
		}
		o, err := bundle.Unpack(file, "")
		if err != nil {
			return err
		}
		defer o.Close()
		dir, err := a.rerun(file, o, p)
		if err != nil {
			return err
		}
		return a.reproduced(file, o.Dir, dir, terms)
	},
}

// theWay are the settings that may differ from the sealed ones: they say where requests go.
var theWay = []string{
	"benchmark.endpoint.urls", "benchmark.endpoint.api_key", "benchmark.endpoint.headers", "benchmark.endpoint.insecure",
	"benchmark.models", "benchmark.model", "benchmark.tokenizer", "benchmark.artifacts.dir", "benchmark.runtime.ui",
}

// onlyTheWay refuses settings that make another plan of it, and asks for a server.
func onlyTheWay(p *argv.Line) error {
	url := false
	for _, as := range p.Assigns {
		url = url || as.Path == "benchmark.endpoint.urls"
		within := func(w string) bool { return as.Path == w || strings.HasPrefix(as.Path, w+".") }
		if !slices.ContainsFunc(theWay, within) {
			name := strings.TrimPrefix(as.Path, "benchmark.")
			return diag.New(name+": a rerun measures the sealed plan, and this would be another one",
				"aiperf verify FILE --unpack DIR gives the experiment, to run with other settings")
		}
	}
	if !url {
		return diag.New("rerun: on which server?", "aiperf rerun FILE -u http://localhost:8000")
	}
	return nil
}

// rerun carries out the sealed plan and gives the directory of its results.
func (a *app) rerun(file string, o *bundle.Opened, p *argv.Line) (string, error) {
	b := &body{file: file, assigns: p.Assigns}
	if err := b.findData(o.Inputs(), p.Values["data"]); err != nil {
		return "", err
	}
	load := func(experiment string) (*schema.Document, error) {
		return schema.Load(schema.Source{
			File: experiment, Command: "run", Assignments: p.Assigns, Tags: decide.Names(), RunTags: runTags(),
			Look: lookAt,
		})
	}
	plan, doc, err := runner.Restore(o.Dir, b.change, load)
	if err != nil {
		return "", err
	}
	if len(plan.Runs) == 0 {
		return "", diag.New(file+": a search chooses its runs as it goes, so its plan cannot be run again",
			"aiperf verify "+file+" --unpack DIR gives the experiment, to search again")
	}
	a.hide = plan.Hide()
	a.note(b.notes...)
	if err := runner.Inputs(doc, plan, ""); err != nil {
		return "", err
	}
	opt, err := a.rerunOptions(file, doc, plan, p)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(a.Err, "aiperf: measures the plan of %s again, in %s: %s\n", file, words.Line(opt.Dir),
		words.Count(len(plan.Runs), "run"))
	end := a.showProgress(doc, plan, p, &opt)
	opt.Say = func(line string) { a.note(line) }
	result, err := runner.Run(a.issue, a.hard, plan, opt)
	end()
	if err != nil {
		return "", measureError(err)
	}
	if code := result.ExitCode(); code == diag.Failed || code == diag.Interrupted || code == diag.Usage {
		if err := a.report(result, false, &console{w: a.Out, ours: true}); err != nil {
			return "", err
		}
		return "", exit(code)
	}
	return opt.Dir, nil
}

// rerunOptions say where the results go.
func (a *app) rerunOptions(file string, doc *schema.Document, plan *sweep.Plan, p *argv.Line) (runner.Options, error) {
	exe, err := self()
	if err != nil {
		return runner.Options{}, err
	}
	opt := runner.Options{
		Exe: exe, Version: version, CommandLine: argv.Masked("rerun", os.Args, schema.Options()), Page: true,
		AllowInvalid: plan.Experiment.AllowInvalid, SourceName: "",
	}
	named := slices.ContainsFunc(p.Assigns, func(as schema.Assignment) bool { return as.Path == "benchmark.artifacts.dir" })
	if opt.Dir = plan.Cells[0].Resolved.Benchmark.Artifacts.Dir; !named || opt.Dir == "" {
		name := "rerun-" + cmp.Or(sweep.FolderName(plan.Name), sweep.FolderName(filepath.Base(file)))
		opt.Dir = unused(filepath.Join("results", name+"-"+time.Now().UTC().Format("20060102T150405Z")))
		opt.Latest = filepath.Join("results", "latest")
	}
	var origins strings.Builder
	if err := doc.Explain(&origins, 0); err != nil {
		return opt, err
	}
	opt.Origins = strings.Split(strings.TrimSpace(origins.String()), "\n")
	return opt, nil
}

// body prepares the sealed bodies of cells for another machine.
type body struct {
	file    string
	assigns []schema.Assignment
	data    map[string]string // path as sealed → the file here
	urls    string            // that all cells have, as sealed
	notes   []string
}

// findData finds the files that requests are made of by their digests.
func (b *body) findData(inputs map[string]string, given []string) error {
	b.data = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		for _, at := range append(slices.Clone(given), name, filepath.Base(name)) {
			if b.data[name] == "" && resultdir.DigestBelow(at) == inputs[name] && inputs[name] != "" {
				abs, err := filepath.Abs(at)
				if err != nil {
					return err
				}
				b.data[name] = abs
			}
		}
		if b.data[name] == "" {
			return diag.New(fmt.Sprintf("%s: needs %s, which is not here with the digest that is sealed (SHA-256 %.12s…)", b.file,
				name, inputs[name]), "--data FILE names it, wherever it lies")
		}
	}
	return nil
}

// given reports whether the command line says a setting, or something in it.
func (b *body) given(path string) bool {
	return slices.ContainsFunc(b.assigns, func(as schema.Assignment) bool {
		return as.Path == path || strings.HasPrefix(as.Path, path+".")
	})
}

// change takes out of a body what was secret or of the other machine, and puts in where data lie.
func (b *body) change(tree map[string]any) error {
	e, _ := tree["endpoint"].(map[string]any)
	urls := fmt.Sprint(e["urls"])
	if b.urls != "" && urls != b.urls {
		return diag.New(b.file+": its cells compare several servers, and a rerun measures one",
			"aiperf verify "+b.file+" --unpack DIR gives the experiment, to run with your servers")
	}
	b.urls = urls
	if secret.Masked(e["api_key"]) {
		delete(e, "api_key")
		if !b.given("benchmark.endpoint.api_key") {
			b.note("the sealed runs sent an API key, which is not in the bundle: --api-key KEY sends yours")
		}
	}
	headers, _ := e["headers"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if secret.Masked(headers[name]) {
			delete(headers, name)
			b.note(fmt.Sprintf("the sealed runs sent the header %s, whose value is not in the bundle: --header '%s: VALUE' sends yours", name, name))
		}
	}
	if artifacts, ok := tree["artifacts"].(map[string]any); ok {
		delete(artifacts, "dir")
	}
	for _, name := range []string{"server_metrics", "gpu_telemetry"} { // pages of the other machine
		if pages, ok := tree[name].(map[string]any); ok {
			delete(pages, "urls")
		}
	}
	for _, name := range []string{"otel", "mlflow", "wandb", "logging"} {
		delete(tree, name)
	}
	sets, _ := tree["datasets"].([]any)
	for _, s := range sets {
		if set, ok := s.(map[string]any); ok {
			if at, found := b.data[fmt.Sprint(set["path"])]; found {
				set["path"] = at
			}
		}
	}
	return nil
}

func (b *body) note(line string) {
	if !slices.Contains(b.notes, line) {
		b.notes = append(b.notes, line)
	}
}

// reproduced compares the results of a rerun with the sealed ones.
func (a *app) reproduced(file, sealed, dir string, terms decide.Terms) error {
	x, y, err := readback.Two(sealed, dir)
	if err != nil {
		return err
	}
	x.Name, y.Name = filepath.Base(file), dir
	unlike := readback.Unlike(x, y)
	if err := readback.Refuse(x, y, unlike); err != nil {
		return err
	}
	terms.Invalid = x.AllowInvalid && y.AllowInvalid
	c, err := decide.Compare(x.Arm, y.Arm, terms)
	if err != nil {
		return err
	}
	c.Commands[1] = c.Commands[0] // a rerun has the trials that are sealed, so that only the first can have more
	word, code := decide.Reproduction(c)
	fmt.Fprintf(a.Out, "%s: %s\n", word, a.reproduction(c, word, sealed, dir))
	if err := report.Beside(c, unlike).WriteConsole(a.Out, report.Screen{
		Width: screenWidth(a.Out), Terminal: widthOf(a.Out) > 0,
	}); err != nil {
		return err
	}
	if code == diag.Invalid && c.Commands[0] != "" {
		fmt.Fprintf(a.Out, "then seal its result and rerun that:\n  aiperf bundle DIR -o more.aiperf\n  %s\n",
			strings.NewReplacer("'"+file+"'", "more.aiperf", file, "more.aiperf").
				Replace(argv.Masked("rerun", os.Args, schema.Options())))
	}
	if code != diag.OK {
		return exit(code)
	}
	return nil
}

// reproduction says in words what the answer rests on.
func (a *app) reproduction(c *decide.Comparison, word, sealed, dir string) string {
	was, is := bundle.Data(sealed), bundle.Data(dir)
	alike := 0
	for run, sum := range was {
		if is[run] == sum {
			alike++
		}
	}
	said := fmt.Sprintf("%s compared in %s", words.Count(len(c.Primary()), "figure"), words.Count(len(was), "run"))
	if word == decide.Reproduced {
		widest := 0.0
		for _, r := range c.Primary() {
			widest = max(widest, r.Margin)
		}
		said += fmt.Sprintf(", each within its margin (at most ±%.4g %%)", 100*widest)
	}
	if alike == len(was) {
		return said + "; the requests are those that were sealed"
	}
	return said + fmt.Sprintf("; %d of %d runs have other requests: another tokenizer, or another version of aiperf", len(was)-alike,
		len(was))
}
