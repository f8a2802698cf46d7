// Package fields is what the schema says about each field, as tables: which fields
// there are, what they take, their defaults, what is known and not built, and the
// facts of the catalogues. In goes a path or a tree, out comes the row of a field
// or the tree in its one form. The tables are generated from the CUE sources and
// from the Go catalogues by go generate ./schema; nothing here evaluates CUE.
package fields

import (
	"strings"

	"aiperf.dev/aiperf/schema/source"
)

// Leaf is what the steps before CUE need to know of one field: the table of
// them (index_gen.go) is generated from the schema.
type Leaf struct {
	Path    string   // members of lists are "*", those of maps with free keys "+"
	Keys    []string // members of an object, in schema order
	Enum    []string // the words it takes
	Unbuilt []string // the words of it that are not built yet
	Def     string   // default as JSON
	When    []string // the default holds for these values of the sibling type; nil: always
	Unless  []string // nor beside these siblings
	Lower   string   // a shorthand key: where its value goes
	Instead string   // what to do in place of a field that is not built
	Is      Traits
}

type Traits uint32

const (
	IsDuration    Traits = 1 << iota // seconds, or text with a unit
	IsShape                          // a distribution: a number or an object
	IsFree                           // keys belong to the user
	IsSecret                         // never printed
	IsUnsupported                    // declared, not built yet
	IsText                           // takes any text: numbers stay words
	IsList                           // takes a list
	IsObject                         // takes an object
	IsNumber                         // takes a number
	IsBool                           // takes true or false
	IsRamp                           // a duration, or an object with one
	IsKept                           // templates and ${} inside are not ours to read
	IsFilled                         // optional, with a default that Go fills in
	IsOurs                           // AIPerf has no such field
	IsBare                           // a field of a phase whose bare name means that of the profiling phase
	IsInherited                      // a warmup phase made by flags takes it from the measured phase
	IsFraction                       // takes a number that need not be whole
)

func (l *Leaf) Has(t Traits) bool { return l != nil && l.Is&t != 0 }

// Usual is the default of a field that takes words, "" without one.
func (l *Leaf) Usual() string { return strings.Trim(l.Def, `"`) }

// Table finds leaves by path.
type Table map[string]*Leaf

// New is the generated table by path; ours to read, never to change.
func New() Table {
	x := make(Table, len(leaves))
	for i := range leaves {
		x[leaves[i].Path] = &leaves[i]
	}
	return x
}

// At is the leaf at the path of a tree, where members of lists are numbers or
// names. It is nil for an unknown path, and free for one below free keys.
func (x Table) At(path string) *Leaf {
	if l := x[path]; l != nil {
		return l
	}
	_, l := x.Resolve(path)
	return l
}

// Resolve is path as the table spells it, with its leaf.
func (x Table) Resolve(path string) (string, *Leaf) {
	at, l := "", x[""]
	for part := range strings.SplitSeq(path, ".") {
		name, next := x.child(at, l, part)
		if next == nil {
			return "", nil
		}
		at, l = source.Join(at, name), next
	}
	return at, l
}

// child is one step of resolve: the spelling and the leaf of a member.
func (x Table) child(at string, l *Leaf, part string) (string, *Leaf) {
	for _, name := range []string{part, "*", "+"} {
		if next := x[source.Join(at, name)]; next != nil {
			return name, next
		}
	}
	if l.Has(IsFree) {
		return "+", &Leaf{Path: source.Join(at, "+"), Is: IsFree | IsText | l.Is&(IsSecret|IsUnsupported|IsKept)}
	}
	return "", nil
}

// Starred is path as the table spells it.
func (x Table) Starred(path string) string {
	at, _ := x.Resolve(path)
	return at
}

// Leaves are the rows of the table in schema order; ours to read, never to change.
func Leaves() []Leaf { return leaves }
