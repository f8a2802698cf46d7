// Package argv takes command lines apart: words go in, settings of the
// experiment and flags of the program come out. The settings come from the
// schema's table, so a new setting needs nothing here.
package argv

import (
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
)

// Switch is a flag of the program itself, as opposed to a setting of the
// experiment, which comes from the schema.
type Switch struct {
	Name  string
	Short string
	Arg   string   // what its value is called in help; "" for a flag without one
	Words []string // what its value may be, when that is few
	Many  bool
	Once  bool   // a second value is refused: it asks for something else
	Minor bool   // only in the long help
	Topic string // of a command whose settings are flags: the topic that help shows it under
	Doc   string
}

// Line is a command line taken apart.
type Line struct {
	Assigns []schema.Assignment // settings, in the order given
	Values  map[string][]string // program flags by name; [""] for one without value
	Words   []string            // positional arguments
	Before  []string            // hint for each of words: what the flag in front of it takes
	Notes   []string            // one line each: what a reader of the command line may not expect

	typed []string // all of it, as Parse took it
	order []string // settings by their first name
	given map[string]given
}

// Has reports whether a program flag was given.
func (p *Line) Has(name string) bool { return p.Values[name] != nil }

// Get is the value of a program flag, the last one given; "" when none was.
func (p *Line) Get(name string) string {
	if v := p.Values[name]; v != nil {
		return v[len(v)-1]
	}
	return ""
}

// Parse takes args apart. Settings follow the rules people know from the
// tool this one replaces: a flag may be written with - or _, with = or a
// space; list flags take several words and repeats; of a single-valued flag
// given twice, under whatever name, the last one counts, and a note says so;
// names are never abbreviated. Beside mistakes the line holds what could be read.
func Parse(args []string, own []Switch, opts []schema.Option) (*Line, error) {
	t := NewTable(own, opts)
	p := &Line{Values: map[string][]string{}, given: map[string]given{}, typed: args}
	var bad schema.Errors
	hint := ""
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		if word == "--" {
			p.Words, p.Before = append(p.Words, args...), append(p.Before, make([]string, len(args))...)
			break
		}
		if !IsFlag(word) {
			p.Words, p.Before = append(p.Words, word), append(p.Before, hint)
			continue
		}
		f, name, words, rest, err := t.read(word, args)
		if err == nil {
			err = p.put(f, name, words)
		}
		if err != nil { // the flag is left out, and what is wrong with the others said too
			bad = append(bad, diag.Of(err))
			args, hint = afterFlag(args), ""
			continue
		}
		args, hint = rest, f.takesHint(name)
	}
	if bad = append(bad, p.assign()...); len(bad) == 1 {
		return p, bad[0]
	} else if len(bad) > 0 {
		return p, bad
	}
	return p, nil
}

// Typed are the words of the flags for which keep says so, as they were typed, with their
// values. It is told the first name of each. Settings and flags are those that p was parsed with.
func (p *Line) Typed(own []Switch, opts []schema.Option, keep func(name string) bool) (out []string) {
	t := NewTable(own, opts)
	for args := p.typed; len(args) > 0; {
		word, rest := args[0], args[1:]
		if word == "--" {
			return out
		}
		if IsFlag(word) {
			f, _, _, after, err := t.read(word, rest)
			if err != nil {
				return out // Parse has refused it
			}
			rest = after
			name := ""
			if f.own != nil {
				name = f.own.Name
			} else {
				name = f.opt.Names[0]
			}
			if keep(name) {
				out = append(out, args[:len(args)-len(rest)]...)
			}
		}
		args = rest
	}
	return out
}

// afterFlag is args without the values of a flag that could not be read.
func afterFlag(args []string) []string {
	i := slices.IndexFunc(args, IsFlag)
	if i < 0 {
		return nil
	}
	return args[i:]
}

// given is one setting with all the words it got.
type given struct {
	opt   *schema.Option
	name  string // as typed, the last time
	words []string
}

// put takes in one flag with its words.
func (p *Line) put(f Entry, name string, words []string) error {
	if f.own != nil {
		if f.own.Arg != "" && strings.TrimSpace(words[0]) == "" {
			return diag.New(name+": must not be empty", "leave the flag out")
		}
		if len(f.own.Words) > 0 && !slices.Contains(f.own.Words, words[0]) {
			return diag.New(name+": expected "+strings.Join(f.own.Words, " or ")+", got "+strconv.Quote(words[0]), "")
		}
		if p.Has(f.own.Name) && f.own.Once && words[0] != p.Get(f.own.Name) {
			return diag.New(name+": is given more than once, with different values", "keep one of them")
		}
		if p.Has(f.own.Name) && !f.own.Many && f.own.Arg != "" {
			p.twice(name, name)
		}
		p.Values[f.own.Name] = append(p.Values[f.own.Name], words...)
		return nil
	}
	key := f.opt.Names[0]
	g, seen := p.given[key]
	switch {
	case !seen:
		p.order = append(p.order, key)
	case !f.opt.Many:
		p.twice(name, g.name)
		g.words = nil
	}
	p.given[key] = given{f.opt, name, append(g.words, words...)}
	return nil
}

// twice notes that of two values the last one counts. Values are not named:
// they may be secrets.
func (p *Line) twice(name, before string) {
	note := name + " is given more than once"
	if before != name {
		note = name + " is given after " + before + ", which sets the same"
	}
	if note += ": the last one counts"; !slices.Contains(p.Notes, note) {
		p.Notes = append(p.Notes, note)
	}
}

// assign turns settings into assignments, in the order they were first given.
func (p *Line) assign() (bad schema.Errors) {
	for _, text := range p.Values["set"] {
		a, err := schema.ParseSet(text)
		if err != nil {
			bad = append(bad, diag.Of(err))
			continue
		}
		p.Assigns = append(p.Assigns, a)
	}
	for _, key := range p.order {
		g := p.given[key]
		as, err := g.opt.Parse(strings.TrimLeft(g.name, "-"), g.words)
		switch err := err.(type) {
		case nil:
			p.Assigns = append(p.Assigns, as...)
		case schema.Errors:
			bad = append(bad, err...)
		default:
			bad = append(bad, diag.Of(err))
		}
	}
	return bad
}

// IsFlag tells a flag from a value such as -1 or -0.5.
func IsFlag(word string) bool {
	if len(word) < 2 || word[0] != '-' {
		return false
	}
	_, err := strconv.ParseFloat(word, 64)
	return err != nil
}
