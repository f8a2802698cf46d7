package lower

import (
	"cmp"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/jinja"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// HasTemplates reports whether a tree needs rendering at all.
func HasTemplates(root *source.Node) bool {
	found := false
	root.Leaves("", func(path string, n *source.Node) {
		found = found || source.IsTemplate(n.Text()) && !kept(path)
	})
	return found
}

// Renderer keeps parsed templates: a cell pays only for running them.
type Renderer struct{ parsed map[string]*jinja.Template }

// Render replaces {{ … }} in a cell's tree. A template may use a value that
// is one itself, so each round renders those whose names are settled; a round
// that settles nothing has met a circle.
func (r *Renderer) Render(root *source.Node) (*source.Node, diag.Errors) {
	if r.parsed == nil {
		r.parsed = map[string]*jinja.Template{}
	}
	for left := -1; ; {
		waiting, data := 0, templateNames(root)
		var first source.Origin
		var path string
		out, bad := root.Replace("", func(p string, n *source.Node) (*source.Node, diag.Errors) {
			s, ok := n.Value.(string)
			if !ok || !source.IsTemplate(s) || kept(p) {
				return n, nil
			}
			if waits(s, data) {
				if waiting++; waiting == 1 {
					first, path = n.Origin, p
				}
				return n, nil
			}
			return r.leaf(root.Written(p), n, data)
		})
		if bad != nil || waiting == 0 {
			return out, bad
		}
		if waiting == left {
			return nil, source.Mistake(first, root.Written(path), "templates refer to each other in a circle", "")
		}
		root, left = out, waiting
	}
}

// templateNames is what templates see: the envelope, the members of benchmark
// and the variables; later ones win.
func templateNames(root *source.Node) map[string]any {
	data := map[string]any{}
	for _, n := range []*source.Node{root, root.Get("benchmark"), root.Get("variables")} {
		if n == nil {
			continue
		}
		for _, f := range n.Fields {
			data[f.Name] = templateData(f.Value)
		}
	}
	return data
}

// templateData is n as plain data in which a list of named objects is a map, so that
// templates can say phases.profiling.concurrency.
func templateData(n *source.Node) any {
	switch n.Kind {
	case source.Object:
		m := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			m[f.Name] = templateData(f.Value)
		}
		return m
	case source.List:
		m, l := map[string]any{}, make([]any, len(n.Items))
		for i, it := range n.Items {
			l[i] = templateData(it)
			if name := it.Get("name").Text(); name != "" {
				m[name] = l[i]
			}
		}
		if len(m) > 0 {
			return m
		}
		return l
	}
	v := n.Value
	if s, ok := v.(string); ok && n.Origin.Text != "" {
		v = fields.Coerce(s, false) // the text of another template may be a number
	}
	if i, ok := v.(int64); ok {
		return int(i)
	}
	return v
}

var templateRef = regexp.MustCompile(`[A-Za-z_][\w.]*`)

// waits reports whether s uses a name whose value is still a template.
func waits(s string, data map[string]any) bool {
	for _, name := range templateRef.FindAllString(s, -1) {
		var v any = data
		for part := range strings.SplitSeq(name, ".") {
			m, ok := v.(map[string]any)
			if !ok {
				break
			}
			v = m[part]
		}
		if t, ok := v.(string); ok && source.IsTemplate(t) {
			return true
		}
	}
	return false
}

func (r *Renderer) leaf(path string, n *source.Node, data map[string]any) (*source.Node, diag.Errors) {
	s := n.Text()
	t, ok := r.parsed[s]
	if !ok {
		var err error
		if t, err = jinja.Parse(s); err != nil {
			return n, templateMistake(n.Origin, path, s, err, data)
		}
		r.parsed[s] = t
	}
	out, err := t.Run(data)
	if err != nil {
		return n, templateMistake(n.Origin, path, s, err, data)
	}
	c := source.TextNode(out, n.Origin)
	c.Origin.Text = s
	return c, nil
}

// templateMistake says what is wrong with a template, in one line.
func templateMistake(at source.Origin, path, text string, err error, data map[string]any) diag.Errors {
	what := "template " + source.Short(text) + ": "
	var e *jinja.Error
	if !errors.As(err, &e) {
		return source.Mistake(at, path, what+source.Clip(err.Error()), "")
	}
	if _, known := data[e.Undefined]; e.Undefined == "" || known {
		return source.Mistake(at, path, what+source.Clip(e.Text), diag.Of(err).Hint)
	}
	hint := ""
	if slices.Contains(fields.PhaseAliases, e.Undefined) {
		hint = "write phases.profiling." + e.Undefined
	}
	return source.Mistake(at, path, what+source.Clip(e.Text),
		cmp.Or(hint, suggest.Hint(e.Undefined, slices.Collect(maps.Keys(data)))))
}
