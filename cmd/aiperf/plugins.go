package main

import (
	"fmt"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
)

// kindOfPart is a catalogue of the program: what AIPerf calls a plugin category.
type kindOfPart struct {
	name  string
	doc   string
	parts func() [][2]string // name and what it is
}

func kindsOfParts() []kindOfPart {
	return []kindOfPart{
		{"endpoint", "inference APIs: endpoint.type", func() (out [][2]string) {
			for _, s := range endpoint.Catalogue() {
				doc := s.Path
				if s.CanStream {
					doc = strings.TrimPrefix(doc+", can stream", ", ") // some have no path of their own
				}
				out = append(out, [2]string{s.Type, doc})
			}
			return out
		}},
		{
			"custom-dataset-loader", "formats of dataset files: dataset.format",
			func() [][2]string { return named(format.Formats()) },
		},
		{
			"arrival-pattern", "how gaps between requests are drawn: --arrival-pattern",
			func() [][2]string { return named(choices("arrival-pattern")) },
		},
		{"metric", "tags for slos, gates and tables", func() (out [][2]string) {
			for _, m := range metrics.Catalogue() {
				out = append(out, [2]string{m.Tag, strings.TrimSuffix(m.Header+" ("+m.Unit+")", " ()")})
			}
			return out
		}},
		{
			"data-exporter", "formats of the tables: tables.formats",
			func() [][2]string { return named(sinks.Formats()) },
		},
		{"analyzer", "checks behind the verdict: verdict.ID", verdict.Describe},
	}
}

func named(names []string) [][2]string {
	out := make([][2]string, len(names))
	for i, n := range names {
		out[i][0] = n
	}
	return out
}

// choices are the words a flag takes.
func choices(flag string) []string {
	for _, o := range schema.Options() {
		if o.Names[0] == flag {
			return o.Enum
		}
	}
	return nil
}

var pluginsCommand = command{
	minor: true, name: "plugins", usage: "list the built-in endpoints, formats, metrics and checks",
	help: `aiperf plugins [CATEGORY [NAME]] lists the parts of the program. They are built
in: there is nothing to install or to register.

  aiperf plugins
  aiperf plugins endpoint
  aiperf plugins metric time_to_first_token`,
	flags: []argv.Switch{
		{Name: "category", Arg: "CATEGORY", Doc: "the category, as the first word"},
		{Name: "name", Arg: "NAME", Doc: "one part of it, as the second word"},
		{Name: "all", Short: "a", Doc: "list the parts of every category"},
		{Name: "validate", Short: "v", Doc: "accepted as in AIPerf; has no effect"},
		{Name: "no-validate", Doc: "the same"},
	},
	run: func(a *app, p *argv.Line) error {
		words := p.Words
		for _, name := range []string{"category", "name"} {
			if p.Has(name) {
				words = append(words, p.Get(name))
			}
		}
		if len(words) > 2 {
			return diag.New("plugins: unexpected "+words[2], "aiperf plugins [CATEGORY [NAME]]")
		}
		return a.plugins(words, p.Has("all"))
	},
}

func (a *app) plugins(words []string, all bool) error {
	var names []string
	for _, k := range kindsOfParts() {
		names = append(names, k.name)
		switch {
		case len(words) == 0:
			printTwo(a.Out, k.name, k.doc)
			if all {
				a.parts(k.parts())
			}
		case strings.ReplaceAll(words[0], "_", "-") == k.name:
			if len(words) == 2 {
				return a.part(k, words[1])
			}
			a.parts(k.parts())
			return nil
		}
	}
	if len(words) == 0 {
		return nil
	}
	hint := "categories: " + strings.Join(names, ", ")
	if s := schema.Suggest(words[0], names); s != "" {
		hint = "did you mean " + s + "?"
	}
	return diag.New("plugins: no category "+words[0], hint)
}

func (a *app) parts(rows [][2]string) {
	for _, r := range rows {
		words.TwoColumns(a.Out, "    "+r[0], r[1], 44)
	}
}

func (a *app) part(k kindOfPart, name string) error {
	var names []string
	for _, r := range k.parts() {
		if r[0] == name {
			fmt.Fprintln(a.Out, strings.TrimSuffix(r[0]+": "+r[1], ": "))
			return nil
		}
		names = append(names, r[0])
	}
	hint := "aiperf plugins " + k.name + " lists them"
	if s := schema.Suggest(name, names); s != "" {
		hint = "did you mean " + s + "?"
	}
	return diag.New("plugins: no "+k.name+" is called "+name, hint)
}
