package schema

import "strings"

// leaf is what the steps before CUE need to know of one field: the table of
// them (index_gen.go) is generated from the schema.
type leaf struct {
	path    string   // members of lists are "*", those of maps with free keys "+"
	keys    []string // members of an object, in schema order
	enum    []string // the words it takes
	unbuilt []string // the words of it that are not built yet
	def     string   // default as JSON
	when    []string // the default holds for these values of the sibling type; nil: always
	unless  []string // nor beside these siblings
	lower   string   // a shorthand key: where its value goes
	is      traits
}

type traits uint16

const (
	isDuration    traits = 1 << iota // seconds, or text with a unit
	isShape                          // a distribution: a number or an object
	isFree                           // keys belong to the user
	isSecret                         // never printed
	isUnsupported                    // declared, not built yet
	isText                           // takes any text: numbers stay words
	isList                           // takes a list
	isObject                         // takes an object
	isNumber                         // takes a number
	isBool                           // takes true or false
	isRamp                           // a duration, or an object with one
	isKept                           // templates and ${} inside are not ours to read
	isFilled                         // optional, with a default that Go fills in
)

func (l *leaf) has(t traits) bool { return l != nil && l.is&t != 0 }

// index finds leaves by path.
type index map[string]*leaf

// newIndex is the generated table by path; ours to read, never to change.
func newIndex() index {
	x := make(index, len(leaves))
	for i := range leaves {
		x[leaves[i].path] = &leaves[i]
	}
	return x
}

// at is the leaf at the path of a tree, where members of lists are numbers or
// names. It is nil for an unknown path, and free for one below free keys.
func (x index) at(path string) *leaf {
	if l := x[path]; l != nil {
		return l
	}
	_, l := x.resolve(path)
	return l
}

// resolve is path as the table spells it, with its leaf.
func (x index) resolve(path string) (string, *leaf) {
	at, l := "", x[""]
	for part := range strings.SplitSeq(path, ".") {
		name, next := x.child(at, l, part)
		if next == nil {
			return "", nil
		}
		at, l = join(at, name), next
	}
	return at, l
}

// child is one step of resolve: the spelling and the leaf of a member.
func (x index) child(at string, l *leaf, part string) (string, *leaf) {
	for _, name := range []string{part, "*", "+"} {
		if next := x[join(at, name)]; next != nil {
			return name, next
		}
	}
	if l.has(isFree) {
		return "+", &leaf{path: join(at, "+"), is: isFree | isText | l.is&(isSecret|isUnsupported|isKept)}
	}
	return "", nil
}

// starred is path as the table spells it.
func (x index) starred(path string) string {
	at, _ := x.resolve(path)
	return at
}
