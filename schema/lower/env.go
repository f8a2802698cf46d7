package lower

import (
	"regexp"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema/source"
)

var envRef = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\}`)

// UnsetError is a variable of the environment that an experiment reads and nobody has set.
type UnsetError string

func (e UnsetError) Error() string { return string(e) + " is not set" }

// ExpandEnv replaces ${VAR} and ${VAR:default}, once per file. Values are those that
// the environment gave.
func ExpandEnv(root *source.Node, lookup func(string) (string, bool)) (values []string, bad diag.Errors) {
	_, bad = root.Replace("", func(path string, n *source.Node) (*source.Node, diag.Errors) {
		s, ok := n.Value.(string)
		if !ok || !strings.Contains(s, "${") || kept(path) {
			return n, nil
		}
		var bad diag.Errors
		out := envRef.ReplaceAllStringFunc(s, func(ref string) string {
			m := envRef.FindStringSubmatch(ref)
			if v, ok := lookup(m[1]); ok {
				values = append(values, v)
				return v
			}
			if !strings.Contains(ref, ":") {
				mistake := source.Mistake(n.Origin, path, "environment variable "+m[1]+" is not set",
					"export it or write ${"+m[1]+":default}")
				mistake[0].Cause = UnsetError(m[1])
				bad = append(bad, mistake...)
			}
			return m[2]
		})
		if bad != nil || out == s {
			return n, bad
		}
		c := source.TextNode(out, n.Origin)
		c.Origin.Text = s
		return c, nil
	})
	return values, bad
}

// kept reports whether the templates at path are sent to the server or rendered
// after the run, and so are not ours to read.
func kept(path string) bool {
	for _, p := range []string{
		"benchmark.artifacts.user_files", "benchmark.endpoint.template",
		"benchmark.endpoint.rpc.body", "benchmark.endpoint.extra.payload_template",
	} {
		if path == p || strings.HasPrefix(path, p+".") {
			return true
		}
	}
	return strings.Contains(path, ".records.")
}
