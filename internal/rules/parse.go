package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
)

// Schema is the first line of a file of rules.
const Schema = "aiperf.rules/1"

// Bounds of a file.
const (
	largest = 1 << 20 // bytes
	most    = 200     // rules, cases, or lines of beyond
)

// Find is the set that a word on the command line or in an experiment names: a built-in one,
// or that of a file, with one of its cases behind a colon. locate, if not nil, says where a
// file is.
func Find(word string, locate func(file string) string) (*Set, error) {
	file, name := splitCase(word)
	if !isFile(file) {
		s, err := Builtin(file)
		if err != nil {
			return nil, err
		}
		return s.With(name)
	}
	if locate != nil {
		file = locate(file)
	}
	f, err := os.Open(file)
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, diag.New(fmt.Sprintf("%s: %v", file, err), "built in are "+words.And(Names()))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err != nil {
		return nil, diag.New(fmt.Sprintf("%s: %v", file, err), "name a file in YAML")
	}
	s, err := Parse(file, b)
	if err != nil {
		return nil, err
	}
	return s.With(name)
}

// splitCase cuts the case off a word: what stands behind its last colon, unless that colon is
// part of a path.
func splitCase(word string) (file, name string) {
	at := strings.LastIndexByte(word, ':')
	if at < 1 || strings.ContainsAny(word[at:], `/\`) {
		return word, ""
	}
	return word[:at], word[at+1:]
}

// isFile tells a file from the name of a built-in set.
func isFile(word string) bool {
	return strings.ContainsAny(word, `/\`) ||
		slices.ContainsFunc([]string{".yaml", ".yml", ".json"}, func(end string) bool { return strings.HasSuffix(word, end) })
}

// Parse reads a set of rules; file is its name in messages.
func Parse(file string, b []byte) (*Set, error) {
	p := &parser{file: file}
	if len(b) > largest {
		return nil, p.wrong(nil, "larger than 1 MiB", "a set of rules has a page or two")
	}
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, p.wrong(nil, "empty", "it begins with schema: "+Schema)
		}
		return nil, p.syntax(err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, p.wrong(nil, "more than one document", "drop the line ---")
	}
	s := p.set(doc.Content[0])
	if p.err != nil {
		return nil, p.err
	}
	s.Text, s.word = string(b), file
	return s, nil
}

// parser reads one file; its first mistake ends it.
type parser struct {
	file string
	err  error
}

// lineOf is the place in the words of the YAML library.
var lineOf = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

func (p *parser) syntax(err error) error {
	place, said := p.file, err.Error()
	if m := lineOf.FindStringSubmatch(words.Line(said)); m != nil {
		if said = m[2]; m[1] != "" {
			place += ":" + m[1]
		}
	}
	return &diag.Error{Place: place, Message: "no YAML: " + said, Hint: "strings with a colon stand in quotes"}
}

// wrong notes a mistake at n, nil for the whole file.
func (p *parser) wrong(n *yaml.Node, message, hint string) error {
	if p.err != nil {
		return p.err
	}
	place := p.file
	if n != nil {
		place = fmt.Sprintf("%s:%d:%d", p.file, n.Line, n.Column)
	}
	p.err = &diag.Error{Place: place, Message: message, Hint: hint}
	return p.err
}

// members calls a function for each member of a mapping, and reports which were there.
func (p *parser) members(n *yaml.Node, what string, of map[string]func(*yaml.Node)) map[string]bool {
	seen := map[string]bool{}
	if n.Kind != yaml.MappingNode {
		p.wrong(n, what+": expected names with values, got "+kindOf(n), "")
		return seen
	}
	for i := 0; i+1 < len(n.Content) && p.err == nil; i += 2 {
		name, v := n.Content[i].Value, n.Content[i+1]
		read, ok := of[name]
		switch {
		case !ok:
			p.unknown(n.Content[i], what, of)
		case seen[name]:
			p.wrong(n.Content[i], what+": "+name+" stands here twice", "keep one")
		case v.Kind == yaml.AliasNode:
			p.wrong(v, name+": expected a value, got an alias", "write the value out")
		default:
			seen[name] = true
			read(v)
		}
	}
	return seen
}

func (p *parser) unknown(n *yaml.Node, what string, of map[string]func(*yaml.Node)) {
	var names []string
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	hint := "there are " + words.And(names)
	if near := nearest(n.Value, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	p.wrong(n, what+" has no "+words.Clip(n.Value, 40), hint)
}

// list calls read for each entry of a sequence.
func (p *parser) list(n *yaml.Node, what string, read func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		p.wrong(n, what+": expected a list, got "+kindOf(n), "each entry begins with a dash")
		return
	}
	if len(n.Content) > most {
		p.wrong(n, fmt.Sprintf("%s: %d entries, at most %d are read", what, len(n.Content), most), "")
		return
	}
	for _, x := range n.Content {
		if x.Kind == yaml.AliasNode {
			p.wrong(x, what+": expected a value, got an alias", "write the value out")
		}
		if p.err != nil {
			return
		}
		read(x)
	}
}

// text reads a word or a sentence.
func (p *parser) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || strings.TrimSpace(n.Value) == "" {
		p.wrong(n, what+": expected text, got "+kindOf(n), "")
		return ""
	}
	return words.Line(n.Value)
}

// kindOf names what stands at n.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "names with values"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	default:
		if n.Tag == "!!null" || n.Value == "" {
			return "nothing"
		}
		return fmt.Sprintf("%q", words.Clip(n.Value, 40))
	}
}
