package compat

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
)

// YAMLToCUE is a YAML experiment in CUE, line by line: order and comments stay,
// anchors are written out, keys become snake_case.
func YAMLToCUE(text []byte) (out []byte, secrets []string, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, nil, err
	}
	if len(doc.Content) == 0 {
		return nil, nil, diag.New("config convert: the file is empty",
			"aiperf config init > my.cue writes one to start from")
	}
	var c yamlReader
	e := c.entry(doc.Content[0], false)
	e.above, e.below = comment(doc.HeadComment), comment(doc.FootComment)
	out, err = e.cue()
	return out, c.secrets, err
}

// CUEToCUE is an experiment in CUE as cue fmt leaves it, without secrets, whose
// names come back, too.
func CUEToCUE(text []byte) (out []byte, secrets []string, err error) {
	f, err := parser.ParseFile("", text, parser.ParseComments)
	if err != nil {
		return nil, nil, err
	}
	ast.Walk(f, func(n ast.Node) bool {
		field, ok := n.(*ast.Field)
		if !ok {
			return true
		}
		name, _, err := ast.LabelName(field.Label)
		lit, isText := field.Value.(*ast.BasicLit)
		if err != nil || !isText || lit.Kind != token.STRING {
			return true
		}
		if s, err := literal.Unquote(lit.Value); err == nil && isSecret(name, s) {
			lit.Value, secrets = literal.String.Quote("${"+variable(name)+"}"), append(secrets, variable(name))
		}
		return true
	}, nil)
	out, err = format.Node(f)
	return out, secrets, err
}

type yamlReader struct{ secrets []string }

// users are the objects whose keys belong to the user, or to the server.
var users = []string{
	"headers", "extra", "variables", "slos", "metrics", "records", "template", "content", "parameters", "derive",
	"tags", "verdict",
}

// entry is n as an entry; in free objects keys stay as they are.
func (c *yamlReader) entry(n *yaml.Node, free bool) entry {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.MappingNode:
		e := entry{kind: schema.SaidObject}
		for _, m := range members(n) {
			e.fields = append(e.fields, c.member(m[0], m[1], free))
		}
		return e
	case yaml.SequenceNode:
		e := entry{kind: schema.SaidList}
		for _, it := range n.Content {
			m := c.entry(it, free)
			m.above, m.comment, m.below = comment(it.HeadComment), comment(it.LineComment), comment(it.FootComment)
			e.items = append(e.items, m)
		}
		return e
	}
	return entry{kind: schema.SaidLeaf, value: yamlScalar(n)}
}

func (c *yamlReader) member(key, value *yaml.Node, free bool) entry {
	name := key.Value
	if !free {
		name = snake(name)
	}
	m := c.entry(value, free || slices.Contains(users, name))
	m.name, m.above, m.below = name, comment(key.HeadComment),
		joined(comment(key.FootComment), comment(value.FootComment))
	if m.comment = comment(value.LineComment); m.comment == "" {
		m.comment = comment(key.LineComment)
	}
	if s, ok := m.value.(string); ok && isSecret(name, s) {
		env := variable(name)
		m.value, c.secrets = "${"+env+"}", append(c.secrets, env)
	}
	return m
}

// isSecret reports whether a value is a credential that is written out.
func isSecret(key, value string) bool {
	return secretKey(key) && !strings.Contains(value, "${") && !strings.Contains(value, "{{")
}

// variable is the name of the environment's that a credential is taken from.
func variable(key string) string { return strings.ToUpper(strings.ReplaceAll(key, "-", "_")) }

// secretKey reports whether a key names a credential.
func secretKey(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	for _, s := range []string{"api_key", "apikey", "authorization", "password", "secret", "cookie"} {
		if strings.Contains(name, s) {
			return true
		}
	}
	return false
}

// members are the pairs of a mapping with << written out: what is said here
// comes before what is merged in.
func members(n *yaml.Node) [][2]*yaml.Node {
	var own, merged [][2]*yaml.Node
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != "!!merge" {
			own = append(own, [2]*yaml.Node{n.Content[i], n.Content[i+1]})
			seen[n.Content[i].Value] = true
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != "!!merge" {
			continue
		}
		from := []*yaml.Node{n.Content[i+1]}
		if from[0].Kind == yaml.SequenceNode {
			from = from[0].Content
		}
		for _, f := range from {
			if f.Kind == yaml.AliasNode {
				f = f.Alias
			}
			for _, m := range members(f) {
				if !seen[m[0].Value] {
					seen[m[0].Value] = true
					merged = append(merged, m)
				}
			}
		}
	}
	return append(merged, own...)
}

func yamlScalar(n *yaml.Node) any {
	var v any
	if err := n.Decode(&v); err != nil {
		return n.Value
	}
	switch v := v.(type) {
	case nil, bool, string:
		return v
	case int:
		return int64(v)
	case int64, uint64:
		return v
	case float64:
		if math.IsNaN(v) || math.IsInf(v, -1) {
			return n.Value
		}
		return v
	}
	return n.Value // a time stamp is text to us
}

var hump = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// snake is a camelCase key in snake_case.
func snake(key string) string {
	if strings.ContainsAny(key, " .-/") {
		return key
	}
	return strings.ToLower(hump.ReplaceAllString(key, "${1}_${2}"))
}

// comment is a YAML comment without its marks.
func comment(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		lines = append(lines, strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#")))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
