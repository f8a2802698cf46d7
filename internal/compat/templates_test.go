package compat

import (
	"strings"
	"testing"
)

func TestTemplateHeads(t *testing.T) {
	t.Parallel()
	all, err := Templates()
	if err != nil || len(all) < 20 {
		t.Fatalf("%d templates, %v", len(all), err)
	}
	for _, x := range all {
		if x.Doc == "" || strings.Contains(x.Category, " ") || len(x.Doc) > 110 {
			t.Errorf("%s: the first line is not a comment \"category: what it is for\": %q %q", x.File, x.Category,
				x.Doc)
		}
	}
}
