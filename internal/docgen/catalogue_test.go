package docgen

import (
	"bytes"
	"os"
	"testing"
)

// What the schema knows of the catalogues is what they say now.
func TestCataloguesAreFresh(t *testing.T) {
	t.Parallel()
	c := FromGo()
	facts, err := c.Facts()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"fields/catalogue_gen.go": facts, "catalogue_gen.cue": c.Enums()} {
		have, err := os.ReadFile("../../schema/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, want) {
			t.Errorf("schema/%s does not follow from the catalogues: run go generate ./schema ./cmd/aiperf", name)
		}
	}
	for name, rules := range c.Files() {
		have, err := os.ReadFile("../../schema/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := WithRules(have, rules); err != nil || !bytes.Equal(have, want) {
			t.Errorf("the rules in schema/%s do not follow from the catalogues (%v): run go generate ./schema ./cmd/aiperf", name, err)
		}
	}
}
