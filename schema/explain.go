package schema

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// Explain prints path, value and origin of every leaf of the experiment, or of
// those at and below the given paths; secrets are masked. With a sweep the
// body is that of the first point, and axes are said to be such.
func (d *Document) Explain(w io.Writer, width int, paths ...string) error {
	c := d.first
	if c == nil {
		var bad Errors
		point := d.firstPoint()
		point = append(point, d.derived(point)...)
		if c, bad = d.cells.cell(point); bad != nil {
			return bad.Sorted()
		}
	}
	var want []string
	for _, p := range paths {
		path := fields.Canonical(p)
		if hint, ok := d.cells.index.KnownPath(path); !ok {
			return Errors{{Path: p, Message: "unknown field", Hint: hint, Unknown: true}}
		}
		want = append(want, path)
	}
	e := explainer{d: d, c: c, want: want, found: map[string]bool{}}
	e.body()
	for i, p := range want {
		switch {
		case e.found[p]:
		case p == "sweep" && len(d.sweep.Axes)+len(d.sweep.Scenarios) > 0:
			e.rows = append(e.rows, [3]string{
				paths[i], "set",
				"each path shows its first value; aiperf plan lists the cells",
			})
		default:
			e.rows = append(e.rows, [3]string{paths[i], "–", "not set"})
		}
	}
	return e.write(w, width)
}

// write prints a table. Where that is wider than width, which is 0 for any, each
// setting has a line, and what does not fit there lines of its own.
func (e *explainer) write(w io.Writer, width int) error {
	const between = "  "
	var wide [2]int
	total := 0
	for _, r := range e.rows {
		wide[0], wide[1] = max(wide[0], utf8.RuneCountInString(r[0])), max(wide[1], utf8.RuneCountInString(r[1]))
	}
	for _, r := range e.rows {
		total = max(total, wide[0]+wide[1]+2*len(between)+utf8.RuneCountInString(r[2]))
	}
	var b strings.Builder
	for _, r := range e.rows {
		if width == 0 || total <= width {
			fmt.Fprintf(&b, "%-*s%s%-*s%s%s\n", wide[0], r[0], between, wide[1], r[1], between, r[2])
			continue
		}
		line := r[0]
		for _, part := range r[1:] {
			if next := line + between + part; utf8.RuneCountInString(next) <= width {
				line = next
				continue
			}
			b.WriteString(line + "\n")
			line = between + between + part
		}
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// firstPoint is the first value of every axis; the first scenario.
func (d *Document) firstPoint() []lower.Assignment {
	var point []lower.Assignment
	for _, a := range d.sweep.Axes {
		point = append(point, a.Assignment(0, a.Origin))
	}
	if len(d.sweep.Scenarios) > 0 {
		point = append(point, d.sweep.Scenarios[0].Assignments...)
	}
	return point
}

// derived are the values that derive gives a point; one that cannot be computed
// is left out, for the planner to say so.
func (d *Document) derived(point []lower.Assignment) (out []lower.Assignment) {
	names, err := d.Names(point)
	if err != nil {
		return nil
	}
	for i, a := range d.sweep.Axes {
		if i < len(point) {
			names[a.Name] = point[i].Value.Plain()
		}
	}
	for _, f := range d.sweep.Derive {
		p, err := CompileExpr(f.Expr, names, false)
		if err != nil {
			continue
		}
		if v, err := p.Run(names); err == nil {
			at := f.Origin
			at.Source, at.Text = source.ByDerive, f.Expr
			out = append(out, lower.Assign(f.Path, v, at))
		}
	}
	return out
}

type explainer struct {
	d    *Document
	c    *cell
	want []string
	rows [][3]string // path, value, origin
	// found are those of want that a row was printed for.
	found map[string]bool
}

// body prints the envelope as written and the body as resolved: what the tree
// does not hold is a default of the schema.
func (e *explainer) body() {
	for _, f := range e.c.root.Fields {
		if f.Name != "benchmark" {
			f.Value.Leaves(f.Name, e.row)
		}
	}
	e.value("benchmark", fields.Decode(e.c.resolved.JSON))
}

func (e *explainer) value(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		l := e.d.cells.index.At(path)
		for _, k := range fields.KeyOrder(v, l) {
			e.value(source.Join(path, k), v[k])
		}
	case []any:
		if len(v) == 0 {
			e.leaf(path, "[]")
		}
		for i, it := range v {
			e.value(source.Join(path, strconv.Itoa(i)), it)
		}
	case string:
		e.leaf(path, strconv.Quote(v))
	default:
		e.leaf(path, fmt.Sprint(v))
	}
}

func (e *explainer) leaf(path, text string) {
	at := source.Origin{Where: "default"}
	if n := e.c.root.At(path); n != nil && n.Origin.Where != "" {
		at = n.Origin
	}
	if (strings.Contains(text, secret.Mask) || strings.Contains(text, secret.Gap)) && at.Text != "" {
		at.Text = secret.Mask
	}
	e.add(path, text, at)
}

// row adds a row for what stands around the body.
func (e *explainer) row(path string, n *source.Node) {
	text := n.String()
	if s, ok := n.Value.(string); ok {
		parent, last := source.Cut(path)
		if shown := fields.Masked(last, s, e.d.cells.index.At(parent), e.d.cells.index.At(path),
			e.d.cells.checker.hide); shown != s {
			text = strconv.Quote(shown)
		}
	}
	e.add(path, text, n.Origin)
}

func (e *explainer) add(path, text string, at source.Origin) {
	if e.d.cells.index.At(path).Has(fields.IsSecret) {
		text = secret.Mask
	}
	if len(e.want) > 0 && !e.wanted(path) {
		return
	}
	e.rows = append(e.rows, [3]string{e.c.root.Shown(path), text, at.String()})
}

func (e *explainer) wanted(path string) bool {
	shown := e.c.root.Shown(path)
	for _, w := range e.want {
		for _, p := range []string{path, shown} {
			if p == w || strings.HasPrefix(p, w+".") {
				e.found[w] = true
				return true
			}
		}
	}
	// datasets.default and phases.profiling mean the one there is
	for _, w := range e.want {
		if n := e.c.root.At(w); n != nil && e.c.root.At(path) == n {
			e.found[w] = true
			return true
		}
	}
	return false
}
