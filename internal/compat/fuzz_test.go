package compat

import (
	"strings"
	"testing"

	"cuelang.org/go/cue/parser"
	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/internal/argv"
)

// FuzzYAMLToCUE: whatever reads as YAML becomes text that reads as CUE.
func FuzzYAMLToCUE(f *testing.F) {
	for _, s := range []string{
		genaiTemplate, "a: {b: [1, .5, .inf, null, yes]}\n", "# c\n\"odd key\": 'x\ty' # d\n", "a: |\n  two\n  lines\n",
		"- 1\n- {a: 2}\n", "\"\": \"\"\n_x: 1\n",
		"# h\n\n# i\na: # b\n  # c\n  - 1 # d\n  # e\n  - {f: 2} # g\n  # j\nk: [1] # l\n# m\n\n# n\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "*") {
			t.Skip("cyclic aliases are refused before")
		}
		var doc yaml.Node
		if yaml.Unmarshal([]byte(text), &doc) != nil || len(doc.Content) == 0 ||
			doc.Content[0].Kind != yaml.MappingNode {
			t.Skip("no mapping")
		}
		out, _, err := YAMLToCUE([]byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if _, err := parser.ParseFile("x.cue", out, parser.ParseComments); err != nil {
			t.Fatalf("%q became\n%s\n%v", text, out, err)
		}
		if again, _, err := CUEToCUE(out); err != nil || string(again) != string(out) {
			t.Fatalf("%q became\n%s\nand then\n%s\n%v", text, out, again, err)
		}
	})
}

// FuzzGenAI: no line and no file of GenAI-Perf's brings the program down, and
// what comes out are flags of ours.
func FuzzGenAI(f *testing.F) {
	f.Add("profile -m a --endpoint-type chat -g x:1 y:2 -- -H a:b")
	f.Add("analyze -m a --endpoint-type chat --sweep-type concurrency --sweep-range 1:8")
	f.Add(genaiTemplate)
	f.Fuzz(func(t *testing.T, text string) {
		known := ourFlags()
		words, _, err := GenAIWords(strings.Fields(text))
		for _, w := range words {
			name, _, _ := strings.Cut(w, "=")
			if _, ok := known[name]; err == nil && strings.HasPrefix(w, "--") && !ok &&
				argv.IsFlag(w) && !strings.Contains(text, "="+w) {
				t.Errorf("%q: %s is no flag of ours", text, w)
			}
		}
		var doc yaml.Node
		if yaml.Unmarshal([]byte(text), &doc) == nil && len(doc.Content) > 0 && isGenAI(doc.Content[0]) {
			_, _, _ = genaiFile("x.yaml", doc.Content[0])
		}
	})
}
