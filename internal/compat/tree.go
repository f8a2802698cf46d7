package compat

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/literal"
	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/schema"
)

// Write is an experiment as a file that says the same, in CUE or (to) yaml. It
// names the secrets that were left out.
func Write(said schema.Said, to string) (text []byte, secrets []string, err error) {
	tree, secrets := writable(said)
	if to == "yaml" {
		text, err = tree.yaml()
	} else {
		text, err = tree.cue()
	}
	return text, secrets, err
}

// Secrets are the values that Write leaves out, by the names that it writes for them.
func Secrets(said schema.Said) map[string]string {
	w := writer{values: map[string]string{}}
	w.entry(said)
	return w.values
}

// entry is a value to be written, with the comment that stands behind it.
type entry struct {
	name    string
	kind    string // as in schema.Said
	fields  []entry
	items   []entry
	value   any
	comment string // after the value
	above   string // before the key
	below   string // after the value, on lines of its own
}

// writable is a document as a person would write it: shorthands where they say
// the same, no empty blocks, no secrets. It names what was a secret.
func writable(root schema.Said) (entry, []string) {
	var w writer
	e := w.entry(root)
	if b := e.get("benchmark"); b != nil {
		shorten(b)
	}
	if s := e.get("sweep"); s != nil {
		shortAxes(s)
	}
	e.order("schema_version", "name", "random_seed", "variables", "benchmark", "sweep")
	return e, w.secrets
}

// order puts the named members first; the others keep their order behind them.
func (e *entry) order(names ...string) {
	rank := func(f entry) int {
		if i := slices.Index(names, f.name); i >= 0 {
			return i
		}
		return len(names)
	}
	slices.SortStableFunc(e.fields, func(a, b entry) int { return rank(a) - rank(b) })
}

type writer struct {
	secrets []string
	values  map[string]string // of the secrets, by name; nil where nobody asks
}

func (w *writer) entry(s schema.Said) entry {
	e := entry{name: s.Name, kind: s.Kind, value: s.Value}
	if s.Kind != schema.SaidObject { // its members say where they come from
		e.comment = originComment(s.Origin)
	}
	if s.Secret {
		name := strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
		if name == "" {
			name = "URL"
		}
		if w.values != nil {
			w.values[name] = fmt.Sprint(s.Value)
		}
		e.value, w.secrets = "${"+name+"}", append(w.secrets, name)
	}
	for _, f := range s.Fields {
		m := w.entry(f)
		empty := m.kind == schema.SaidObject && len(m.fields) == 0 && m.name != "endpoint"
		if f.Origin.Reason == schema.OfCommand || empty && f.Origin.Source == schema.ByDefault {
			continue
		}
		e.fields = append(e.fields, m)
	}
	for _, it := range s.Items {
		m := w.entry(it)
		m.comment = "" // the list says where it comes from
		e.items = append(e.items, m)
	}
	return e
}

// originComment says where a value comes from when that is not the file.
func originComment(o schema.Origin) string {
	switch o.Source {
	case schema.ByFlag, schema.BySet, schema.ByEnv:
		return o.Where
	case schema.ByDefault:
		switch o.Reason {
		case schema.OfProfile:
			return "default of profile"
		case schema.Usual, schema.Frame:
			return ""
		}
		return strings.TrimPrefix(o.Where, "default: ")
	}
	return ""
}

func (e *entry) get(name string) *entry {
	for i := range e.fields {
		if e.fields[i].name == name {
			return &e.fields[i]
		}
	}
	return nil
}

func (e *entry) drop(name string) {
	e.fields = slices.DeleteFunc(e.fields, func(f entry) bool { return f.name == name })
}

// shorten replaces the canonical form of a body by AIPerf's shorthands.
func shorten(b *entry) {
	if m := b.get("models"); m != nil && len(m.fields) == 1 {
		shortModels(m)
	}
	if e := b.get("endpoint"); e != nil {
		if u := e.get("urls"); u != nil && len(u.items) == 1 {
			*u = entry{name: "url", kind: schema.SaidLeaf, value: u.items[0].value, comment: u.items[0].comment}
		}
	}
	if ds := b.get("datasets"); ds != nil && len(ds.items) == 1 {
		one := ds.items[0]
		one.name = "dataset"
		if n := one.get("name"); n != nil && n.value == "default" {
			one.drop("name")
		}
		*ds = one
	}
	shortPhases(b)
	b.order("model", "models", "endpoint", "tokenizer", "dataset", "datasets", "phases", "warmup", "profiling", "slos")
	for _, name := range []string{"warmup", "profiling", "dataset", "endpoint"} {
		if m := b.get(name); m != nil {
			m.order("name", "url", "urls", "type")
		}
	}
}

// shortModels writes names alone where nothing else is known of the models.
func shortModels(m *entry) {
	items := m.get("items")
	if items == nil {
		return
	}
	var names []entry
	for _, it := range items.items {
		if len(it.fields) != 1 || it.fields[0].name != "name" {
			return
		}
		name := it.fields[0]
		name.name = ""
		names = append(names, name)
	}
	*m = entry{name: "models", kind: schema.SaidList, items: names}
	if len(names) == 1 {
		*m = names[0]
		m.name = "model"
	}
}

// shortPhases writes warmup: and profiling: for phases of these names.
func shortPhases(b *entry) {
	i := slices.IndexFunc(b.fields, func(f entry) bool { return f.name == "phases" })
	if i < 0 {
		return
	}
	var phases []entry
	for _, p := range b.fields[i].items {
		name, kind := p.get("name"), p.get("kind")
		if name == nil || kind == nil || name.value != kind.value || name.value != "warmup" &&
			name.value != "profiling" {
			return
		}
		p.name = fmt.Sprint(name.value)
		p.drop("name")
		p.drop("kind")
		phases = append(phases, p)
	}
	b.fields = slices.Replace(b.fields, i, i+1, phases...)
}

// shortAxes writes the bare name of a field of the measured phase.
func shortAxes(s *entry) {
	if ps := s.get("parameters"); ps != nil {
		for i := range ps.fields {
			name := strings.TrimPrefix(ps.fields[i].name, "phases.profiling.")
			if !strings.Contains(name, ".") {
				ps.fields[i].name = name
			}
		}
	}
}

// cue is the experiment as a CUE file.
func (e entry) cue() ([]byte, error) {
	var b bytes.Buffer
	cueComment(&b, e.above)
	b.WriteString("package experiment\n\nimport \"aiperf.dev/schema\"\n\nschema.#Experiment & {\n")
	e.cueFields(&b)
	b.WriteString("}\n")
	e.cueBelow(&b, true)
	out, err := format.Source(b.Bytes())
	return append(bytes.TrimRight(out, "\n"), '\n'), err // a comment at the end loses its line end
}

func (e entry) cueFields(b *bytes.Buffer) {
	for i, f := range e.fields {
		above := f.above
		if f.kind == schema.SaidObject { // what stands behind its key
			above = joined(above, f.comment)
		}
		cueComment(b, above)
		b.WriteString(cueLabel(f.name) + ": ")
		last := f
		for last.alone() { // tokenizer: name: "builtin"
			last = last.fields[0]
			b.WriteString(cueLabel(last.name) + ": ")
		}
		last.cueValue(b)
		if last.comment != "" && last.kind != schema.SaidObject {
			b.WriteString(" // " + strings.ReplaceAll(last.comment, "\n", " "))
		}
		b.WriteByte('\n')
		f.cueBelow(b, i == len(e.fields)-1)
	}
}

// alone reports whether an object says one thing, which can stand behind its key.
func (e entry) alone() bool {
	if e.kind != schema.SaidObject || len(e.fields) != 1 {
		return false
	}
	f := e.fields[0]
	return f.above+f.below == "" && (f.kind != schema.SaidObject || f.comment == "")
}

// plain is e without the comment of the one thing that it says, and that comment; ""
// where there is none or e says more.
func (e entry) plain() (one entry, comment string) {
	if !e.alone() || e.comment != "" {
		return e, ""
	}
	f := e.fields[0]
	if f.kind == schema.SaidObject {
		f, comment = f.plain()
	} else {
		f.comment, comment = "", f.comment
	}
	e.fields = []entry{f}
	return e, comment
}

// brief reports whether e is short enough for one line, in which nothing is explained:
// what is plain, and objects of that within one other at most.
func (e entry) brief() bool {
	const most = 72
	length, fits := e.length(2)
	return fits && length <= most
}

// length is about how many characters e takes in one line, where objects may stand
// within each other depth deep.
func (e entry) length(depth int) (n int, fits bool) {
	switch e.kind {
	case schema.SaidObject:
		depth--
	case schema.SaidLeaf:
		return len(cueScalar(e.value)), true
	}
	if depth < 0 {
		return 0, false
	}
	for _, m := range slices.Concat(e.fields, e.items) {
		size, ok := m.length(depth)
		if n += len(m.name) + size + 4; !ok || m.above+m.comment+m.below != "" || e.kind == schema.SaidList &&
			m.kind == schema.SaidObject {
			return 0, false
		}
	}
	return n, true
}

// cueBelow is what stands below a value, apart from it and from the next.
func (e entry) cueBelow(b *bytes.Buffer, last bool) {
	if e.below == "" {
		return
	}
	b.WriteByte('\n')
	cueComment(b, e.below)
	if !last {
		b.WriteByte('\n')
	}
}

// cueComment is a comment on lines of its own.
func cueComment(b *bytes.Buffer, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.TrimRight("// "+line, " ") + "\n")
	}
}

// joined is two comments as one.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

func (e entry) cueValue(b *bytes.Buffer) {
	switch e.kind {
	case schema.SaidObject:
		if len(e.fields) == 0 {
			b.WriteString("{}")
			return
		}
		if e.brief() {
			b.WriteString("{")
			for i, f := range e.fields {
				if i > 0 {
					b.WriteString(", ")
				}
				b.WriteString(cueLabel(f.name) + ": ")
				f.cueValue(b)
			}
			b.WriteString("}")
			return
		}
		b.WriteString("{\n")
		e.cueFields(b)
		b.WriteString("}")
	case schema.SaidList:
		simple := !slices.ContainsFunc(e.items, func(it entry) bool {
			return it.kind != schema.SaidLeaf || it.above+it.comment+it.below != ""
		})
		b.WriteString("[")
		if simple || e.brief() {
			for i, it := range e.items {
				if i > 0 {
					b.WriteString(", ")
				}
				it.cueValue(b)
			}
		} else {
			e.cueItems(b)
		}
		b.WriteString("]")
	default:
		b.WriteString(cueScalar(e.value))
	}
}

// cueItems are the members of a list, a line or more each.
func (e entry) cueItems(b *bytes.Buffer) {
	b.WriteByte('\n')
	for i, it := range e.items {
		cueComment(b, it.above)
		it.cueValue(b)
		b.WriteByte(',')
		if it.comment != "" {
			b.WriteString(" // " + strings.ReplaceAll(it.comment, "\n", " "))
		}
		b.WriteByte('\n')
		it.cueBelow(b, i == len(e.items)-1)
	}
}

var plainLabel = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

func cueLabel(name string) string {
	if plainLabel.MatchString(name) {
		return name
	}
	return literal.String.Quote(name)
}

func cueScalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return literal.String.Quote(v)
	case float64:
		return number(v, literal.String.Quote("inf"))
	}
	return fmt.Sprint(v)
}

// number is a float that reads back as one; inf is how infinity is spelled.
func number(v float64, inf string) string {
	if math.IsInf(v, 1) {
		return inf
	}
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// yaml is the experiment as a YAML file of schema 2.0.
func (e entry) yaml() ([]byte, error) {
	if v := e.get("schema_version"); v != nil {
		v.name = "schemaVersion" // as AIPerf's documentation spells it
	} else {
		e.fields = slices.Insert(e.fields, 0, entry{name: "schemaVersion", kind: schema.SaidLeaf, value: "2.0"})
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(e.yamlNode()); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}

func (e entry) yamlNode() *yaml.Node {
	switch e.kind {
	case schema.SaidObject:
		n := &yaml.Node{Kind: yaml.MappingNode}
		if e.brief() {
			n.Style = yaml.FlowStyle
		}
		for _, f := range e.fields {
			key, value := &yaml.Node{Kind: yaml.ScalarNode, Value: f.name, HeadComment: f.above}, f.yamlNode()
			one, said := f.plain()
			switch {
			case said != "" && one.brief():
				value = one.yamlNode()
				value.LineComment = said
			case f.comment == "":
			case f.kind == schema.SaidObject:
				key.LineComment = f.comment
			default:
				value.LineComment = f.comment
			}
			n.Content = append(n.Content, key, value)
		}
		return n
	case schema.SaidList:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		if e.brief() || !slices.ContainsFunc(e.items, func(it entry) bool { return it.kind != schema.SaidLeaf }) {
			n.Style = yaml.FlowStyle
		}
		for _, it := range e.items {
			n.Content = append(n.Content, it.yamlNode())
		}
		return n
	}
	n := &yaml.Node{}
	switch v := e.value.(type) {
	case float64:
		n.Kind, n.Value = yaml.ScalarNode, number(v, "inf")
	default:
		n.SetString("")
		if err := n.Encode(v); err != nil { // a leaf is plain data: cannot fail
			panic(err)
		}
	}
	return n
}
