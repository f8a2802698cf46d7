package argv

import (
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
)

// Table finds flags by any of their names.
type Table struct {
	byName map[string]Entry
	Names  []string // every spelling, in the order of the schema
}

// Entry is one spelling of a flag.
type Entry struct {
	own *Switch
	opt *schema.Option
	neg bool // this name means false
}

// Hidden tells whether the flag is left out of lists.
func (f Entry) Hidden() bool { return f.opt != nil && (f.opt.Hidden || f.opt.Instead != "") }

// Takes tells whether the flag takes a value.
func (f Entry) Takes() bool {
	_, takes := f.arity()
	return takes
}

// Choices are the words that the flag takes, when they are few.
func (f Entry) Choices() []string {
	switch {
	case f.own != nil:
		return f.own.Words
	case f.opt != nil:
		return f.opt.Built()
	}
	return nil
}

// Find is the flag that a word names, with its dashes; - and _ are the same.
func (t *Table) Find(name string) (Entry, bool) {
	f, ok := t.byName[name]
	if !ok && strings.HasPrefix(name, "--") {
		f, ok = t.byName[strings.ReplaceAll(name, "_", "-")]
	}
	return f, ok
}

// NewTable is the flags of a command: its own and the settings opts.
func NewTable(own []Switch, opts []schema.Option) *Table {
	t := &Table{byName: make(map[string]Entry, 2*len(opts))}
	add := func(name string, e Entry) {
		if name != "--" && name != "-" {
			t.byName[name] = e
			t.Names = append(t.Names, name)
		}
	}
	for i := range opts {
		o := &opts[i]
		for _, n := range o.Names {
			add("--"+n, Entry{opt: o})
		}
		add("-"+o.Short, Entry{opt: o})
		add("--"+o.Neg, Entry{opt: o, neg: true})
	}
	for i := range own { // the program's own names win
		add("--"+own[i].Name, Entry{own: &own[i]})
		add("-"+own[i].Short, Entry{own: &own[i]})
	}
	return t
}

// read reads the flag that word is, with its value words from args.
func (t *Table) read(word string, args []string) (f Entry, name string, words, rest []string, err error) {
	name, value, glued := strings.Cut(word, "=")
	f, ok := t.Find(name)
	if short, isShort := t.byName[word[:2]]; !ok && isShort { // -b4
		if _, takes := short.arity(); takes {
			f, ok, name, value, glued = short, true, word[:2], word[2:], true
		}
	}
	if !ok {
		return f, name, nil, nil, t.Unknown(name)
	}
	many, takes := f.arity()
	switch {
	case !takes && !glued:
		return f, name, []string{f.word()}, args, nil
	case glued:
		words = []string{value}
		if f.neg {
			return f, name, nil, nil, diag.New(name+" takes no value", "drop ="+value)
		}
	case len(args) == 0 || IsFlag(args[0]):
		if f.opt != nil && f.opt.Bare {
			return f, name, nil, args, nil
		}
		return f, name, nil, nil, diag.New(name+" needs a value", t.meant(name))
	default:
		words, args = args[:1:1], args[1:]
	}
	for many && !glued && len(args) > 0 && !IsFlag(args[0]) {
		words, args = append(words, args[0]), args[1:]
	}
	return f, name, words, args, nil
}

// meant is the hint for a flag without its value where a longer one takes none: --streaming
// for --stream.
func (t *Table) meant(name string) string {
	for _, n := range t.Names {
		f := t.byName[n]
		if _, takes := f.arity(); !takes && strings.HasPrefix(n, name) && !f.Hidden() {
			return "did you mean " + n + "?"
		}
	}
	return ""
}

// arity says whether the flag takes several words, and whether it takes any.
func (f Entry) arity() (many, takes bool) {
	if f.own != nil {
		return false, f.own.Arg != ""
	}
	return f.opt.Words, f.opt.Kind != "bool"
}

// takesHint says what the flag takes, for a word that came after all of it.
func (f Entry) takesHint(name string) string {
	switch many, takes := f.arity(); {
	case f.opt == nil || many:
		return ""
	case !takes && f.neg:
		return name + " takes no value"
	case !takes:
		return name + " takes no value; " + name + "=false switches it off"
	case f.opt.Sweep:
		return name + " takes one value; a list is written with commas and sweeps: " + name + " 1,2,4"
	case f.opt.Many && f.opt.Split:
		return name + " takes one word; several values are written with commas: " + name + " A,B,C"
	}
	return name + " takes one value"
}

// word is what a flag without value stands for.
func (f Entry) word() string {
	if f.own != nil {
		return ""
	}
	return strconv.FormatBool(!f.neg)
}

// Unknown refuses a flag that is not there, with the one that was probably meant:
// the one that has all of its words, one spelt alike, else those that have it as one of
// their words, first those of the load that is measured.
func (t *Table) Unknown(name string) error {
	names := append(slices.Clone(t.Names), "--help")
	slices.Sort(names)
	e := diag.New(name+": unknown flag", "")
	words := strings.Split(strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-"), "-")
	var with []string
	measured := map[string]bool{}
	for _, n := range names {
		f, _ := t.Find(n)
		has := strings.Split(strings.TrimPrefix(n, "--"), "-")
		if !f.Hidden() && strings.HasPrefix(n, "--") && !slices.ContainsFunc(words,
			func(w string) bool { return !slices.Contains(has, w) }) {
			with = append(with, n)
			measured[n] = f.opt != nil && strings.HasPrefix(f.opt.Path, "benchmark.phases.profiling.")
		}
	}
	s := schema.Suggest(name, names)
	if other := elsewhere[strings.TrimLeft(name, "-")]; slices.Contains(names, other) {
		s = other
	}
	if len(words) > 1 && len(with) == 1 {
		s = with[0]
	}
	if s != "" {
		e.Hint = "did you mean " + s + "?"
		return e
	}
	slices.SortStableFunc(with, func(a, b string) int {
		if measured[a] != measured[b] {
			if measured[a] {
				return -1
			}
			return 1
		}
		return len(a) - len(b)
	})
	if len(with) > 0 {
		e.Hint = "there is " + strings.Join(with[:min(len(with), mostNamed)], ", ")
	}
	return e
}

// elsewhere are flags of other tools, and what people call things, with the flag here.
var elsewhere = map[string]string{
	"slo": "--goodput", "slos": "--goodput", "trials": "--num-profile-runs", "runs": "--num-profile-runs",
	"repeat": "--num-profile-runs", "repeats": "--num-profile-runs", "repetitions": "--num-profile-runs",
	"qps": "--request-rate", "rps": "--request-rate", "rate": "--request-rate", "users": "--concurrency",
	"num-prompts": "--request-count", "requests": "--request-count", "duration": "--benchmark-duration", "input-len": "--isl", "output-len": "--osl",
	"max-concurrency": "--concurrency", "base-url": "--url",
}

// mostNamed is how many flags a hint names.
const mostNamed = 3
