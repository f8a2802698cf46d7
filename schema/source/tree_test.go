package source

import "testing"

// TestJSONReadsBack: what a tree is written as reads as the same tree, in its
// order, whatever its text holds.
func TestJSONReadsBack(t *testing.T) {
	t.Parallel()
	want := ObjectNode(Origin{})
	for name, v := range map[string]any{
		"quotes": "a \"b\" \\ <&>", "lines": "a\nb\t\r", "controls": "\x00\x1f\x7f\u0085\u009f\ufeff\uffff", "wide": "é𝄞\u2028", "like a number": "12", "like a truth": "yes", "": "",
		"whole": int64(1 << 53), "one": 1.0, "tenth": 0.1, "large": 1e21, "small": -2.5e-9, "on": true,
	} {
		want.Put(name, LeafNode(v, Origin{}))
	}
	want.Put("list", &Node{Kind: List, Items: []*Node{{Kind: Null}, ObjectNode(Origin{}), {Kind: List}}})
	text := want.JSON()
	got, bad := ReadYAML("e.json", text)
	if bad != nil {
		t.Fatalf("%v in\n%s", bad, text)
	}
	if again := got.JSON(); string(again) != string(text) {
		t.Errorf("reads back as\n%s, want\n%s", again, text)
	}
	for _, f := range want.Fields {
		if v := got.Get(f.Name); f.Value.Kind == Scalar && (v == nil || v.Value != f.Value.Value) {
			t.Errorf("%s: %v, want %v", f.Name, v, f.Value.Value)
		}
	}
}
