package docgen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// Metric is a row of docs/metrics.md.
type Metric struct {
	Tag, Header, Unit, Table string
	Applies                  []string // what a run must have
	LargerIsBetter           bool
	Distribution             bool // has percentiles
}

// Metrics is docs/metrics.md; catalogue is the Go source of the rows, whose
// comments are the formulas.
func Metrics(rows []Metric, catalogue []byte) (string, error) {
	formulas, err := commentsAbove(catalogue, "Tag")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(Mark("internal/metrics/catalogue.go"))
	b.WriteString("# Metrics\n\n" +
		"A tag is the name of a metric in files, tables, `slos` and `gates`. With percentiles a metric has avg, min, max, std and\n" +
		"p1 to p99; without it has one value per run. Stamps are those of one request: sent is when its bytes were handed to the\n" +
		"kernel, content is an event of the answer with text, OSL and ISL are output and input tokens. A metric whose formula\n" +
		"cannot be computed, because a stamp is missing or a divisor is 0, is absent: never 0, never NaN.\n\n")
	var table0 string
	var out [][]string
	flush := func() {
		if len(out) > 0 {
			b.WriteString("## " + upperFirst(table0) + "\n\n" + table([]string{"tag", "name", "unit", "percentiles", "better", "computed from", "needs"}, out))
		}
		out = nil
	}
	for _, m := range rows {
		if m.Table != table0 {
			flush()
			table0 = m.Table
		}
		better, per := "lower", ""
		if m.LargerIsBetter {
			better = "higher"
		}
		if m.Distribution {
			per = "yes"
		}
		out = append(out, []string{code(m.Tag), m.Header, m.Unit, per, better, formulas[m.Tag], strings.Join(m.Applies, ", ")})
	}
	flush()
	return b.String(), nil
}

// commentsAbove are the comments above the composite literals of a file that
// have a string field of this name, by its value.
func commentsAbove(src []byte, field string) (map[string]string, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "catalogue.go", src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	ending := map[int]string{} // the line a comment ends on → its text
	for _, g := range f.Comments {
		ending[fset.Position(g.End()).Line] = strings.Join(strings.Fields(g.Text()), " ")
	}
	out := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		for _, e := range lit.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			key, _ := kv.Key.(*ast.Ident)
			value, _ := kv.Value.(*ast.BasicLit)
			if key != nil && value != nil && key.Name == field && value.Kind == token.STRING {
				if name, err := strconv.Unquote(value.Value); err == nil {
					out[name] = ending[fset.Position(lit.Pos()).Line-1]
				}
			}
		}
		return true
	})
	return out, nil
}
