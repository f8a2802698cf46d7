package endpoint

import (
	"encoding/json"
	"regexp"
	"slices"
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
	Takes: Images | Audios | Videos, Configure: configureRPC,
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

// plainPath is a JMESPath that goes down by names and indices alone.
var plainPath = regexp.MustCompile(`^([A-Za-z_]\w*)(\.[A-Za-z_]\w*|\[[-\d:*]*\])*$`)

// RPCLeads says which of the paths of r begins with a field that messages of this
// name and these fields do not have. What other paths find only answers tell.
func RPCLeads(r *schema.RPC, message string, fields []string) error {
	for _, path := range []struct{ name, text string }{{"text", r.Text}, {"done", r.Done}} {
		m := plainPath.FindStringSubmatch(path.text)
		if m == nil || message == "" || slices.Contains(fields, m[1]) {
			continue
		}
		e := diag.Errorf("endpoint.rpc.%s: %s has no field %s", path.name, message, m[1]).Try("its fields are " + strings.Join(fields, ", "))
		e.Code = diag.Usage
		return e
	}
	return nil
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

// holds tells whether a value is true in JMESPath's sense: not null, not false,
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
