package endpoint

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jmespath/go-jmespath"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/schema"
)

// rpc is any method of a gRPC server that describes it by reflection: its
// messages are written and read as JSON.
var rpc = Spec{
	Type: "grpc", Title: "LLM",
	Doc:       "any gRPC method, known by reflection: its message is a Jinja template of JSON",
	CanStream: true, ProducesTokens: true, TakesText: true, TakesSystem: true, NoEnd: true, RPC: true,
	Takes: Images | Audios | Videos, Settings: []string{"rpc"}, Configure: configureRPC,
	Body: templateBody(rpcPlace("body"), nil), Read: readAny, HasContent: notEmpty(readAny),
}

// rpcPlace is a member of endpoint.rpc.
func rpcPlace(name string) place { return place{"rpc." + name, "endpoint.rpc." + name} }

func configureRPC(s *Spec, e *schema.Endpoint) error {
	if e.RPC == nil {
		return diag.Errorf("grpc: it needs endpoint.rpc").Try("rpc: {method: pkg.Service/Method, body: '{\"prompt\": {{ text|tojson }}}', text: text}")
	}
	if !allRPC(e.URLs) {
		return diag.Errorf("endpoint.urls: type grpc is spoken to gRPC servers only").Try("write the address like grpc://localhost:8001")
	}
	err := s.useTemplate(rpcPlace("body"), e.RPC.Body)
	if err != nil {
		return err
	}
	if s.Read, err = readField(rpcPlace("text"), e.RPC.Text); err != nil {
		return err
	}
	s.Path = "/" + strings.TrimPrefix(e.RPC.Method, "/")
	s.HasContent, s.TextAt = notEmpty(s.Read), "rpc.text "+e.RPC.Text
	if e.RPC.Done == "" {
		return nil
	}
	done, err := compilePath(rpcPlace("done"), e.RPC.Done)
	if err != nil {
		return err
	}
	s.Read, s.NoEnd, s.EndAt = endedBy(done, s.Read), false, "rpc.done "+e.RPC.Done
	return nil
}

// RPCLeads says which of the paths of r asks for a field that messages of this
// name and these fields do not have. What lies below a field only answers tell.
func RPCLeads(r *schema.RPC, message string, fields []string) error {
	for _, path := range []struct{ name, text string }{{"text", r.Text}, {"done", r.Done}} {
		tree, err := jmespath.NewParser().Parse(path.text)
		if err != nil || path.text == "" || message == "" {
			continue // nothing to look for, or it is said elsewhere
		}
		name := treeOf(tree.PrettyPrint(0)).unknown(fields)
		if name == "" {
			continue
		}
		e := diag.Errorf("endpoint.rpc.%s: %s has no field %s", path.name, message,
			name).Try("its fields are " + strings.Join(fields, ", "))
		if name == "true" || name == "false" {
			e = e.Try("in a JMESPath the value is written in backquotes: `" + name + "`")
		}
		e.Code = diag.Usage
		return e
	}
	return nil
}

// part is a part of a JMESPath.
type part struct {
	kind, value string
	of          []*part
	depth       int
}

// partLine and valueLine are how the library prints a part and its value.
var (
	partLine  = regexp.MustCompile(`^( *)(AST\w+) \{$`)
	valueLine = regexp.MustCompile(`^ *value: (.*)$`)
)

// treeOf reads a JMESPath as the library prints it, which tells its parts in no
// other way.
func treeOf(printed string) *part {
	root := &part{depth: -1}
	open := []*part{root} // from the root to the part before
	for line := range strings.Lines(printed) {
		line = strings.TrimSuffix(line, "\n")
		if m := valueLine.FindStringSubmatch(line); m != nil {
			open[len(open)-1].value = m[1]
		}
		m := partLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		p := &part{kind: m[2], depth: len(m[1])}
		for open[len(open)-1].depth >= p.depth {
			open = open[:len(open)-1]
		}
		above := open[len(open)-1]
		above.of = append(above.of, p)
		open = append(open, p)
	}
	return root
}

// unknown is the first name that p looks for in the answer itself and that is
// none of its fields, "" for none. Of alternatives one has to be known.
func (p *part) unknown(fields []string) string {
	within := p.of
	switch p.kind {
	case "ASTField":
		// a field null is null, as is meant
		if name, err := strconv.Unquote(p.value); err == nil && name != "null" && !slices.Contains(fields, name) {
			return name
		}
	case "ASTExpRef":
		return "" // what it names lies in elements of a list
	case "ASTSubexpression", "ASTIndexExpression", "ASTPipe", "ASTSlice", "ASTFlatten",
		"ASTProjection", "ASTFilterProjection", "ASTValueProjection":
		within = within[:min(1, len(within))] // what follows looks into what the first part has found
	case "ASTOrExpression":
		first := ""
		for _, either := range within {
			name := either.unknown(fields)
			if name == "" {
				return ""
			}
			first = cmp.Or(first, name)
		}
		return first
	}
	for _, each := range within {
		if name := each.unknown(fields); name != "" {
			return name
		}
	}
	return ""
}

// notEmpty is the test for content where only reading tells.
func notEmpty(read func([]byte, bool) (Chunk, error)) func([]byte) bool {
	return func(data []byte) bool {
		c, err := read(data, true)
		return err == nil && !c.Empty
	}
}

// endedBy reads as read does, and looks whether a message is the last one. That
// the server has no more to say makes no message the last one.
func endedBy(done *jmespath.JMESPath, read func([]byte, bool) (Chunk, error)) func([]byte, bool) (Chunk, error) {
	return func(data []byte, stream bool) (Chunk, error) {
		c, err := read(data, stream)
		if c.Kind == record.Done {
			return Chunk{Empty: true, Usage: claims.NoUsage}, err
		}
		var v any
		if err != nil || c.Finish != "" || json.Unmarshal(data, &v) != nil {
			return c, err
		}
		if found, err := done.Search(v); err == nil && holds(found) {
			c.Finish, c.Last = "done", true
		}
		return c, nil
	}
}

// holds reports whether a value is true in JMESPath's sense: not null, not false,
// not empty.
func holds(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}
