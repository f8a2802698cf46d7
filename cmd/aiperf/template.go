package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/schema"
)

// templateFiles are experiments to start from. The first comment line of each
// is "category: what it is for"; "demo" and the first mock: address in it are
// what --model and --url replace.
//
//go:embed templates
var templateFiles embed.FS

var initCommand = command{
	name: "config init", usage: "print an experiment to start from",
	help: `aiperf config init [TEMPLATE] prints a commented experiment to start from.

  aiperf config init > my.cue
  aiperf config init --list
  aiperf config init --search rate
  aiperf config init sweep -m Qwen/Qwen3-0.6B -u http://localhost:8000 -o my.cue`,
	flags: []switchFlag{
		{Name: "template", Short: "t", Arg: "NAME", Doc: "which template, as the first word (default minimal)"},
		{Name: "list", Short: "l", Doc: "list the templates by category"},
		{Name: "search", Short: "s", Arg: "TEXT", Doc: "list the templates that have TEXT in them"},
		{Name: "category", Short: "c", Arg: "NAME", Doc: "list the templates of one category"},
		{Name: "verbose", Short: "v", Doc: "with a list: print the templates too"},
		{Name: "model", Short: "m", Arg: "NAME", Doc: "put this model into the template"},
		{Name: "url", Short: "u", Arg: "URL", Doc: "put this address into the template"},
		{Name: "output", Short: "o", Arg: "FILE", Doc: "write FILE, which must not exist yet"},
	},
	run: (*app).configInit,
}

// template is one file of templateFiles.
type template struct {
	file, category, doc string
	text                []byte
}

func (t template) name() string { return strings.TrimSuffix(t.file, path.Ext(t.file)) }

// templateNames are the files, sorted.
func templateNames() ([]string, error) {
	entries, err := fs.ReadDir(templateFiles, "templates")
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// templates are all of them, by category and name.
func templates() ([]template, error) {
	names, err := templateNames()
	if err != nil {
		return nil, err
	}
	var out []template
	for _, name := range names {
		t := template{file: name}
		if t.text, err = templateFiles.ReadFile(path.Join("templates", name)); err != nil {
			return nil, err
		}
		first, _, _ := strings.Cut(string(t.text), "\n")
		t.category, t.doc, _ = strings.Cut(strings.TrimLeft(first, "/# "), ": ")
		out = append(out, t)
	}
	slices.SortStableFunc(out, func(a, b template) int {
		return strings.Compare(a.category+"\x00"+a.file, b.category+"\x00"+b.file)
	})
	return out, nil
}

func (a *app) configInit(p *parsed) error {
	all, err := templates()
	if err != nil {
		return err
	}
	if p.has("list") || p.has("search") || p.has("category") {
		return a.listTemplates(all, p)
	}
	words := p.words
	if p.has("template") {
		words = append(words, p.get("template"))
	}
	switch len(words) {
	case 0:
		words = []string{"minimal"}
	case 1:
	default:
		return &usageError{"config init: one template at a time, got " + strings.Join(words, " "), "aiperf config init TEMPLATE"}
	}
	t, err := findTemplate(all, words[0])
	if err != nil {
		return err
	}
	text, err := t.fill(p.get("model"), p.get("url"))
	if err != nil {
		return err
	}
	return a.writeNew(p.get("output"), text)
}

// listTemplates prints the templates that search and category choose.
func (a *app) listTemplates(all []template, p *parsed) error {
	category, found := "", 0
	for _, t := range all {
		if p.has("category") && !strings.EqualFold(t.category, p.get("category")) ||
			p.has("search") && !strings.Contains(strings.ToLower(t.file+string(t.text)), strings.ToLower(p.get("search"))) {
			continue
		}
		found++
		if t.category != category {
			category = t.category
			fmt.Fprintln(a.Out, category)
		}
		printTwo(a.Out, t.file, t.doc)
		if p.has("verbose") {
			fmt.Fprintf(a.Out, "\n%s\n", t.text)
		}
	}
	if found > 0 {
		return nil
	}
	e := &usageError{"config init: no template has that", "aiperf config init --list shows all"}
	if p.has("category") {
		var names []string
		for _, t := range all {
			names = append(names, t.category)
		}
		e = &usageError{"config init: no category " + p.get("category"), "categories: " + strings.Join(slices.Compact(names), ", ")}
	}
	return e
}

// missingTemplates are AIPerf's that need what is not here, and the nearest of
// ours.
var missingTemplates = map[string]struct{ why, nearest string }{
	"trace-replay":      {"recorded traces are not supported yet", "fixed-schedule"},
	"gpu-telemetry":     {"GPU figures are not supported yet", ""},
	"multimodal-vision": {"images in prompts are not supported yet", ""},
	"audio-multimodal":  {"sound in prompts is not supported yet", ""},
	"public-dataset":    {"public data sets are not supported yet", "inline-dataset"},
	"user-files":        {"files of one's own in the results are not supported yet", ""},
	"sweep-with-plot":   {"plots are not drawn; tables of a sweep open in any notebook", "sweep"},
	"speed-bench-sweep": {"SPEED-Bench data sets are not supported yet", "sweep"},
}

func findTemplate(all []template, name string) (template, error) {
	var names []string
	wanted := strings.TrimSuffix(strings.TrimSuffix(strings.ReplaceAll(name, "_", "-"), ".yaml"), ".cue")
	for _, t := range all {
		if t.name() == wanted {
			return t, nil
		}
		names = append(names, t.name())
	}
	if m, ok := missingTemplates[wanted]; ok {
		hint := "aiperf config init --list shows what there is"
		if m.nearest != "" {
			hint = "aiperf config init " + m.nearest + " comes nearest"
		}
		return template{}, &usageError{"config init: no template " + wanted + ": " + m.why, hint}
	}
	e := &usageError{fmt.Sprintf("config init: no template %q", name), "aiperf config init --list shows them"}
	if s := schema.Suggest(wanted, names); s != "" {
		e.hint = "did you mean " + s + "?"
	}
	return template{}, e
}

// fill puts model and url in place of the template's own. A quoted JSON string
// is the same in CUE and YAML.
func (t template) fill(model, url string) ([]byte, error) {
	text := t.text
	for _, s := range []struct{ flag, key, value string }{{"--model", "model: ", model}, {"--url", "url: ", url}} {
		if s.value == "" {
			continue
		}
		out, ok := replaceValue(text, s.key, s.value)
		if !ok {
			return nil, &usageError{"config init: " + s.flag + ": the template " + t.name() + " has several", "edit the file"}
		}
		text = out
	}
	return text, nil
}

// replaceValue puts value after the key, which must stand in text once.
func replaceValue(text []byte, key, value string) ([]byte, bool) {
	if bytes.Count(text, []byte(key)) != 1 {
		return nil, false
	}
	i := bytes.Index(text, []byte(key)) + len(key)
	for text[i] == ' ' { // values are aligned
		i++
	}
	rest := text[i:]
	end := bytes.IndexAny(rest, ",}\n#")
	if rest[0] == '"' {
		end = bytes.IndexByte(rest[1:], '"') + 2
	}
	for end > 0 && rest[end-1] == ' ' {
		end--
	}
	return slices.Concat(text[:i], []byte(strconv.Quote(value)), rest[end:]), true
}

// writeNew writes text to a file that does not exist yet, or to stdout.
func (a *app) writeNew(file string, text []byte) error {
	if file == "" {
		_, err := a.Out.Write(text)
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return &usageError{file + ": exists already", "name another file, or remove it first"}
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
