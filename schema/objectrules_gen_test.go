package schema

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"aiperf.dev/aiperf/schema/fields"
)

// rulesOfObjects are the rules of all #rules blocks, in the order of the files.
func rulesOfObjects(t *testing.T) (out []fields.Rule) {
	t.Helper()
	for _, name := range sourceFiles() {
		f, err := parser.ParseFile(name, sourceFile(name))
		if err != nil {
			t.Fatal(err)
		}
		ast.Walk(f, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok {
				return true
			}
			if label, _, err := ast.LabelName(field.Label); err != nil || label != "#rules" {
				return true
			}
			for _, d := range field.Value.(*ast.StructLit).Elts {
				out = ruleRows(t, d, nil, nil, out)
			}
			return false
		}, nil)
	}
	return out
}

// ruleRows adds the rules below d, whose conditions so far look at about and
// compare what compares says.
func ruleRows(t *testing.T, d ast.Decl, about, compares []string, out []fields.Rule) []fields.Rule {
	t.Helper()
	switch d := d.(type) {
	case *ast.Comprehension:
		for _, c := range d.Clauses {
			if names := compared(t, c.(*ast.IfClause).Condition); names != "" && !slices.Contains(compares, names) {
				compares = append(slices.Clone(compares), names)
			}
			ast.Walk(c, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && !slices.Contains(about, id.Name) &&
					!slices.Contains([]string{"int", "number", "string"}, id.Name) {
					about = append(slices.Clone(about), id.Name)
				}
				return true
			}, nil)
		}
		for _, e := range d.Value.(*ast.StructLit).Elts {
			out = ruleRows(t, e, about, compares, out)
		}
	case *ast.Field:
		out = addRule(t, d, about, compares, out)
	default:
		t.Errorf("a rule of an unknown form: %T", d)
	}
	return out
}

var (
	hintArgument = regexp.MustCompile(`hint="([^"]*)"`)
	byArgument   = regexp.MustCompile(`by=([a-z_]+)`)
)

// compared are the members whose values a condition compares, "" for a condition
// that only asks whether a member is there, or is of a kind.
func compared(t *testing.T, cond ast.Expr) string {
	t.Helper()
	if b, ok := cond.(*ast.BinaryExpr); ok {
		if _, bottom := b.Y.(*ast.BottomLit); bottom && isMember(b.X) {
			return ""
		}
	}
	var names []string
	ordered, joined := false, false
	ast.Walk(cond, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if !slices.Contains(names, n.Name) {
				names = append(names, n.Name)
			}
		case *ast.BinaryExpr:
			ordered = ordered || slices.Contains([]token.Token{token.LSS, token.LEQ, token.GTR, token.GEQ}, n.Op)
			joined = joined || n.Op == token.LOR || n.Op == token.LAND
		case *ast.SelectorExpr, *ast.BasicLit:
		default:
			t.Errorf("a condition of an unknown form: %T", n)
		}
		return true
	}, nil)
	if ordered && joined {
		t.Errorf("one comparison for one if: %v", names)
	}
	return strings.Join(names, " ")
}

// isMember reports whether e is a member, or (member & kind).
func isMember(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		both, ok := e.X.(*ast.BinaryExpr)
		if !ok || both.Op != token.AND || !isMember(both.X) {
			return false
		}
		kind, ok := both.Y.(*ast.Ident)
		return ok && slices.Contains([]string{"int", "number", "string"}, kind.Name)
	case *ast.SelectorExpr:
		return isMember(e.X)
	}
	_, ok := e.(*ast.Ident)
	return ok
}

func addRule(t *testing.T, f *ast.Field, about, compares []string, out []fields.Rule) []fields.Rule {
	t.Helper()
	name, _, err := ast.LabelName(f.Label)
	call, ok := f.Value.(*ast.CallExpr)
	if err != nil || !ok || len(call.Args) != 1 {
		t.Fatalf("%v: a rule is {field: error(\"text\")}", f.Label)
	}
	r := fields.Rule{Field: name, Text: messageOf(call.Args[0]), About: about, Compares: compares}
	for _, a := range f.Attrs {
		if m := hintArgument.FindStringSubmatch(a.Text); m != nil {
			r.Hint = m[1]
		}
		if m := byArgument.FindStringSubmatch(a.Text); m != nil {
			r.By = m[1]
		}
	}
	if strings.Contains(r.Text, "; ") {
		t.Errorf("%s: %q: what to do about it is a hint: @rule(hint=\"…\")", name, r.Text)
	}
	for i := range out { // one text of one field has one hint, whatever the object
		if old := &out[i]; old.Field == r.Field && old.Text == r.Text {
			if old.Hint != r.Hint || old.By != r.By {
				t.Errorf("%s: %q has two hints: %q and %q", name, r.Text, old.Hint, r.Hint)
			}
			for _, a := range r.About {
				if !slices.Contains(old.About, a) {
					old.About = append(slices.Clone(old.About), a)
				}
			}
			for _, c := range r.Compares {
				if !slices.Contains(old.Compares, c) {
					old.Compares = append(slices.Clone(old.Compares), c)
				}
			}
			return out
		}
	}
	return append(out, r)
}

// messageOf is the text of error("…") as it is written.
func messageOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return s
	case *ast.Interpolation:
		var b strings.Builder
		for _, part := range e.Elts {
			switch part := part.(type) {
			case *ast.BasicLit:
				b.WriteString(strings.Trim(part.Value, `"`))
			case *ast.Ident:
				b.WriteString(part.Name)
			}
		}
		return b.String()
	}
	return ""
}
