package importer

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	says "aiperf.dev/aiperf/internal/words"
)

// Relation says how a tool's metric relates to the metric of ours that is nearest to it.
type Relation string

// The relations.
const (
	Equal         Relation = "equal"          // the same from the same answer
	Convertible   Relation = "convertible"    // by a formula, or within a bound that is stated
	NotComparable Relation = "not comparable" // what separates them depends on the server, and no file says by how much
)

// Definition is a row of the matrix: what a tool means by one of its metrics.
type Definition struct {
	Tool     string
	Since    string // the first version that means this; "" for all before the next row
	When     string // a setting under which it does: "endpoint=chat"; "" for any
	Metric   string // as the tool calls it; "*" for every other one
	Ours     string // tag of the nearest metric here; "-" for none
	Relation Relation
	Factor   float64 // of the unit: theirs × Factor is in our unit
	Theirs   string  // how the tool computes it
	Relates  string  // how that relates to ours: a formula, a bound, or why neither is possible
	Case     string  // the hand-computed case that holds the row
}

//go:embed definitions.tsv
var definitionsText string

// Matrix is every definition, in the order of the file.
var Matrix = sync.OnceValue(func() []Definition {
	all, err := parseMatrix(definitionsText)
	if err != nil {
		panic("definitions.tsv: " + err.Error())
	}
	return all
})

// matrixColumns heads the file.
const matrixColumns = "tool\tsince\twhen\tmetric\tours\trelation\tfactor\ttheirs\trelates\tcase"

func parseMatrix(text string) (all []Definition, err error) {
	for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		cells := strings.Split(line, "\t")
		switch {
		case n == 0 && line != matrixColumns:
			return nil, fmt.Errorf("line 1: want the columns %q", matrixColumns)
		case n == 0 || line == "":
			continue
		case len(cells) != 10:
			return nil, fmt.Errorf("line %d: %d columns, want 10", n+1, len(cells))
		}
		factor, err := strconv.ParseFloat(cells[6], 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: factor %q", n+1, cells[6])
		}
		all = append(all, Definition{
			cells[0], cells[1], cells[2], cells[3], cells[4], Relation(cells[5]), factor, cells[7], cells[8], cells[9],
		})
	}
	return all, nil
}

// Define is what a tool means by a metric, in a version and under settings. The last row
// that fits holds; false where none does.
func Define(tool, version, metric string, settings []Setting) (found Definition, ok bool) {
	for _, d := range Matrix() {
		if d.Tool != tool || d.Metric != metric && d.Metric != "*" || !d.holds(version, settings) {
			continue
		}
		if ok && found.Metric == metric && d.Metric == "*" {
			continue
		}
		found, ok = d, true
	}
	if found.Ours == "*" {
		found.Ours = metric
	}
	return found, ok
}

// holds reports whether the row is about a version and settings. A version that is not
// known is taken for the newest.
func (d *Definition) holds(version string, settings []Setting) bool {
	if d.Since != "" && version != "" && compareVersions(version, d.Since) < 0 {
		return false
	}
	name, value, conditional := strings.Cut(d.When, "=")
	return !conditional || slices.Contains(settings, Setting{name, value})
}

// compareVersions orders 0.9.2 before 0.10.
func compareVersions(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		if c := cmp.Compare(part(x, i), part(y, i)); c != 0 {
			return c
		}
	}
	return 0
}

// part is the number that a part of a version begins with: 0 of "post1".
func part(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	digits := strings.TrimLeft(parts[i], "v")
	end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		digits = digits[:end]
	}
	n, _ := strconv.Atoi(digits) // 0 where there are none
	return n
}

// Tools are the keys of the tools, as Explain takes them.
func Tools() (out []string) {
	for _, f := range Formats() {
		out = append(out, f.Tool)
	}
	return out
}

// Explain are the rows of a tool that are about one of names: its own, or ours, or a short
// form of that. All of its rows where none is named.
func Explain(tool string, names []string) (out []Definition, err error) {
	var own []string
	for _, d := range Matrix() {
		if d.Tool != tool {
			continue
		}
		own = append(own, d.Metric)
		if len(names) == 0 {
			out = append(out, d)
		}
	}
	if len(own) == 0 {
		return nil, diag.New(fmt.Sprintf("--in: no client %q is known", says.Clip(tool, 80)),
			"known are "+strings.Join(Tools(), ", "))
	}
	for _, name := range names {
		before := len(out)
		for _, d := range Matrix() {
			if d.Tool == tool && (d.Metric == name || d.is(name)) {
				out = append(out, d)
			}
		}
		if len(out) == before && slices.Contains(own, "*") {
			if d, ok := Define(tool, "", canonical(name), nil); ok {
				d.Metric = canonical(name)
				out = append(out, d)
			}
		}
		if len(out) == before {
			return nil, diag.New(fmt.Sprintf("%s has no metric %q", tool, says.Clip(name, 80)),
				"it has "+strings.Join(slices.Compact(own), ", "))
		}
	}
	return out, nil
}

// is reports whether the row relates to a metric of ours.
func (d *Definition) is(name string) bool { return d.Ours != "*" && d.Ours == canonical(name) }

// canonical is the tag of a metric of ours by its short form, or name.
func canonical(name string) string {
	for _, tag := range metrics.Tags() {
		if m, _ := metrics.Lookup(tag); m.Tag == name || slices.Contains(m.Spoken, strings.ToLower(name)) {
			return tag
		}
	}
	return name
}

// Lines say the row in words, each with its label.
func (d *Definition) Lines() [][2]string {
	when := "all versions"
	if d.Since != "" {
		when = "from " + d.Since
	}
	if name, value, ok := strings.Cut(d.When, "="); ok {
		when += ", where " + name + " is " + value
	}
	out := [][2]string{{d.Tool, d.Metric + " (" + when + ")"}, {"means", d.Theirs}}
	ours := "no metric here"
	if d.Ours != "-" {
		ours = d.Ours + ": " + string(d.Relation)
	}
	return append(out, [2]string{"here", ours}, [2]string{"relation", d.Relates})
}
