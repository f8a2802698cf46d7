package fields

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
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

// Instead is what to do in place of a word of the field at path; the whole
// field where word is "".
func Instead(path, word string) string {
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

// AbsentAt is the row that path lies in, spelled with names or numbers for
// members of lists, and path as the row spells it; nil for any other.
func AbsentAt(path string) (*Absent, string) {
	parts := source.SplitPath(path)
	for p, row := range absentPaths {
		own := source.SplitPath(p)
		if len(own) <= len(parts) && slices.EqualFunc(own, parts[:len(own)], func(o, part string) bool { return o == part || o == "*" }) {
			return row, source.Join(p, strings.Join(parts[len(own):], "."))
		}
	}
	return nil, ""
}

// TakeAbsent takes fields that are absent out of n, the object at the starred
// path at, and calls note for those that ask for something.
func TakeAbsent(n *source.Node, at, path string, note func(path string, row *Absent, at source.Origin)) {
	if at == "sweep.runs.*" {
		at = ""
	}
	for _, f := range slices.Clone(n.Fields) {
		p := source.Join(at, f.Name)
		row := absentPaths[p]
		if row == nil {
			TakeAbsent(f.Value, p, source.Join(path, f.Name), note)
			continue
		}
		n.Take(f.Name)
		if where, asks := row.Asked(f.Value, p); asks {
			note(source.Join(path, f.Name), row, where)
		}
	}
	for i, it := range n.Items {
		TakeAbsent(it, source.Join(at, "*"), source.Join(path, fmt.Sprint(i)), note)
	}
}

// Asked tells whether n asks for something, and where.
func (row *Absent) Asked(n *source.Node, path string) (source.Origin, bool) {
	for _, f := range n.Fields {
		if where, asks := row.Asked(f.Value, source.Join(path, f.Name)); asks {
			return where, true
		}
	}
	switch n.Kind {
	case source.Object:
		return n.Origin, false
	case source.List:
		return n.Origin, len(n.Items) > 0 && !row.idle(n, path)
	case source.Null:
		return n.Origin, false
	}
	return n.Origin, n.Value != false && !row.idle(n, path)
}

func (row *Absent) idle(n *source.Node, path string) bool {
	var a, b any
	js, err := json.Marshal(n.Plain())
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
			showAt(tree, source.SplitPath(strings.TrimPrefix(path, "benchmark.")), json.RawMessage(value))
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
