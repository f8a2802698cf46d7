package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/secret"
)

// ReadYAML parses YAML, and JSON as a part of it, into a tree.
func ReadYAML(name string, src []byte) (*Node, diag.Errors) {
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc yaml.Node
	switch err := decodeYAML(dec, &doc); {
	case errors.Is(err, io.EOF) || err == nil && (len(doc.Content) == 0 || isEmpty(doc.Content[0])):
		return nil, Mistake(Origin{Where: name}, "", "empty file", "aiperf config init writes one to start from")
	case err != nil:
		return nil, yamlErrors(name, src, err)
	}
	var more yaml.Node
	if err := decodeYAML(dec, &more); err == nil {
		return nil, Mistake(yamlOrigin(name, &more), "", "a second document", "one file holds one experiment")
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlErrors(name, src, err)
	}
	if bad := guardYAML(name, &doc); bad != nil {
		return nil, bad
	}
	r := yamlReader{name: name}
	root := r.node(doc.Content[0])
	if r.bad == nil && root.Kind != Object {
		r.suggest(doc.Content[0], "an experiment is a mapping, this is "+root.KindName(),
			"aiperf config init writes one to start from")
	}
	return root, r.bad
}

// ReadValue reads one value of YAML from a line; nothing is an empty text.
func ReadValue(text string) (*Node, diag.Errors) {
	var doc yaml.Node
	if err := decodeYAML(yaml.NewDecoder(strings.NewReader(text)), &doc); err != nil || len(doc.Content) == 0 {
		if strings.TrimSpace(text) == "" {
			return TextNode("", Origin{}), nil
		}
		return nil, Mistake(Origin{}, "", fmt.Sprintf("%q is not a value in YAML", Short(text)), "")
	}
	if bad := guardYAML("", &doc); bad != nil {
		return nil, bad
	}
	r := yamlReader{}
	n := r.node(doc.Content[0])
	return n, r.bad
}

// decodeYAML reads one document; the library panics on some broken input.
func decodeYAML(dec *yaml.Decoder, doc *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("not valid YAML: " + secret.Panic(p))
		}
	}()
	return dec.Decode(doc)
}

func isEmpty(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func yamlOrigin(name string, n *yaml.Node) Origin {
	return Origin{Source: ByFile, Where: fmt.Sprintf("%s:%d:%d", name, max(n.Line, 1), max(n.Column, 1))}
}

type yamlReader struct {
	name string
	bad  diag.Errors
}

func (r *yamlReader) fail(y *yaml.Node, message string) { r.suggest(y, message, "") }

func (r *yamlReader) suggest(y *yaml.Node, message, hint string) {
	r.bad = append(r.bad, Mistake(yamlOrigin(r.name, y), "", message, hint)...)
}

func (r *yamlReader) node(y *yaml.Node) *Node {
	n := &Node{Origin: yamlOrigin(r.name, y)}
	switch y.Kind {
	case yaml.AliasNode:
		return r.node(y.Alias)
	case yaml.MappingNode:
		n.Kind = Object
		r.known(y, "!!map")
		r.fill(n, y, false)
	case yaml.SequenceNode:
		n.Kind = List
		r.known(y, "!!seq")
		for _, c := range y.Content {
			n.Items = append(n.Items, r.node(c))
		}
	default:
		r.scalar(n, y)
	}
	return n
}

// known refuses tags that would make something else of a value.
func (r *yamlReader) known(y *yaml.Node, tag string) {
	if y.Tag != "" && y.Tag != tag {
		r.fail(y, "the tag "+y.Tag+" is not known")
	}
}

func (r *yamlReader) scalar(n *Node, y *yaml.Node) {
	n.Kind = Scalar
	switch y.Tag {
	case "!!null":
		n.Kind = Null
	case "!!bool":
		n.Value = strings.EqualFold(y.Value, "true")
	case "!!int":
		i, err := strconv.ParseInt(strings.ReplaceAll(y.Value, "_", ""), 0, 64)
		if err != nil {
			r.fail(y, "whole number "+Short(y.Value)+" is out of range")
		}
		n.Value = i
		if octal.MatchString(y.Value) {
			n.Origin.Text = y.Value
		}
	case "!!float":
		if manyDigits.MatchString(y.Value) {
			r.suggest(y, "whole number "+Short(y.Value)+" is out of range", "in quotes it is a text")
			n.Value = int64(1) // so that what is beside it is looked at, too
			return
		}
		f, err := yamlFloat(y.Value)
		if err != nil {
			r.fail(y, err.Error())
		}
		n.Value = f
	case "!!str", "!!timestamp", "":
		n.Value = y.Value
	default:
		r.fail(y, "the tag "+y.Tag+" is not known")
	}
}

// manyDigits is a whole number that YAML reads as a float, which would cut its digits.
var manyDigits = regexp.MustCompile(`^[-+]?[0-9_]{19,}$`)

func yamlFloat(s string) (float64, error) {
	switch strings.ToLower(strings.TrimPrefix(s, "+")) {
	case ".inf":
		return math.Inf(1), nil
	case "-.inf":
		return math.Inf(-1), nil
	case ".nan":
		return 0, errors.New(".nan is not a number")
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err != nil {
		return 0, errors.New("number " + Short(s) + " is out of range")
	}
	return f, nil
}

// fill adds the members of y; those of a merge key (<<) give way to the
// mapping's own.
func (r *yamlReader) fill(n *Node, y *yaml.Node, merged bool) {
	lines := map[string]int{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		switch {
		case k.Tag == "!!merge":
			r.merge(n, v)
			continue
		case k.Kind != yaml.ScalarNode:
			r.suggest(k, "a key must be one word", `put the template in quotes: "{{ … }}"`)
			continue
		}
		if line, twice := lines[k.Value]; twice {
			r.suggest(k, fmt.Sprintf("%s is given twice, first on line %d", k.Value, line), "keep one of them")
			continue
		}
		lines[k.Value] = k.Line
		if merged && n.Field(k.Value) != nil {
			continue
		}
		n.Put(k.Value, r.node(v))
		n.Field(k.Value).Origin = yamlOrigin(r.name, k)
	}
}

func (r *yamlReader) merge(n *Node, v *yaml.Node) {
	from := []*yaml.Node{v}
	if v.Kind == yaml.SequenceNode {
		from = v.Content
	}
	for _, m := range from {
		if m.Kind == yaml.AliasNode {
			m = m.Alias
		}
		if m.Kind != yaml.MappingNode {
			r.fail(v, "<< takes a mapping or a list of mappings")
			return
		}
		r.fill(n, m, true)
	}
}
