package lower

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// Edit is one word of a file in its older version, with what it is now.
type Edit struct {
	At       source.Origin
	Old, New string // as written, without quotes
	Note     string // what changed, in a person's words
}

// VersionOf is where a file says its version, nil when it does not; keys may
// still be in camelCase.
func VersionOf(root *source.Node) *source.Node {
	for _, f := range root.Fields {
		if fields.SnakeCase(f.Name) == "schema_version" && f.Value.Kind != source.Null {
			return f.Value
		}
	}
	return nil
}

// KnownVersion refuses a version that is not among versions: what such a file
// says may mean something else.
func KnownVersion(root *source.Node, versions []fields.Version) diag.Errors {
	n := VersionOf(root)
	said, text := "", false
	if n != nil {
		said, text = n.Value.(string)
	}
	newest := versions[len(versions)-1].Name
	fail := func(message, hint string) diag.Errors {
		return source.Mistake(n.Origin, "schemaVersion", message, hint)
	}
	switch {
	case n == nil || text && (source.IsTemplate(said) || known(said, versions)):
		return nil
	case !text && n.Kind == source.Scalar:
		return fail("expected text, got a number", fmt.Sprintf("in quotes, such as %q", newest))
	case !text:
		return fail("expected text, got "+n.KindName(), fmt.Sprintf("such as %q", newest))
	case fields.NewerVersion(said, newest):
		return fail(fmt.Sprintf("%q is newer than this program", source.Short(said)),
			"this program knows up to "+newest+"; update aiperf")
	}
	return fail(fmt.Sprintf("%q is not a version of the schema", source.Short(said)),
		"this program knows up to "+newest+": "+names(versions))
}

func known(name string, versions []fields.Version) bool {
	return slices.ContainsFunc(versions, func(v fields.Version) bool { return v.Name == name })
}

func names(versions []fields.Version) string {
	var out []string
	for _, v := range versions {
		out = append(out, v.Name)
	}
	return strings.Join(out, ", ")
}

// Upgrade brings an experiment in the one form to the newest of versions: what
// was renamed since the version that it says gets its new name, what was removed
// is a mistake. An experiment that says none is of the newest.
func Upgrade(root *source.Node, versions []fields.Version) ([]Edit, diag.Errors) {
	n := VersionOf(root)
	said := n.Text()
	if n == nil || !known(said, versions) {
		return nil, nil
	}
	u := upgrade{}
	for _, v := range versions {
		if !fields.NewerVersion(v.Name, said) {
			continue
		}
		for _, c := range v.Changes {
			if c.Kind != fields.Added {
				u.change(root, "", strings.Split(c.Path, "."), v, c)
				u.sweep(root.Get("sweep"), v, c)
			}
		}
	}
	if newest := versions[len(versions)-1].Name; said != newest {
		u.edits = append([]Edit{{
			At: n.Origin, Old: said, New: newest,
			Note: fmt.Sprintf("schemaVersion: %q is %q now", said, newest),
		}}, u.edits...)
	}
	return u.edits, u.bad
}

type upgrade struct {
	edits []Edit
	bad   diag.Errors
}

// change does c to the fields at the end of parts, below n.
func (u *upgrade) change(n *source.Node, at string, parts []string, v fields.Version, c fields.Change) {
	if n == nil {
		return
	}
	if parts[0] == "*" {
		for i, it := range n.Items {
			u.change(it, source.Join(at, strconv.Itoa(i)), parts[1:], v, c)
		}
		return
	}
	i := slices.IndexFunc(n.Fields, func(f source.Field) bool { return fields.SnakeCase(f.Name) == parts[0] })
	if i < 0 {
		return
	}
	f := &n.Fields[i]
	path := source.Join(at, parts[0])
	if len(parts) > 1 {
		u.change(f.Value, path, parts[1:], v, c)
		return
	}
	switch {
	case c.Kind == fields.Removed:
		u.bad = append(u.bad, source.Mistake(f.Origin, path, "removed in version "+v.Name, c.Doc)...)
		n.Pop(f.Name)
	case n.Field(c.To) != nil:
		u.bad = append(u.bad, source.Mistake(f.Origin, path,
			fmt.Sprintf("is called %s since version %s, which is given too", c.To, v.Name), "keep one of them")...)
		n.Pop(f.Name)
	default:
		typed := f.TypedName()
		u.edits = append(u.edits, Edit{
			At: f.Origin, Old: typed, New: c.To,
			Note: fmt.Sprintf("%s: %s is %s since version %s", path, typed, c.To, v.Name),
		})
		f.Name, f.Typed = c.To, typed
	}
}

// sweep does c to what a sweep says about the body: the paths of its axes and the
// values that it lays over it.
func (u *upgrade) sweep(sw *source.Node, v fields.Version, c fields.Change) {
	if sw == nil {
		return
	}
	for _, name := range []string{"parameters", "derive"} {
		u.axes(sw.Get(name), "sweep."+name, v, c)
	}
	if blocks := sw.Get("axes"); blocks != nil {
		for _, b := range blocks.Items {
			for _, kind := range b.Fields {
				u.axes(kind.Value, "sweep.axes."+kind.Name, v, c)
			}
		}
	}
	if dims := sw.Get("dimensions"); dims != nil {
		for i, d := range dims.Items {
			if f := d.Field("path"); f != nil {
				at := source.Join("sweep.dimensions", strconv.Itoa(i)+".path")
				u.values(d.Get("choices"), f.Value.Text(), at, v, c)
				if now, ok := u.renamed(f.Value.Text(), at, f.Value.Origin, nil, v, c); ok {
					f.Value.Value = now
				}
			}
		}
	}
	if runs := sw.Get("runs"); runs != nil {
		for i, run := range runs.Items {
			u.change(run, source.Join("sweep.runs", strconv.Itoa(i)), strings.Split(c.Path, "."), v, c)
		}
	}
}

// axes does c to the keys of n, which are paths, and to the objects below them.
func (u *upgrade) axes(n *source.Node, at string, v fields.Version, c fields.Change) {
	if n == nil {
		return
	}
	for _, f := range slices.Clone(n.Fields) {
		u.values(f.Value, f.Name, source.Join(at, f.Name), v, c)
		if now, ok := u.renamed(f.Name, source.Join(at, f.Name), f.Origin, n, v, c); ok {
			n.Field(f.Name).Name = now
		} else if c.Kind == fields.Removed && c.At(fields.Canonical(f.Name)) {
			n.Pop(f.Name)
		}
	}
}

// values does c to the objects among the values of an axis on path.
func (u *upgrade) values(list *source.Node, path, at string, v fields.Version, c fields.Change) {
	rest, below := c.Below(fields.Canonical(path))
	if list == nil || !below {
		return
	}
	for i, it := range list.Items {
		u.change(it, source.Join(at, strconv.Itoa(i)), rest, v, c)
	}
}

// renamed is the path text of a sweep with its new name, where c has one for it.
// Beside is the object whose key the path is; the new name must not be among its
// keys.
func (u *upgrade) renamed(
	text, at string, origin source.Origin, beside *source.Node, v fields.Version, c fields.Change,
) (now string, ok bool) {
	if !c.At(fields.Canonical(text)) {
		return "", false
	}
	if c.Kind == fields.Removed {
		u.bad = append(u.bad, source.Mistake(origin, at, "removed in version "+v.Name, c.Doc)...)
		return "", false
	}
	_, old := source.Cut(c.Path)
	parts := strings.Split(text, ".")
	i := slices.IndexFunc(parts, func(p string) bool { return fields.SnakeCase(strings.TrimSpace(p)) == old })
	parts[i] = c.To
	now = strings.Join(parts, ".")
	if beside != nil && beside.Field(now) != nil {
		u.bad = append(u.bad, source.Mistake(origin, at,
			fmt.Sprintf("is called %s since version %s, which is given too", now, v.Name), "keep one of them")...)
		return "", false
	}
	u.edits = append(u.edits, Edit{
		At: origin, Old: text, New: now,
		Note: fmt.Sprintf("%s: %s is %s since version %s", at, text, now, v.Name),
	})
	return now, true
}

// Rewrite is the text of the file called name with the edits made. An edit whose
// word does not stand at its place, such as one that was computed, is a mistake.
func Rewrite(name string, text []byte, edits []Edit) ([]byte, diag.Errors) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	var bad diag.Errors
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { // from the end: places before stay
		_, x := place(name, a.At.Where)
		_, y := place(name, b.At.Where)
		return y - x
	})
	for _, e := range edits {
		line, column := place(name, e.At.Where)
		if line < 1 || line > len(lines) || !replaceWord(&lines[line-1], column, e) {
			bad = append(bad, source.Mistake(e.At, "", e.Note, "it is not written there as such: change it by hand")...)
		}
	}
	if bad != nil {
		return nil, bad.Sorted()
	}
	return bytes.Join(lines, nil), nil
}

// place is the line and the column of a place in the file called name, 0 for
// one elsewhere.
func place(name, where string) (line, column int) {
	rest, ok := strings.CutPrefix(where, name+":")
	if l, c, found := strings.Cut(rest, ":"); ok && found {
		line, _ = strconv.Atoi(l)
		column, _ = strconv.Atoi(c)
	}
	return line, column
}

// replaceWord puts the new word where the old one stands, in its quotes. Columns
// of CUE count bytes, those of YAML runes.
func replaceWord(line *[]byte, column int, e Edit) bool {
	bytesAt := column - 1
	runesAt := 0
	for i := 1; i < column && runesAt < len(*line); i++ {
		_, size := utf8.DecodeRune((*line)[runesAt:])
		runesAt += size
	}
	for _, at := range []int{bytesAt, runesAt} {
		if at < 0 || at > len(*line) {
			continue
		}
		for _, quote := range []string{`"`, `'`, ""} {
			old := []byte(quote + e.Old + quote)
			if bytes.HasPrefix((*line)[at:], old) {
				*line = slices.Concat((*line)[:at], []byte(quote+e.New+quote), (*line)[at+len(old):])
				return true
			}
		}
	}
	return false
}
