// Package flags is the command line's view of an experiment. In go the words of a
// flag, out come assignments to paths; the table of flags is generated from the
// schema. A flag that means more than "set a path" has a row in actions.go.
package flags

import "slices"

// Option is one flag: a leaf of the schema as the command line sees it.
type Option struct {
	Path       string   // where its value goes: benchmark.phases.profiling.rate
	Names      []string // long names without dashes, the main one first
	Short, Neg string   // one letter; the name that means false
	Kind       string   // bool, int, number, string
	Enum       []string // the words it takes, when they are few
	Absent     []string // those of Enum that are known and not built
	Default    string   // as it would be typed; "" when there is none
	Many       bool     // may be given several times
	Words      bool     // takes several words at once: -u a b
	Split      bool     // a comma separates values
	Sweep      bool     // a comma list makes an axis
	Secret     bool     // its value is never printed
	Hidden     bool     // left out of help
	Unit       string
	Doc        string
	Group      string // heading in help
	Deprecated string // what to use instead, and why
	// Unsupported says that the field is declared and not built yet.
	Unsupported bool
	Instead     string         // what to do in place of a flag that is known and not built
	Bare        bool           // may stand without a word
	Type        string         // what it chooses as the type of the object its value goes to
	Do          string         // name of the row in flagActions, for a flag that sets more than its path
	At          string         // member of the field the flag sets: mean, stddev
	off         bool           // typed as Neg
	aside       string         // where the value of an absent flag is shown
	with        map[string]any // what an absent flag sets beside it
}

// Built are the words of Enum that can be used.
func (o Option) Built() []string {
	return slices.DeleteFunc(slices.Clone(o.Enum), func(w string) bool { return slices.Contains(o.Absent, w) })
}

// Options are the flags in schema order. They come from a generated table, so
// that help, completion and parsing need no CUE. Flags of AIPerf that are not
// here come last: they have Instead.
func Options() []Option { return append(slices.Clone(options), absentOptions()...) }

// Typed is the flag as people type it: by its first name, or one less than half as long.
func (o Option) Typed() string {
	name := o.Names[0]
	for _, other := range o.Names {
		if 2*len(other) < len(o.Names[0]) && len(other) < len(name) {
			name = other
		}
	}
	return "--" + name
}
