package source_test

import (
	"testing"

	"aiperf.dev/aiperf/schema/source"
)

// A mistake in the syntax has its line and column, and what to do about it; where the
// parser stumbles only further down, too.
func TestSlipsInYAML(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a:\n\tb: 1\n":                                                     "x.yaml:2:1: a tab in the indentation | indent with spaces",
		"a:\n  b c\n  d: {e: 1}\n":                                         "x.yaml:2:3: no colon after the key | such as model: demo",
		"a:\n  b:c\n  d: {e: 1}\n":                                         "x.yaml:2:4: no space after the colon | such as model: demo",
		"a:\n  b: \"c\n  d: {e: \"f\"}\n":                                  "x.yaml:2:6: the quote is not closed | close it, or leave it out",
		"a:\n  b: c\n   d: {e: f}\n":                                       "x.yaml:3:4: is indented deeper than the line above, which has a value | indent both lines equally",
		"a:\n  b: c\n  d: {e: f\n  g: {h: i}\n":                            "x.yaml:3:6: the brace is not closed | close it with }",
		"a:\n  b: [1, 2\n  c: 3\n":                                         "x.yaml:2:6: the bracket is not closed | close it with ]",
		"a:\n  b: {c: 1, d: ${N}}\n  e: 2\n":                               "x.yaml:2:16: a variable within braces without quotes | put it in quotes: \"${…}\"",
		"a: {b: {{ c }}, d: 2}\n":                                          "x.yaml:1:9: a key must be one word | put the template in quotes: \"{{ … }}\"",
		"a:\n  b: {{ c }} / 2\n":                                           "x.yaml:2:6: a template without quotes | put it in quotes: \"{{ … }}\"",
		"a:\n  b: @c\n":                                                    "x.yaml:2:6: a value cannot begin with this character | put the value in quotes",
		"a:\n  b: {c: d: e}\n":                                             "x.yaml:2:11: a second colon in a value | put the value in quotes",
		"a:\n  b: 1\n  c: *d\n":                                            "x.yaml:3:6: no anchor &d is defined | define it: &d before the value",
		"a:\n  b:\n    c: d\n   e: f\n":                                    "x.yaml:4:4: indented by 3, which fits no line above | indent it by 2 or by 4",
		"a:\n  b:\n  c: d\n    e: f\n  g:\n    - h: 1\n      i: 2\n":       "x.yaml:4:5: is indented deeper than the line above, which has a value | indent both lines equally",
		"a:\n  b: {c: d}\n  g:\n    - h: 1\n      i: 2\n     j: 3\nk: 1\n": "x.yaml:6:6: indented by 5, which fits no line above | indent it by 4 or by 6",
		"a:\n  b: |\n    c: d\n   e: f\n  g:\n   h: 1\n i: 2\n":            "x.yaml:7:2: indented by 1, which fits no line above | indent it by 0 or by 2",
		"{\"a\": 1,\n  // b\n  \"c\": 2}":                                  "x.yaml:2:3: JSON has no comments | take it out, or write YAML (#) or CUE (//)",
		"{\n  \"a\": 1\n  \"c\": 2}":                                       "x.yaml:3:3: no comma between two members | write one before this",
		"{\"a\": 1}\n x":                                                   "x.yaml:2:2: text after the end of the document | take it out",
		"{\"a\": {\"b\": 1}":                                               "x.yaml:1:15: the document ends before its last brace | close the bracket or quote that is open",
		`{"a": "b" "c": 1}`:                                                "x.yaml:1:11: no comma between two members | write one before this",
		"{\"a\": {b: c} // d\n}":                                           "x.yaml:1:14: // does not start a comment here | use # in YAML; JSON has no comments",
		"# b: @c\na:\n  - b\n c\n  d: 1\n  e\n":                            "x.yaml:4:2: indented by 1, which fits no line above | indent it by 0 or by 2",
	} {
		_, bad := source.ReadYAML("x.yaml", []byte(text))
		if len(bad) == 0 {
			t.Errorf("%q is taken", text)
			continue
		}
		if got := bad[0].Error() + " | " + bad[0].Hint; got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

// Values that most people read in another way are told.
func TestDoubtsOfYAML(t *testing.T) {
	t.Parallel()
	root, bad := source.ReadYAML("x.yaml", []byte("a: 010\nb: “c”\nd: 0\ne: 0x10\nf: \"010\"\n"))
	if bad != nil {
		t.Fatal(bad)
	}
	notes := source.Doubts(root)
	if len(notes) != 2 || notes[0] != "x.yaml:1:4: a: 010 is octal, 8; write 8, or leave the 0 out" ||
		notes[1] != "x.yaml:2:4: b: the quotes of “c” are part of the text; write plain ones: \"" {
		t.Errorf("%q", notes)
	}
}
