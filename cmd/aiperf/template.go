package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/schema"
)

// templates are experiments to start from; the first comment line of each says
// what it is for.
//
//go:embed templates
var templates embed.FS

// configInit prints a template, minimal.cue when none is named.
func (a *app) configInit(p *parsed) error {
	names, err := templateNames()
	if err != nil {
		return err
	}
	if p.has("list") {
		for _, n := range names {
			b, err := templates.ReadFile(path.Join("templates", n))
			if err != nil {
				return err
			}
			first, _, _ := strings.Cut(string(b), "\n")
			printTwo(a.Out, n, strings.TrimLeft(first, "/# "))
		}
		return nil
	}
	name := p.get("template")
	if name == "" && len(p.words) > 0 {
		name = p.words[0]
	}
	if name == "" {
		name = "minimal.cue"
	}
	for _, n := range names {
		if n == name || strings.TrimSuffix(n, path.Ext(n)) == name {
			b, err := templates.ReadFile(path.Join("templates", n))
			if err != nil {
				return err
			}
			_, err = a.Out.Write(b)
			return err
		}
	}
	e := &usageError{fmt.Sprintf("config init: no template %q", name), "aiperf config init --list shows them"}
	if s := schema.Suggest(name, names); s != "" {
		e.hint = "did you mean " + s + "?"
	}
	return e
}

func templateNames() ([]string, error) {
	entries, err := fs.ReadDir(templates, "templates")
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names, err
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
