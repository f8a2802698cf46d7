package glossary

import (
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diagnose"
	"aiperf.dev/aiperf/internal/suggest"
)

// fact is a number that aiperf diagnose asks for.
func fact(name string) ([][]Line, error) {
	name = suggest.Fold(name)
	for _, f := range diagnose.Facts() {
		if f.Name != name {
			continue
		}
		lines := []Line{{f.Name, f.Doc}, {"fact of", "aiperf diagnose"}}
		if f.Unit != "" {
			lines = append(lines, Line{"unit", f.Unit})
		}
		if f.Lacking != "" {
			lines = append(lines, Line{"if unknown", f.Lacking})
		}
		return [][]Line{lines}, nil
	}
	return nil, unknown("fact", name, suggest.Nearest(name, factNames()))
}

func factNames() (names []string) {
	for _, f := range diagnose.Facts() {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// finding is what aiperf diagnose may say that limits a server.
func finding(name string) ([][]Line, error) {
	name = suggest.Fold(name)
	rules, _ := diagnose.Catalogues()
	for _, r := range rules {
		if plain(r[0]) != name {
			continue
		}
		labels := []string{plain(r[0]), "where", "certainty", "next"}
		lines := []Line{{labels[0], r[1]}, {"finding of", "aiperf diagnose"}}
		for i, text := range r[2:] {
			lines = append(lines, Line{labels[i+1], text})
		}
		return [][]Line{lines}, nil
	}
	return nil, unknown("finding", name, suggest.Nearest(name, findingNames()))
}

func findingNames() (names []string) {
	for _, r := range diagnose.Rules() {
		names = append(names, strings.TrimSpace(r.Name))
	}
	slices.Sort(names)
	return names
}
