package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/suggest"
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
	// that repeats a default is not refused.
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

// instead is what to do in place of a word of the field at path; the whole
// field where word is "".
func instead(path, word string) string {
	for _, row := range absents {
		if slices.Contains(row.Paths, path) && (word == "" || slices.ContainsFunc(row.Words, func(w string) bool { return suggest.Fold(w) == suggest.Fold(word) })) {
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

// absentAt is the row that path lies in, spelled with names or numbers for
// members of lists, and path as the row spells it; nil for any other.
func absentAt(path string) (*Absent, string) {
	parts := splitPath(path)
	for p, row := range absentPaths {
		own := splitPath(p)
		if len(own) <= len(parts) && slices.EqualFunc(own, parts[:len(own)], func(o, part string) bool { return o == part || o == "*" }) {
			return row, join(p, strings.Join(parts[len(own):], "."))
		}
	}
	return nil, ""
}

// AbsentAt is the row of the field at path, which may name members of lists;
// nil for a field that is here.
func AbsentAt(path string) *Absent {
	row, _ := absentAt(path)
	return row
}

// takeAbsent takes fields that are absent out of n, the object at the starred
// path at, and calls note for those that ask for something.
func takeAbsent(n *node, at, path string, note func(path string, row *Absent, at Origin)) {
	if at == "sweep.runs.*" {
		at = ""
	}
	for _, f := range slices.Clone(n.fields) {
		p := join(at, f.name)
		row := absentPaths[p]
		if row == nil {
			takeAbsent(f.value, p, join(path, f.name), note)
			continue
		}
		n.take(f.name)
		if where, asks := row.asked(f.value, p); asks {
			note(join(path, f.name), row, where)
		}
	}
	for i, it := range n.items {
		takeAbsent(it, join(at, "*"), join(path, fmt.Sprint(i)), note)
	}
}

// asked tells whether n asks for something, and where.
func (row *Absent) asked(n *node, path string) (Origin, bool) {
	for _, f := range n.fields {
		if where, asks := row.asked(f.value, join(path, f.name)); asks {
			return where, true
		}
	}
	switch n.kind {
	case object:
		return n.origin, false
	case list:
		return n.origin, len(n.items) > 0 && !row.idle(n, path)
	case null:
		return n.origin, false
	}
	return n.origin, n.value != false && !row.idle(n, path)
}

func (row *Absent) idle(n *node, path string) bool {
	var a, b any
	js, err := json.Marshal(n.plain())
	if err != nil || json.Unmarshal(js, &a) != nil || json.Unmarshal([]byte(row.Idle[path]), &b) != nil {
		return false
	}
	return suggest.Fold(fmt.Sprint(a)) == suggest.Fold(fmt.Sprint(b))
}

// AsAIPerf is a resolved body, as JSON, with the values that AIPerf would show
// of what is absent here: its files and tools expect them.
func AsAIPerf(body []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var tree map[string]any
	if err := dec.Decode(&tree); err != nil {
		panic("a resolved body is not JSON: " + err.Error()) // we wrote it
	}
	for _, row := range absents {
		if !row.Shown {
			continue
		}
		for path, value := range row.Idle {
			showAt(tree, splitPath(strings.TrimPrefix(path, "benchmark.")), json.RawMessage(value))
		}
	}
	out, err := json.Marshal(tree)
	if err != nil {
		panic("a resolved body cannot be written: " + err.Error()) // it was read
	}
	return out
}

// showAt puts a value where none is; the objects on the way are made, members
// of lists are not.
func showAt(tree map[string]any, path []string, value json.RawMessage) {
	key := path[0]
	if len(path) == 1 {
		if _, said := tree[key]; !said {
			tree[key] = value
		}
		return
	}
	if path[1] == "*" {
		items, _ := tree[key].([]any)
		for _, it := range items {
			if o, ok := it.(map[string]any); ok {
				showAt(o, path[2:], value)
			}
		}
		return
	}
	sub, ok := tree[key].(map[string]any)
	if !ok {
		sub = map[string]any{}
		tree[key] = sub
	}
	showAt(sub, path[1:], value)
}
