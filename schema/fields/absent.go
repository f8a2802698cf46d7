package fields

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/source"
)

// Absent is something that AIPerf has and this program does not have yet. It is
// known by name, so that a file or a command line made for AIPerf is refused
// with the one sentence that helps. Building a thing removes its row.
type Absent struct {
	What    string   // in a word or two, for lists
	Instead string   // what to do here
	Paths   []string // fields of a file with all below them; * is any member of a list
	// Words are the only ones of the field that are absent; nil: all of it is.
	Words []string
	// Idle are values of AIPerf's that ask for nothing, as JSON by path: a file
	// that repeats a default is not refused. A number with a point need not be whole.
	Idle map[string]string
	// Shown says that AIPerf writes these values into its files, said or not.
	Shown bool
	Flags []AbsentFlag
}

// AbsentFlag is as much of a flag as reading a command line needs.
type AbsentFlag struct {
	Names   []string // without dashes
	Neg     string   // the name that means false
	Kind    string   // bool takes no value
	Default string   // the value that asks for nothing
	Many    bool     // may be given several times
	Words   bool     // takes several words at once
	Alone   bool     // may stand without a word
	Split   bool     // a comma separates values
	Path    string   // the field it sets; "" for none that is shown
	Do      string   // the row of FlagActions that reads its words
	// With are fields that AIPerf sets beside it, where nothing else does.
	With map[string]any
}

// Absents is the table, in the order of AIPerf's documentation.
func Absents() []Absent { return absents }

// AbsentWords are the words of the field at path that are not built, where *
// is any member of a list.
func AbsentWords(path string) (out []string) {
	for _, row := range absents {
		if slices.Contains(row.Paths, path) {
			out = append(out, row.Words...)
		}
	}
	return out
}

// Instead is what to do in place of a word of the field at path; the whole
// field where word is "".
func Instead(path, word string) string {
	for _, row := range absents {
		if slices.Contains(row.Paths, path) && (word == "" ||
			slices.ContainsFunc(row.Words, func(w string) bool { return suggest.Fold(w) == suggest.Fold(word) })) {
			return row.Instead
		}
	}
	return ""
}

// absentPaths finds the row of a whole field that is absent.
var absentPaths = func() map[string]*Absent {
	m := map[string]*Absent{}
	for i := range absents {
		for _, p := range absents[i].Paths {
			if absents[i].Words == nil {
				m[p] = &absents[i]
			}
		}
	}
	return m
}()

// AbsentAt is the row that path lies in, spelled with names or numbers for
// members of lists, and path as the row spells it; nil for any other.
func AbsentAt(path string) (*Absent, string) {
	parts := source.SplitPath(path)
	for p, row := range absentPaths {
		own := source.SplitPath(p)
		if len(own) <= len(parts) && slices.EqualFunc(own, parts[:len(own)],
			func(o, part string) bool { return o == part || o == "*" }) {
			return row, source.Join(p, strings.Join(parts[len(own):], "."))
		}
	}
	return nil, ""
}

// Fraction tells of a field, whether it is built or not, if it takes numbers that
// need not be whole. A distribution keeps the number that it is given.
func (x Table) Fraction(path string) bool {
	if l := x.At(path); l != nil {
		return l.Has(IsFraction) && !l.Has(IsShape)
	}
	row, path := AbsentAt(path)
	if row == nil {
		return false
	}
	usual := row.Idle[path]
	return strings.Contains(usual, ".") && !strings.HasPrefix(usual, `"`) ||
		slices.ContainsFunc(row.Flags, func(f AbsentFlag) bool { return f.Path == path && f.Kind == "number" })
}

// PopAbsent removes fields that are absent out of n, the object at the starred
// path at, and calls note for those that ask for something; keep gets all.
func PopAbsent(
	n *source.Node, at, path string, note func(path string, row *Absent, at source.Origin),
	keep func(path string, n *source.Node),
) {
	if at == "sweep.runs.*" {
		at = ""
	}
	for _, f := range slices.Clone(n.Fields) {
		p := source.Join(at, f.Name)
		row := absentPaths[p]
		if row == nil {
			PopAbsent(f.Value, p, source.Join(path, f.Name), note, keep)
			continue
		}
		n.Pop(f.Name)
		keep(source.Join(path, f.Name), f.Value)
		if where, asks := row.Asked(f.Value, p); asks {
			note(source.Join(path, f.Name), row, where)
		}
	}
	for i, it := range n.Items {
		PopAbsent(it, source.Join(at, "*"), source.Join(path, fmt.Sprint(i)), note, keep)
	}
}

// Asked reports whether n asks for something, and where.
func (row *Absent) Asked(n *source.Node, path string) (source.Origin, bool) {
	if row.idle(n, path) {
		return n.Origin, false
	}
	for _, f := range n.Fields {
		if where, asks := row.Asked(f.Value, source.Join(path, f.Name)); asks {
			return where, true
		}
	}
	switch n.Kind {
	case source.Object:
		return n.Origin, false
	case source.List:
		return n.Origin, len(n.Items) > 0
	case source.Null:
		return n.Origin, false
	}
	return n.Origin, n.Value != false
}

func (row *Absent) idle(n *source.Node, path string) bool {
	var a, b any
	js, err := json.Marshal(n.Plain())
	if err != nil || json.Unmarshal(js, &a) != nil || json.Unmarshal([]byte(row.Idle[path]), &b) != nil {
		return false
	}
	return suggest.Fold(fmt.Sprint(a)) == suggest.Fold(fmt.Sprint(b))
}

// IsIdle reports whether v at path is what AIPerf has there when nobody asks.
func IsIdle(path string, v any) bool {
	row, path := AbsentAt(path)
	if row == nil || row.Idle[path] == "" {
		return false
	}
	var a, b any
	js, err := json.Marshal(v)
	return err == nil && json.Unmarshal(js, &a) == nil && json.Unmarshal([]byte(row.Idle[path]), &b) == nil &&
		reflect.DeepEqual(a, b)
}

// ShowIdle puts into a body the values that AIPerf would show of what is absent
// here, where nothing else is said.
func ShowIdle(body map[string]any) {
	for _, row := range absents {
		if !row.Shown {
			continue
		}
		for path, value := range row.Idle {
			PutAt(body, strings.TrimPrefix(path, "benchmark."), func(o map[string]any, key string) {
				if _, said := o[key]; !said {
					o[key] = json.RawMessage(value)
				}
			})
		}
	}
}

// PutAt calls put with the object that path ends in and its last part. Objects
// on the way are made; members of lists are not, they go by number, name, kind,
// or * for all.
func PutAt(tree map[string]any, path string, put func(o map[string]any, key string)) {
	key, below, deeper := strings.Cut(path, ".")
	if !deeper {
		put(tree, key)
		return
	}
	part, rest, _ := strings.Cut(below, ".")
	if items, ok := tree[key].([]any); ok {
		for i, it := range items {
			o, isObject := it.(map[string]any)
			if isObject && rest != "" && (part == "*" || part == strconv.Itoa(i) || part == o["name"] ||
				part == o["kind"]) {
				PutAt(o, rest, put)
			}
		}
		return
	}
	if part == "*" {
		return
	}
	sub, ok := tree[key].(map[string]any)
	if !ok {
		sub = map[string]any{}
		tree[key] = sub
	}
	PutAt(sub, below, put)
}
