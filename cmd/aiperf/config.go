package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/compat"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/nearby"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/report/preview"
)

// configCommand has the verbs of AIPerf's config and one of ours, convert.
func configCommand() command {
	return command{
		name: "config", usage: "init, validate, expand, convert or migrate a configuration file",
		help: `aiperf config init [TEMPLATE] prints a commented experiment to start from.
aiperf config validate FILE checks a file.
aiperf config expand FILE lists the variations of its sweep.
aiperf config convert FILE|COMMAND makes a file of flags, or CUE of YAML.
aiperf config migrate FILE brings a file to this program's version.
aiperf config env says what AIPerf's environment variables do.

  aiperf config init > my.cue
  aiperf config init --list
  aiperf config expand sweep.yaml --full --format json
  aiperf config convert profile -m demo --concurrency 1,2,4 > my.cue

aiperf config WORD --help tells more.`,
		subs: []command{initCommand, configValidateCommand, expandCommand, convertCommand, migrateCommand, envCommand},
		run:  func(*app, *argv.Line) error { return nil }, // never reached: below asks for a word
	}
}

var configValidateCommand = command{
	name: "config validate", usage: validateCommand.usage,
	help:  "aiperf config validate FILE is aiperf validate FILE: every cell is checked, nothing is sent.",
	flags: validateCommand.flags, settings: true,
	run: func(a *app, p *argv.Line) error { return validateCommand.run(a, p) },
}

var expandCommand = command{
	name: "config expand", usage: "list the variations of a sweep",
	help: `aiperf config expand FILE lists every variation of the sweep: index, directory, label.

  aiperf config expand sweep.yaml
  aiperf config expand sweep.yaml --full --format json    with whole bodies
  aiperf config expand sweep.yaml --index 3 --full        one of them`,
	flags: []argv.Switch{
		setFlag, exprFlag, tagFlag, pkgFlag, modFlag, lenient,
		{Name: "full", Short: "F", Doc: "print the whole body of each variation"},
		{Name: "index", Short: "i", Arg: "N", Doc: "only variation N"},
		{
			Name: "format", Short: "f", Arg: "FORMAT", Words: []string{"text", "json", "yaml"},
			Doc: "text (default), json or yaml",
		},
	},
	run: (*app).configExpand,
}

func (a *app) configExpand(p *argv.Line) error {
	file, err := onlyFile(p, "aiperf config expand FILE")
	if err != nil {
		return err
	}
	doc, plan, err := a.expand("config", file, p)
	if err != nil {
		return err
	}
	for _, e := range doc.Unsupported() {
		a.warn(e.Error())
	}
	var only *int
	if text := p.Get("index"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n >= len(plan.Cells) {
			return diag.New(fmt.Sprintf("--index: expected 0 to %d, got %s", len(plan.Cells)-1, text), "")
		}
		only = &n
	}
	d := preview.Expand(plan, only, p.Has("full"))
	switch p.Get("format") {
	case "", "text":
		return d.Print(a.Out)
	case "json":
		return a.writeDoc(d)
	case "yaml":
		return a.writeYAML(d)
	}
	return diag.New("--format: "+p.Get("format")+" is not one of text, json, yaml", "")
}

var initCommand = command{
	name: "config init", usage: "print an experiment to start from",
	help: `aiperf config init [TEMPLATE] prints a commented experiment to start from. It asks
nothing: an inference server that listens at a usual port of this machine is put
into it, with its model.

  aiperf config init > my.cue
  aiperf config init --list
  aiperf config init --search rate
  aiperf config init sweep -m Qwen/Qwen3-0.6B -u http://localhost:8000 -o my.cue`,
	flags: []argv.Switch{
		{Name: "template", Short: "t", Arg: "NAME", Doc: "which template, as the first word (default minimal)"},
		{Name: "list", Short: "l", Doc: "list the templates by category"},
		{Name: "search", Short: "s", Arg: "TEXT", Doc: "list the templates that have TEXT in them"},
		{Name: "category", Short: "c", Arg: "NAME", Doc: "list the templates of one category"},
		{Name: "verbose", Short: "v", Doc: "with a list: print the templates too"},
		{Name: "model", Short: "m", Arg: "NAME", Doc: "put this model into the template"},
		{Name: "url", Short: "u", Arg: "URL", Doc: "put this address into the template"},
		{Name: "no-server", Doc: "do not look for a server on this machine"},
		{Name: "output", Short: "o", Arg: "FILE", Doc: "write FILE, which must not exist yet"},
	},
	run: (*app).configInit,
}

func (a *app) configInit(p *argv.Line) error {
	all, err := compat.Templates()
	if err != nil {
		return err
	}
	if p.Has("list") || p.Has("search") || p.Has("category") {
		return a.listTemplates(all, p)
	}
	named := p.Words
	if p.Has("template") {
		named = append(named, p.Get("template"))
	}
	switch len(named) {
	case 0:
		named = []string{"minimal"}
	case 1:
	default:
		return diag.New("config init: one template at a time, got "+strings.Join(named, " "),
			"aiperf config init TEMPLATE")
	}
	t, err := compat.FindTemplate(all, named[0])
	if err != nil {
		return err
	}
	model, url := p.Get("model"), p.Get("url")
	if url == "" && !p.Has("no-server") && t.TakesServer() {
		model, url = a.nearby(model, nearby.Find(a.issue, nearby.Places()))
	}
	text, err := t.Fill(model, url)
	if err != nil {
		return err
	}
	if text, err = t.For(p.Get("output"), text); err != nil {
		return err
	}
	if err := a.writeNew(p.Get("output"), text); err != nil {
		return err
	}
	return a.schemaBeside(p.Get("output"))
}

// nearby chooses the model and the address for a template: those of the first
// server of this machine, if there is one, and says so.
func (a *app) nearby(model string, found []nearby.Server) (name, url string) {
	if len(found) == 0 {
		a.note("no server lists models at the usual ports of this machine: the file names the built-in one; --url and --model name another")
		return model, ""
	}
	s := found[0]
	said := fmt.Sprintf("a server at %s, where %s usually listens, lists %s", s.URL(), s.Usually,
		strings.Join(s.Models[:min(len(s.Models), 5)], ", "))
	if n := len(s.Models) - 5; n > 0 {
		said += fmt.Sprintf(" and %d more", n)
	}
	if model == "" {
		model = s.Models[0]
	}
	a.note(said + ": the file names it, with " + words.Line(model) + "; --url and --model choose others")
	for _, other := range found[1:] {
		a.note("another one: --url " + other.URL() + " --model " + other.Models[0])
	}
	return model, s.URL()
}

// schemaBeside writes the JSON Schema that the first lines of a template in YAML
// name, unless there is one.
func (a *app) schemaBeside(file string) error {
	ext := strings.ToLower(filepath.Ext(file))
	if ext != ".yaml" && ext != ".yml" {
		return nil
	}
	name, err := schema.WriteJSONSchema(filepath.Dir(file))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err := written(err); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "%s: written; editors check %s with it\n", name, file)
	return nil
}

// listTemplates prints the templates that search and category choose.
func (a *app) listTemplates(all []compat.Template, p *argv.Line) error {
	category, found := "", 0
	for _, t := range all {
		if p.Has("category") && !strings.EqualFold(t.Category, p.Get("category")) ||
			p.Has("search") && !strings.Contains(strings.ToLower(t.File+string(t.Text)),
				strings.ToLower(p.Get("search"))) {
			continue
		}
		found++
		if t.Category != category {
			category = t.Category
			fmt.Fprintln(a.Out, category)
		}
		printTwo(a.Out, t.File, t.Doc)
		if p.Has("verbose") {
			fmt.Fprintf(a.Out, "\n%s\n", t.Text)
		}
	}
	if found > 0 {
		return nil
	}
	e := diag.New("config init: no template has that", "aiperf config init --list shows all")
	if p.Has("category") {
		var names []string
		for _, t := range all {
			names = append(names, t.Category)
		}
		e = diag.New("config init: no category "+p.Get("category"),
			"categories: "+strings.Join(slices.Compact(names), ", "))
	}
	return e
}

// writeNew writes text to a file that does not exist yet, or to stdout.
func (a *app) writeNew(file string, text []byte) error {
	if file == "" {
		_, err := a.Out.Write(text)
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return diag.New(file+": exists already", "name another file, or remove it first")
	}
	var place *fs.PathError
	if errors.As(err, &place) {
		return fileError(place)
	}
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "%s: written; aiperf validate %s checks it\n", file, file)
	return nil
}

// writeYAML prints v with the names its JSON form has.
func (a *app) writeYAML(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var node yaml.Node // JSON is YAML; a node keeps the order of keys
	if err := yaml.Unmarshal(b, &node); err != nil {
		return err
	}
	block(&node)
	enc := yaml.NewEncoder(a.Out)
	enc.SetIndent(2)
	if err := enc.Encode(&node); err != nil {
		return err
	}
	return enc.Close()
}

// block turns JSON's flow style into YAML's block style.
func block(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		block(c)
	}
}
