package main

import (
	"fmt"
	"strconv"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
)

// configCommand has the verbs of AIPerf's config and one of ours, convert.
func configCommand() command {
	return command{
		name: "config", usage: "init, validate, expand or convert a configuration file",
		help: `aiperf config init [TEMPLATE] prints a commented experiment to start from.
aiperf config validate FILE checks a file.
aiperf config expand FILE lists the variations of its sweep.
aiperf config convert FILE|COMMAND makes a file of flags, or CUE of YAML.

  aiperf config init > my.cue
  aiperf config init --list
  aiperf config expand sweep.yaml --full --format json
  aiperf config convert profile -m demo --concurrency 1,2,4 > my.cue

aiperf config WORD --help tells more.`,
		subs: []command{initCommand, configValidateCommand, expandCommand, convertCommand},
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
		setFlag, exprFlag, tagFlag, pkgFlag, lenient,
		{Name: "full", Short: "F", Doc: "print the whole body of each variation"},
		{Name: "index", Short: "i", Arg: "N", Doc: "only variation N"},
		{Name: "format", Short: "f", Arg: "FORMAT", Words: []string{"text", "json", "yaml"}, Doc: "text (default), json or yaml"},
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
	d := expanded(plan, only, p.Has("full"))
	switch p.Get("format") {
	case "", "text":
		return a.printVariations(d)
	case "json":
		return a.writeDoc(d)
	case "yaml":
		return a.writeYAML(d)
	}
	return diag.New("--format: "+p.Get("format")+" is not one of text, json, yaml", "")
}
