package schema

import (
	"encoding/json"
	"strings"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// setting is a value that an experiment gives to something absent here. Nothing
// reads it; what shows the experiment shows it, too.
type setting struct {
	path  string // members of lists by name or number
	value any
	at    source.Origin
	weak  bool // stands beside what was said, where nothing else does
}

// keepAside remembers what was said of something absent.
func (d *draft) keepAside(path string, n *source.Node, at source.Origin, weak bool) {
	value := n.Plain()
	if value == nil || !strings.HasPrefix(path, "benchmark.") {
		return
	}
	if of, ok := strings.CutSuffix(path, ".url"); ok { // one address, or several
		path = of + ".urls"
		if _, many := value.([]any); !many {
			value = []any{value}
		}
	}
	d.aside = append(d.aside, setting{path, value, at, weak})
}

// asideOn lays what was set aside over a copy of the experiment.
func (cs *cells) asideOn(root *source.Node) *source.Node {
	if len(cs.aside) == 0 {
		return root
	}
	root = root.Clone()
	for _, s := range cs.aside {
		parent, last := source.Cut(s.path)
		n, bad := lower.Reach(cs.index, root, parent, s.at)
		for above := parent; above != "benchmark" && above != ""; above, _ = source.Cut(above) {
			if m := root.At(above); m != nil && m.Origin.Source == source.ByDefault {
				m.Origin = s.at // somebody speaks of it
			}
		}
		if bad == nil && n.Kind == source.Object && !(s.weak && n.Get(last) != nil) {
			n.Put(last, source.FromPlain(s.value, s.at))
		}
	}
	return root
}

// withAside is a body as JSON with what was set aside, secrets masked.
func withAside(tree map[string]any, aside []setting, hide *secret.Masker) {
	for _, s := range aside {
		value := Masked(s.path, s.value, hide)
		fields.PutAt(tree, strings.TrimPrefix(s.path, "benchmark."), func(o map[string]any, key string) {
			if _, there := o[key]; !there || !s.weak {
				o[key] = value
			}
		})
	}
}

// Masked is the value of a setting as people and files may see it: without
// credentials and what hide knows, in objects and lists too.
func Masked(path string, v any, hide *secret.Masker) any {
	parent, last := source.Cut(path)
	_, of := source.Cut(parent)
	return maskedAll(of, last, v, hide)
}

// maskedAll is v, the member key of something called of, without credentials.
func maskedAll(of, key string, v any, hide *secret.Masker) any {
	switch v := v.(type) {
	case string:
		if secret.Name(key) || of == "headers" && secret.Header(key) {
			return secret.Mask
		}
		return hide.Text(secret.URL(v))
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = maskedAll(of, key, v[i], hide)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = maskedAll(key, k, v[k], hide)
		}
		return out
	}
	return v
}

// AsAIPerf is the body as JSON with what was said of things that are absent
// here, and with the values that AIPerf would show of them: its files and tools
// expect them.
func (r *Resolved) AsAIPerf() []byte {
	return shown(r.JSON, func(tree map[string]any) {
		withAside(tree, r.aside, r.hide)
		flatScales(tree, true)
		fields.ShowIdle(tree)
	})
}

// flatScales shows how phases raise their own load as AIPerf shows it: a switch, with the
// settings beside it. With all, phases that do not are said to be off.
func flatScales(tree map[string]any, all bool) {
	phases, _ := tree["phases"].([]any)
	for _, p := range phases {
		phase, _ := p.(map[string]any)
		block, on := phase["adaptive_scale"].(map[string]any)
		if phase != nil && (on || all) {
			phase["adaptive_scale"] = on
		}
		for _, f := range lower.FlatScale {
			o, name, v := block, f[1], any(nil)
			if outer, inner, deep := strings.Cut(f[1], "."); deep {
				o, _ = block[outer].(map[string]any)
				name = inner
			}
			if v = o[name]; v != nil {
				phase[f[0]] = v
			}
		}
		if sla := block["sla"]; sla != nil {
			phase["sla"] = sla
		}
	}
}

// OnlyAIPerf is a body, as JSON, without what AIPerf does not know; nil stays nil.
func OnlyAIPerf(body []byte) []byte {
	if body == nil {
		return nil
	}
	x := fields.New()
	js := shown(body, x.DropOurs)
	tree, err := source.JSONNode(string(js), source.Origin{})
	if err != nil {
		panic("a resolved body cannot be read: " + err.Error()) // we wrote it
	}
	return x.Encode(fields.Decode(js), tree, "benchmark", fields.Shown(nil))
}

// TakesFraction tells of a member of the body, by its path, whether it takes
// numbers that need not be whole.
func TakesFraction(path string) bool {
	if flat, ok := strings.CutPrefix(path, "phases.*."); ok {
		for _, f := range lower.FlatScale {
			if f[0] == flat {
				path = "phases.*.adaptive_scale." + f[1]
			}
		}
		if strings.HasPrefix(flat, "sla.") {
			path = "phases.*.adaptive_scale." + flat
		}
	}
	return fields.New().Fraction("benchmark." + path)
}

// shown is a body as JSON after change, which finds what requests carry as JSON.
func shown(body []byte, change func(tree map[string]any)) []byte {
	tree := fields.Decode(body).(map[string]any)
	var sent struct {
		Endpoint map[string]json.RawMessage `json:"endpoint"`
	}
	if endpoint, ok := tree["endpoint"].(map[string]any); ok && json.Unmarshal(body, &sent) == nil {
		for _, name := range []string{"headers", "extra"} {
			if text := sent.Endpoint[name]; text != nil {
				endpoint[name] = text
			}
		}
	}
	change(tree)
	out, err := json.Marshal(tree)
	if err != nil {
		panic("a resolved body cannot be written: " + err.Error()) // it was read
	}
	return out
}

// offAndOn refuses a section that one flag switches off and another fills.
func (d *draft) offAndOn() (bad Errors) {
	for _, off := range d.src.Assignments {
		section, is := strings.CutSuffix(off.Path, ".enabled")
		if !is || off.Value.Value != false || off.Origin.Source != source.ByFlag {
			continue
		}
		fills := func(path string, at source.Origin) bool {
			return at.Source == source.ByFlag && at.Flag != off.Origin.Flag && strings.HasPrefix(path, section+".")
		}
		for _, on := range d.aside {
			if fills(on.path, on.at) {
				return source.Mistake(on.at, off.Path, "cannot be combined with "+off.Origin.Where, "keep one of them")
			}
		}
		for _, on := range d.src.Assignments {
			if fills(on.Path, on.Origin) {
				return source.Mistake(on.Origin, off.Path, "cannot be combined with "+off.Origin.Where,
					"keep one of them")
			}
		}
	}
	return nil
}
