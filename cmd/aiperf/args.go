package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/schema"
)

// switchFlag is a flag of the program itself, as opposed to a setting of the
// experiment, which comes from the schema.
type switchFlag struct {
	Name  string
	Short string
	Arg   string   // what its value is called in help; "" for a flag without one
	Words []string // what its value may be, when that is few
	Many  bool
	Doc   string
}

// parsed is a command line taken apart.
type parsed struct {
	assigns []schema.Assignment // settings, in the order given
	values  map[string][]string // program flags by name; [""] for one without value
	words   []string            // positional arguments
	before  []string            // hint for each of words: what the flag in front of it takes
}

func (p *parsed) has(name string) bool { return p.values[name] != nil }

// get is the value of a program flag, "" when it was not given.
func (p *parsed) get(name string) string {
	if v := p.values[name]; v != nil {
		return v[0]
	}
	return ""
}

// usageError is a mistake on the command line: one line and a hint.
type usageError struct{ message, hint string }

func (e *usageError) Error() string { return e.message }

// parseArgs takes args apart. Settings follow the rules people know from the
// tool this one replaces: a flag may be written with - or _, with = or a
// space; list flags take several words and repeats; a single-valued flag given
// twice is refused, through an alias too; names are never abbreviated.
func parseArgs(args []string, own []switchFlag, opts []schema.Option) (*parsed, error) {
	t := newFlagTable(own, opts)
	p := &parsed{values: map[string][]string{}}
	given := map[string]given{}
	var order []string
	hint := ""
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		if word == "--" {
			p.words, p.before = append(p.words, args...), append(p.before, make([]string, len(args))...)
			break
		}
		if !isFlag(word) {
			p.words, p.before = append(p.words, word), append(p.before, hint)
			continue
		}
		f, name, words, rest, err := t.take(word, args)
		if err != nil {
			return nil, err
		}
		args, hint = rest, f.takesHint(name)
		if f.own != nil {
			if p.values[f.own.Name] != nil && !f.own.Many {
				return nil, &usageError{name + " is given twice", "keep one of them"}
			}
			if f.own.Arg != "" && strings.TrimSpace(words[0]) == "" {
				return nil, &usageError{name + ": must not be empty", "leave the flag out"}
			}
			p.values[f.own.Name] = append(p.values[f.own.Name], words...)
			continue
		}
		key := f.opt.Names[0]
		g, seen := given[key]
		if seen && !f.opt.Many {
			return nil, &usageError{fmt.Sprintf("%s is given twice (as %s before)", name, g.name), "keep one of them; a comma list makes a sweep where a flag can"}
		}
		if !seen {
			order = append(order, key)
		}
		given[key] = givenFlag(g, f.opt, name, words)
	}
	return p, p.assign(order, given)
}

// given is one setting with all the words it got.
type given struct {
	opt   *schema.Option
	name  string // as typed
	words []string
}

func givenFlag(g given, opt *schema.Option, name string, words []string) given {
	return given{opt, name, append(g.words, words...)}
}

// assign turns settings into assignments, in the order they were first given.
func (p *parsed) assign(order []string, all map[string]given) error {
	var bad schema.Errors
	for _, text := range p.values["set"] {
		a, err := schema.ParseSet(text)
		if err != nil {
			return err
		}
		p.assigns = append(p.assigns, a)
	}
	for _, key := range order {
		g := all[key]
		as, err := g.opt.Parse(strings.TrimLeft(g.name, "-"), g.words)
		switch err := err.(type) {
		case nil:
			p.assigns = append(p.assigns, as...)
		case schema.Errors:
			bad = append(bad, err...)
		default:
			return err
		}
	}
	if len(bad) > 0 {
		return bad
	}
	return nil
}

// flagTable finds flags by any of their names.
type flagTable struct {
	byName map[string]flagEntry
	names  []string
}

type flagEntry struct {
	own *switchFlag
	opt *schema.Option
	neg bool // this name means false
}

func newFlagTable(own []switchFlag, opts []schema.Option) *flagTable {
	t := &flagTable{byName: make(map[string]flagEntry, 2*len(opts))}
	add := func(name string, e flagEntry) {
		if name != "--" && name != "-" {
			t.byName[name] = e
			t.names = append(t.names, name)
		}
	}
	for i := range opts {
		o := &opts[i]
		for _, n := range o.Names {
			add("--"+n, flagEntry{opt: o})
		}
		add("-"+o.Short, flagEntry{opt: o})
		add("--"+o.Neg, flagEntry{opt: o, neg: true})
	}
	for i := range own { // the program's own names win
		add("--"+own[i].Name, flagEntry{own: &own[i]})
		add("-"+own[i].Short, flagEntry{own: &own[i]})
	}
	return t
}

// take reads the flag that word is, with its value words from args.
func (t *flagTable) take(word string, args []string) (f flagEntry, name string, words, rest []string, err error) {
	name, value, glued := strings.Cut(word, "=")
	f, ok := t.byName[name]
	if !ok && strings.HasPrefix(name, "--") {
		f, ok = t.byName[strings.ReplaceAll(name, "_", "-")]
	}
	if short, isShort := t.byName[word[:2]]; !ok && isShort { // -b4
		if _, takes := short.arity(); takes {
			f, ok, name, value, glued = short, true, word[:2], word[2:], true
		}
	}
	if !ok {
		return f, name, nil, nil, t.unknown(name)
	}
	many, takes := f.arity()
	switch {
	case !takes && !glued:
		return f, name, []string{f.word()}, args, nil
	case glued:
		words = []string{value}
		if f.neg {
			return f, name, nil, nil, &usageError{name + " takes no value", "drop =" + value}
		}
	case len(args) == 0 || isFlag(args[0]):
		if f.opt != nil && f.opt.Alone() {
			return f, name, nil, args, nil
		}
		return f, name, nil, nil, &usageError{name + " needs a value", ""}
	default:
		words, args = args[:1:1], args[1:]
	}
	for many && !glued && len(args) > 0 && !isFlag(args[0]) {
		words, args = append(words, args[0]), args[1:]
	}
	return f, name, words, args, nil
}

// arity says whether the flag takes several words, and whether it takes any.
func (f flagEntry) arity() (many, takes bool) {
	if f.own != nil {
		return false, f.own.Arg != ""
	}
	return f.opt.Words, f.opt.Kind != "bool"
}

// takesHint says what the flag takes, for a word that came after all of it.
func (f flagEntry) takesHint(name string) string {
	switch many, takes := f.arity(); {
	case f.opt == nil || many:
		return ""
	case !takes && f.neg:
		return name + " takes no value"
	case !takes:
		return name + " takes no value; " + name + "=false switches it off"
	case f.opt.Sweep:
		return name + " takes one value; a list is written with commas and sweeps: " + name + " 1,2,4"
	}
	return name + " takes one value"
}

// word is what a flag without value stands for.
func (f flagEntry) word() string {
	if f.own != nil {
		return ""
	}
	return strconv.FormatBool(!f.neg)
}

func (t *flagTable) unknown(name string) error {
	names := slices.Clone(t.names)
	slices.Sort(names)
	e := &usageError{name + ": unknown flag", ""}
	if s := schema.Suggest(name, names); s != "" {
		e.hint = "did you mean " + s + "?"
	}
	return e
}

// isFlag tells a flag from a value such as -1 or -0.5.
func isFlag(word string) bool {
	if len(word) < 2 || word[0] != '-' {
		return false
	}
	_, err := strconv.ParseFloat(word, 64)
	return err != nil
}
