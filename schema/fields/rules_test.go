package fields_test

import (
	"testing"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

func TestRuleOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ field, text, hint, by string }{
		{"records", "cannot be combined with path", "keep one of them", ""},
		{"samples", "required by type: sobol", "say how many cells to draw", "type"},
		{"turns", "cannot be combined with type: public", "the records say how many turns there are", ""},
	} {
		r := fields.RuleOf(c.field, c.text)
		if r == nil || r.Hint != c.hint || r.By != c.by || !r.LooksAt(c.field) {
			t.Errorf("%s: %s: %+v", c.field, c.text, r)
		}
	}
	if r := fields.RuleOf("turns", "required by type: sobol"); r != nil {
		t.Errorf("a rule of another field: %+v", r)
	}
}

// A field that is not built says what to do instead.
func TestUnbuiltFieldsSayWhatToDo(t *testing.T) {
	t.Parallel()
	x := fields.New()
	for _, l := range fields.Leaves() {
		parent, _ := source.Cut(l.Path)
		if l.Has(fields.IsUnsupported) && !x[parent].Has(fields.IsUnsupported) && l.Instead == "" && l.Lower == "" {
			t.Errorf("%s is refused without a hint", l.Path)
		}
	}
}
