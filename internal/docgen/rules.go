package docgen

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema/fields"
)

// typed is one type of an object and the settings it takes of those that not
// every type takes.
type typed struct {
	name    string
	takes   []fields.Setting
	instead map[string]string // what to do about settings that it does not take
}

// setting is a setting of typed objects, with the words of who asks for it.
type setting struct {
	fields.Setting
	takers []string
}

// Files are the hand-written files of the schema with a part that follows from the
// catalogues, by name, and that part.
func (c Catalogues) Files() map[string]string {
	return map[string]string{
		"dataset.cue": typeRules(c.Rules.Dataset), "phase.cue": typeRules(c.Rules.Phase),
		"sweep.cue": typeRules(c.Rules.Sweep),
	}
}

// Marks of the generated part of a CUE file.
const (
	rulesBegin = "\t\t// begin: generated from the catalogues by go generate ./schema\n"
	rulesEnd   = "\t\t// end\n"
)

// WithRules is a CUE file with its generated part put in.
func WithRules(file []byte, rules string) ([]byte, error) {
	before, rest, begins := bytes.Cut(file, []byte(rulesBegin))
	_, after, ends := bytes.Cut(rest, []byte(rulesEnd))
	if !begins || !ends {
		return nil, fmt.Errorf("no generated part in\n%s", file)
	}
	return slices.Concat(before, []byte(rulesBegin), []byte(rules), []byte(rulesEnd), after), nil
}

// typeRules are the CUE rules that say which type takes and needs which setting.
func typeRules(types []typed) string {
	var b strings.Builder
	b.WriteString("\t\tif type != _|_ {\n")
	for _, s := range settingsOf(types) {
		needed(&b, s.Name, types)
		refused(&b, s, types)
	}
	b.WriteString("\t\t}\n")
	return b.String()
}

// settingsOf are the settings that some types take, in the order of the catalogue.
func settingsOf(types []typed) (out []setting) {
	for _, t := range types {
		for _, s := range t.takes {
			i := slices.IndexFunc(out, func(o setting) bool { return o.Name == s.Name })
			if i < 0 {
				i, out = len(out), append(out, setting{Setting: s})
			}
			out[i].takers = append(out[i].takers, t.name)
		}
	}
	return out
}

// group is the types of which one rule is said.
type group struct {
	hint  string
	or    []string
	types []string
}

// grouped adds a type to the group with its words.
func grouped(gs []group, hint string, or []string, name string) []group {
	for i := range gs {
		if gs[i].hint == hint && slices.Equal(gs[i].or, or) {
			gs[i].types = append(gs[i].types, name)
			return gs
		}
	}
	return append(gs, group{hint, or, []string{name}})
}

// needed writes the rules for the types that cannot do without a setting.
func needed(b *strings.Builder, name string, types []typed) {
	var gs []group
	for _, t := range types {
		for _, s := range t.takes {
			if s.Name == name && s.Needed != "" {
				gs = grouped(gs, s.Needed, s.Or, t.name)
			}
		}
	}
	for _, g := range gs {
		for _, said := range g.said(gs) {
			missing := ""
			for _, o := range append([]string{name}, g.or...) {
				missing += " if " + o + " == _|_"
			}
			fmt.Fprintf(b, "\t\t\tif %s%s {%s: error(\"required by type: %s\") @rule(hint=%q, by=type)}\n",
				said.condition, missing, name, said.word, g.hint)
		}
	}
}

// refused writes the rules for the types that do not take a setting.
func refused(b *strings.Builder, s setting, types []typed) {
	only := cmp.Or(s.Only, "use type: "+either(s.takers))
	var gs []group
	for _, t := range types {
		if !slices.Contains(s.takers, t.name) {
			gs = grouped(gs, cmp.Or(t.instead[s.Name], only), nil, t.name)
		}
	}
	if len(gs) == 1 && gs[0].hint == only && len(s.takers) == 1 {
		fmt.Fprintf(b, "\t\t\tif type != %q if %s != _|_ {%s: error(\"needs type: %s\")%s}\n",
			s.takers[0], s.Name, s.Name, s.takers[0], hinted(only))
		return
	}
	for _, g := range gs {
		for _, said := range g.said(gs) {
			fmt.Fprintf(b, "\t\t\tif %s if %s != _|_ {%s: error(\"cannot be combined with type: %s\")%s}\n",
				said.condition, s.Name, s.Name, said.word, hinted(g.hint))
		}
	}
}

func hinted(hint string) string { return fmt.Sprintf(" @rule(hint=%q)", hint) }

// said is a condition on the type and what a message calls it.
type said struct{ condition, word string }

// said is one rule for the whole group. One text has one hint: beside groups with
// other words each type has a rule that names it.
func (g group) said(all []group) (out []said) {
	var is []string
	for _, t := range g.types {
		is = append(is, fmt.Sprintf("type == %q", t))
	}
	if len(all) == 1 {
		return []said{{strings.Join(is, " || "), `\(type)`}}
	}
	for i, t := range g.types {
		out = append(out, said{is[i], t})
	}
	return out
}

// either is "a, b or c".
func either(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
