package main

import (
	"fmt"
	"strconv"
)

var configCommand = command{
	name: "config", usage: "init, validate or expand a configuration file, as AIPerf does",
	help: `aiperf config init [TEMPLATE] prints a commented experiment to start from.
aiperf config validate FILE checks a file.
aiperf config expand FILE lists the variations of its sweep.

  aiperf config init > my.cue
  aiperf config init --list
  aiperf config expand sweep.yaml --full --format json`,
	flags: []switchFlag{
		setFlag, lenient,
		{Name: "list", Short: "l", Doc: "init: list the templates"},
		{Name: "template", Short: "t", Arg: "NAME", Doc: "init: which template"},
		{Name: "full", Short: "F", Doc: "expand: print the whole body of each variation"},
		{Name: "index", Short: "i", Arg: "N", Doc: "expand: only variation N"},
		{Name: "format", Short: "f", Arg: "FORMAT", Doc: "expand: text (default), json or yaml"},
	},
	run: func(a *app, p *parsed) error {
		verb := ""
		if len(p.words) > 0 {
			verb, p.words = p.words[0], p.words[1:]
		}
		switch verb {
		case "init":
			return a.configInit(p)
		case "validate":
			return validateCommand.run(a, p)
		case "expand":
			return a.configExpand(p)
		case "":
			return &usageError{"config: what?", "aiperf config init, validate FILE or expand FILE"}
		}
		return &usageError{"config: unknown word " + verb, "aiperf config init, validate FILE or expand FILE"}
	},
}

func (a *app) configExpand(p *parsed) error {
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
	if text := p.get("index"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n >= len(plan.Cells) {
			return &usageError{fmt.Sprintf("--index: expected 0 to %d, got %s", len(plan.Cells)-1, text), ""}
		}
		only = &n
	}
	d := expanded(plan, only, p.has("full"))
	switch p.get("format") {
	case "", "text":
		return a.printVariations(d)
	case "json":
		return a.writeDoc(d)
	case "yaml":
		return a.writeYAML(d)
	}
	return &usageError{"--format: " + p.get("format") + " is not one of text, json, yaml", ""}
}
