package docgen

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/schema"
)

func TestFill(t *testing.T) {
	t.Parallel()
	page := []byte("a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n")
	got, err := Fill(page, "x", "new\n")
	if want := "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Fill(page, "y", ""); err == nil {
		t.Error("no error for a region that is not there")
	}
}

func TestTableLeavesOutEmptyColumns(t *testing.T) {
	t.Parallel()
	got := table([]string{"a", "b", "c"}, [][]string{{"1", "", "x|y"}, {"2", "", "two\nlines"}})
	if want := "| a | c |\n| --- | --- |\n| 1 | x\\|y |\n| 2 | two lines |\n\n"; got != want {
		t.Errorf("%q", got)
	}
}

const tinySchema = `{
"$defs": {
 "Load": {"properties": {
   "rate": {"allOf": [{"type": "number"}, {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 9}, {"type": "string", "pattern": "\\{\\{"}]}], "description": "Per second.", "default": 2},
   "rateRamp": {"type": "number"}, "rate_ramp": {"type": "number", "exclusiveMinimum": 0}
 }},
 "Names": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"const": "all"}]}
},
"properties": {
 "load": {"type": "array", "prefixItems": [{"$ref": "#/$defs/Load"}], "description": "What is sent."},
 "names": {"$ref": "#/$defs/Names"},
 "mode": {"enum": ["a", "b"], "default": "a"},
 "more": {"type": "object", "additionalProperties": {"type": "boolean"}}
},
"required": ["load"]}`

func TestConfiguration(t *testing.T) {
	t.Parallel()
	got, err := Configuration([]byte(tinySchema), []schema.Option{
		{Path: "load.profiling.rate", Names: []string{"request-rate"}}, {Path: "mode", Names: []string{"mode"}, Unsupported: true},
	}, []schema.Need{{Settings: []string{"mode", "names"}, Words: "several runs"}})
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ = strings.Cut(got, "## Experiment\n\n")
	got, effects, _ := strings.Cut(got, "## Which setting has an effect when\n\n")
	if !strings.Contains(effects, "| `mode`, `names` | several runs |\n") {
		t.Errorf("the section about effects is %q", effects)
	}
	want := "| field | type | default | flags | what it is |\n| --- | --- | --- | --- | --- |\n" +
		"| `load` | list of [Load](#load) | required |  | What is sent. |\n" +
		"| `mode` | `a`, `b` | `\"a\"` | `--mode` | *Not supported yet.* |\n" +
		"| `more` | map of boolean |  |  |  |\n" +
		"| `names` | list of text or `all` |  |  |  |\n\n" +
		"## Load\n\n| field | type | default | flags | what it is |\n| --- | --- | --- | --- | --- |\n" +
		"| `rate` | integer ≥ 1, ≤ 9 | `2` | `--request-rate` | Per second. |\n" +
		"| `rate_ramp` | number > 0 |  |  |  |\n\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Configuration([]byte(tinySchema), []schema.Option{{Path: "nothing.here", Names: []string{"x"}}},
		nil); err == nil {
		t.Error("no error for a flag whose field is not in the schema")
	}
}

func TestSourceTables(t *testing.T) {
	t.Parallel()
	src := "package p\nconst shared = \"why\"\nvar rows = map[string]string{\"b\": \"because\", \"a\": shared}\n"
	got, err := Differences([]byte(src), "rows", "case")
	if want := "| case | here, and why |\n| --- | --- |\n| `a` | why |\n| `b` | because |\n\n"; err != nil ||
		got != want {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Differences([]byte(src), "other", "case"); err == nil {
		t.Error("no error for a map that is not there")
	}
}

func TestTablesNeedSentences(t *testing.T) {
	t.Parallel()
	if _, err := Tables([]Table{{Name: "requests", Columns: []Column{{Name: "no_such_column"}}}}); err == nil {
		t.Error("no error for a column nobody has described")
	}
	page, err := Tables([]Table{{Name: "runs", Columns: []Column{
		{Name: "seed", Type: "int64", Doc: "root seed"},
		{Name: "axis_users", Type: "int64", Null: true, Doc: "value of users in this cell"},
	}}})
	if err != nil || !strings.Contains(page, "| `axis_users` | int64 | yes | value of users in this cell |") {
		t.Errorf("%v\n%s", err, page)
	}
}
