package schema

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2"
	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"

	"aiperf.dev/aiperf/internal/suggest"
)

func isTemplate(s string) bool { return strings.Contains(s, "{{") || strings.Contains(s, "{%") }

// hasTemplates tells whether a tree needs rendering at all.
func hasTemplates(root *node) bool {
	found := false
	root.leaves("", func(path string, n *node) {
		found = found || isTemplate(n.text()) && !kept(path)
	})
	return found
}

// renderer keeps parsed templates: a cell pays only for running them.
type renderer struct{ parsed map[string]*exec.Template }

// render replaces {{ … }} in a cell's tree. A template may use a value that
// is one itself, so each round renders those whose names are settled; a round
// that settles nothing has met a circle.
func (r *renderer) render(root *node) (*node, Errors) {
	if r.parsed == nil {
		r.parsed = map[string]*exec.Template{}
	}
	for left := -1; ; {
		waiting, data := 0, templateNames(root)
		var first Origin
		var path string
		out, bad := root.replace("", func(p string, n *node) (*node, Errors) {
			s, ok := n.value.(string)
			if !ok || !isTemplate(s) || kept(p) {
				return n, nil
			}
			if waits(s, data) {
				if waiting++; waiting == 1 {
					first, path = n.origin, p
				}
				return n, nil
			}
			return r.leaf(root.shown(p), n, data)
		})
		if bad != nil || waiting == 0 {
			return out, bad
		}
		if waiting == left {
			return nil, mistake(first, root.shown(path), "templates refer to each other in a circle", "")
		}
		root, left = out, waiting
	}
}

// templateNames is what templates see: the envelope, the members of benchmark
// and the variables; later ones win.
func templateNames(root *node) map[string]any {
	data := map[string]any{}
	for _, n := range []*node{root, root.get("benchmark"), root.get("variables")} {
		if n == nil {
			continue
		}
		for _, f := range n.fields {
			data[f.name] = templateData(f.value)
		}
	}
	return data
}

// templateData is n as plain data in which a list of named objects is a map, so that
// templates can say phases.profiling.concurrency.
func templateData(n *node) any {
	switch n.kind {
	case object:
		m := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			m[f.name] = templateData(f.value)
		}
		return m
	case list:
		m, l := map[string]any{}, make([]any, len(n.items))
		for i, it := range n.items {
			l[i] = templateData(it)
			if name := it.get("name").text(); name != "" {
				m[name] = l[i]
			}
		}
		if len(m) > 0 {
			return m
		}
		return l
	}
	v := n.value
	if s, ok := v.(string); ok && n.origin.Text != "" {
		v = coerce(s, false) // the text of another template may be a number
	}
	if i, ok := v.(int64); ok {
		return int(i)
	}
	return v
}

var templateRef = regexp.MustCompile(`[A-Za-z_][\w.]*`)

// waits tells whether s uses a name whose value is still a template.
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
		if t, ok := v.(string); ok && isTemplate(t) {
			return true
		}
	}
	return false
}

func (r *renderer) leaf(path string, n *node, data map[string]any) (*node, Errors) {
	s := n.text()
	t, ok := r.parsed[s]
	if !ok {
		var err error
		if t, err = parseTemplate(s); err != nil {
			return n, templateMistake(n.origin, path, s, err, data)
		}
		r.parsed[s] = t
	}
	out, err := t.ExecuteToString(exec.NewContext(data))
	if err != nil {
		return n, templateMistake(n.origin, path, s, err, data)
	}
	c := textNode(out, n.origin)
	c.origin.Text = s
	return c, nil
}

// parseTemplate is gonja's own constructor with an undefined name as a mistake
// and without a loader for files: the stock one lets {% include %} read any.
func parseTemplate(s string) (t *exec.Template, err error) {
	loader, err := loaders.NewMemoryLoader(map[string]string{"/t": s})
	if err != nil {
		return nil, err
	}
	cfg := config.New()
	cfg.StrictUndefined = true
	return exec.NewTemplate("/t", cfg, loader, gonja.DefaultEnvironment)
}

var (
	undefinedName = regexp.MustCompile(`Unable to evaluate name "(.*?)"`)
	readsFile     = regexp.MustCompile(`\{%-?\s*(include|import|from|extends)\b`)
	templatePlace = regexp.MustCompile(` \(Line: \d+ Col: \d+, near .*\)$`)
)

// templateMistake puts the library's chain of causes into one line.
func templateMistake(at Origin, path, text string, err error, data map[string]any) Errors {
	msg := strings.Join(strings.Fields(err.Error()), " ")
	if m := undefinedName.FindStringSubmatch(msg); m != nil {
		hint := ""
		if slices.Contains(phaseAliases, m[1]) {
			hint = "write phases.profiling." + m[1]
		}
		return mistake(at, path, "template "+short(text)+": "+m[1]+" is not defined", cmp.Or(hint, suggest.Hint(m[1], slices.Collect(maps.Keys(data)))))
	}
	if rest, ok := strings.CutPrefix(msg, "failed to parse template '"+text+"': "); ok {
		msg = templatePlace.ReplaceAllString(rest, "")
	} else if i := strings.LastIndex(msg, ": "); i >= 0 {
		msg = msg[i+2:]
	}
	if readsFile.MatchString(text) {
		msg = "templates read no files"
	}
	return mistake(at, path, "template "+short(text)+": "+short200(msg), "")
}
