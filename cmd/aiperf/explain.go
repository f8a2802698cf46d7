package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/glossary"
	"aiperf.dev/aiperf/internal/plugin"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/sinks/importer"
)

var explainCommand = command{
	name: "explain", usage: "print every resolved value and where it came from",
	help: `aiperf explain FILE [PATH…] prints path, value and origin of each setting.
aiperf explain metric|check|setting|term|column|fact|finding [NAME] shows what a
word means; aiperf help WORD looks in all of them.

  aiperf explain sweep.cue
  aiperf explain sweep.cue phases endpoint.timeout
  aiperf explain results/latest            what was measured, flags included
  aiperf explain metric ttft
  aiperf explain metric ttft --in vllm     what another client means by it
  aiperf explain metric plugins/slowness   the metrics of a plug-in
  aiperf explain check littles_law
  aiperf explain setting request-rate

The origin is a place in a file, a flag, the environment, or the reason for a
default; on a narrow terminal it is on the next line. Secrets are masked.`,
	flags: []argv.Switch{
		setFlag, exprFlag, tagFlag, pkgFlag, modFlag, lenient,
		{Name: "in", Arg: "TOOL", Words: importer.Tools(), Doc: "with metric: as this benchmark client defines it"},
	},
	settings: true,
	words: func(before []string) []string {
		if len(before) == 0 {
			return nil // an experiment's file, most of the time
		}
		if kind, ok := glossary.Find(before[0]); ok {
			return kind.Names()
		}
		return nil
	},
	run: func(a *app, p *argv.Line) error {
		if len(p.Words) == 0 {
			return diag.New("which experiment?",
				"aiperf explain FILE [PATH…], or aiperf help WORD")
		}
		if kind, ok := glossary.Find(p.Words[0]); ok {
			if tool := p.Get("in"); tool != "" {
				return a.explainIn(kind, p.Words[1:], tool)
			}
			return a.explainWords(kind, p.Words[1:])
		}
		if p.Has("in") {
			return diag.New("--in: goes with a metric", "aiperf explain metric ttft --in "+p.Get("in"))
		}
		if dir := a.resultsIn(p.Words[0]); isDir(dir) && holdsResults(dir) {
			return a.explainResult(dir, p)
		}
		doc, err := a.load("explain", p.Words[0], p)
		if err != nil {
			return err
		}
		return doc.Explain(a.Out, widthOf(a.Out), p.Words[1:]...)
	},
}

// explainResult prints the settings that a result was measured with, flags included: what
// the copy of its file alone would give is another experiment.
func (a *app) explainResult(dir string, p *argv.Line) error {
	if len(p.Assigns) > 0 {
		return diag.New(dir+": was measured already", "flags change an experiment: aiperf explain "+
			filepath.Join(dir, resultdir.SourceName+".cue")+" FLAGS")
	}
	b, err := os.ReadFile(filepath.Join(dir, resultdir.ResolvedName))
	if err != nil {
		return asUsage(err)
	}
	var kept struct{ Origins []string }
	if err := json.Unmarshal(b, &kept); err != nil {
		return diag.New(filepath.Join(dir, resultdir.ResolvedName)+": "+err.Error(), "aiperf validate "+dir)
	}
	for i, want := range p.Words[1:] {
		path := fields.Canonical(want)
		if !slices.ContainsFunc(kept.Origins, func(line string) bool { return settingIn(line, path) }) {
			return diag.New(want+": is not set in "+dir, "aiperf explain "+dir+" lists what is")
		}
		p.Words[i+1] = path
	}
	for _, line := range kept.Origins {
		if len(p.Words) == 1 || slices.ContainsFunc(p.Words[1:],
			func(path string) bool { return settingIn(line, path) }) {
			fmt.Fprintln(a.Out, line)
		}
	}
	return nil
}

// settingIn reports whether a line of explain is about path, or something in it.
func settingIn(line, path string) bool {
	name, _, _ := strings.Cut(line, " ")
	return name == path || strings.HasPrefix(name, path+".")
}

// explainWords prints what each of names means, or which names there are.
func (a *app) explainWords(kind glossary.Kind, names []string) error {
	if kind.Name == "metric" {
		names = withPlugins(names)
	}
	if len(names) == 0 {
		for _, n := range kind.Names() {
			fmt.Fprintln(a.Out, n)
		}
		return nil
	}
	var entries [][]glossary.Line
	for _, n := range names {
		found, err := kind.Explain(n)
		if err != nil {
			return err
		}
		entries = append(entries, found...)
	}
	for i, entry := range entries {
		if i > 0 {
			fmt.Fprintln(a.Out)
		}
		for _, l := range entry {
			printTwo(a.Out, l.Label, l.Text)
		}
	}
	return nil
}

// explainIn prints what another client means by each of names, which may be its own or
// ours; all of its metrics where none is named.
func (a *app) explainIn(kind glossary.Kind, names []string, tool string) error {
	if kind.Name != "metric" {
		return diag.New("--in: goes with a metric", "aiperf explain metric ttft --in "+tool)
	}
	rows, err := importer.Explain(tool, names)
	if err != nil {
		return err
	}
	for i, d := range rows {
		if i > 0 {
			fmt.Fprintln(a.Out)
		}
		for _, l := range d.Lines() {
			printTwo(a.Out, l[0], l[1])
		}
	}
	return nil
}

// withPlugins makes the metrics of plug-ins known: of those in the usual folder, and of one
// that is named by its folder, in whose place its metrics come.
func withPlugins(names []string) (out []string) {
	for _, f := range plugin.Find(usualPlugins) {
		if f.Err == nil {
			_ = runner.Declare(f.Manifest) // what is wrong with it, aiperf plugins says
		}
	}
	for _, name := range names {
		m, err := plugin.OpenAs(plugin.Metric.Name, name)
		if err != nil || runner.Declare(m) != nil {
			out = append(out, name)
			continue
		}
		for _, f := range m.Metrics {
			out = append(out, f.Name)
		}
	}
	return out
}

var listCommand = command{
	name: "list", usage: "name the experiments in a CUE package", minor: true,
	help: `aiperf list DIR names the experiments in a CUE package, as -e takes them. For a
file that is an experiment it prints the file's name.

  aiperf list examples/experiments/team
  aiperf run examples/experiments/team -e experiments.smoke`,
	flags: []argv.Switch{tagFlag, pkgFlag, modFlag},
	run: func(a *app, p *argv.Line) error {
		name, err := onlyFile(p, "aiperf list DIR")
		if err != nil {
			return err
		}
		found, note, err := schema.Experiments(name, a.selection(p))
		if err != nil {
			return err
		}
		if note != "" {
			a.warn(note)
		}
		if len(found) == 0 {
			return &diag.Error{
				Message: name + ": no experiment here",
				Hint:    "an experiment is a value with benchmark: schema.#Experiment & {…}",
			}
		}
		for _, expr := range found {
			if expr == "" {
				a.note(name + " is an experiment itself: it needs no -e")
				expr = name
			}
			fmt.Fprintln(a.Out, expr)
		}
		return nil
	},
}
