package schema

import (
	"regexp"
	"strings"
)

var envRef = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\}`)

// expandEnv replaces ${VAR} and ${VAR:default}, once per file.
func expandEnv(root *node, lookup func(string) (string, bool)) (*node, Errors) {
	return root.replace("", func(path string, n *node) (*node, Errors) {
		s, ok := n.value.(string)
		if !ok || !strings.Contains(s, "${") || kept(path) {
			return n, nil
		}
		var bad Errors
		out := envRef.ReplaceAllStringFunc(s, func(ref string) string {
			m := envRef.FindStringSubmatch(ref)
			if v, ok := lookup(m[1]); ok {
				return v
			}
			if !strings.Contains(ref, ":") {
				bad = append(bad, mistake(n.origin, path, "environment variable "+m[1]+" is not set", "export it or write ${"+m[1]+":default}")...)
			}
			return m[2]
		})
		if bad != nil || out == s {
			return n, bad
		}
		c := textNode(out, n.origin)
		c.origin.Text = s
		return c, nil
	})
}

// kept tells whether the templates at path are sent to the server or rendered
// after the run, and so are not ours to read.
func kept(path string) bool {
	for _, p := range []string{"benchmark.artifacts.user_files", "benchmark.endpoint.template", "benchmark.endpoint.extra.payload_template"} {
		if path == p || strings.HasPrefix(path, p+".") {
			return true
		}
	}
	return strings.Contains(path, ".records.")
}
