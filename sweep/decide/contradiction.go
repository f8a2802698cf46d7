package decide

import (
	"fmt"
	"math"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
)

// contradictions are gates that no result can hold: a gate that no value of its
// metric holds (error_rate < 0), and two gates that no value holds together.
// Only gates that compare one statistic with numbers are looked at: of others it
// cannot be said.
func contradictions(gates []Gate) (bad schema.Errors) {
	simple := make([][]float64, len(gates)) // the numbers that a gate compares with; nil where it is not simple
	for i := range gates {
		simple[i] = gates[i].thresholds()
	}
	for i := range gates {
		a := &gates[i]
		if simple[i] == nil {
			continue
		}
		if !together(simple[i], a) {
			bad = append(bad, &schema.Error{
				Path:    a.Origin,
				Message: quoted(a.Expr, "no value of "+spokenOf(a.refs[0])+" holds this"), Hint: possible(a.refs[0]),
			})
			continue
		}
		for j := range i {
			b := &gates[j]
			if simple[j] != nil && a.refs[0] == b.refs[0] && together(simple[j], b) &&
				!together(slices.Concat(simple[i], simple[j]), a, b) {
				bad = append(bad, &schema.Error{
					Path: a.Origin,
					Message: quoted(a.Expr, fmt.Sprintf("contradicts %q (%s): no value of %s holds both", b.Expr,
						b.Origin, spokenOf(a.refs[0]))), Hint: "drop one of them",
				})
			}
		}
	}
	return bad
}

// spokenOf is a statistic as an experiment names it: a scalar stands alone.
func spokenOf(k Key) string {
	if stat, single := alone(k.Tag); single && stat == k.Stat {
		return k.Tag
	}
	return k.Spoken()
}

// possible says between what a metric lies.
func possible(k Key) string {
	switch low, high := rangeOf(k); {
	case math.IsInf(low, -1):
		return "the condition excludes itself"
	case math.IsInf(high, 1):
		return k.Tag + " is never below 0"
	default:
		return fmt.Sprintf("%s lies between %g and %g", k.Tag, low, high)
	}
}

// rangeOf is what a statistic can be.
func rangeOf(k Key) (low, high float64) {
	m, ok := metrics.Lookup(k.Tag)
	if low, high, known := spanOf(k.Tag); known {
		return low, high
	}
	switch {
	case !ok || m.Over == metrics.Signed:
		return math.Inf(-1), math.Inf(1)
	case m.Over == metrics.Share && k.Stat == "avg":
		return 0, m.Full()
	}
	return 0, math.Inf(1)
}

// together reports whether some value holds all gates, which speak of one
// statistic: between two neighbouring thresholds nothing changes, so each of
// them, a value between any two, and one beyond either end are all there is.
func together(thresholds []float64, gates ...*Gate) bool {
	low, high := rangeOf(gates[0].refs[0])
	at := slices.Clone(thresholds)
	slices.Sort(at)
	tried := slices.Clone(at)
	for i := 1; i < len(at); i++ {
		tried = append(tried, (at[i-1]+at[i])/2)
	}
	tried = append(tried, low, high)
	if len(at) > 0 {
		first, last := at[0], at[len(at)-1]
		tried = append(tried, first-1, last+1, (low+first)/2, (last+high)/2)
	}
	return slices.ContainsFunc(tried, func(v float64) bool {
		return v >= low && v <= high && !slices.ContainsFunc(gates, func(g *Gate) bool { return !g.holdsAt(v) })
	})
}

func (g *Gate) holdsAt(v float64) bool {
	out, err := expr.Run(g.program, map[string]any{g.refs[0].variable(): v})
	held, ok := out.(bool)
	return err != nil || !ok || held // what cannot be said is no contradiction
}

// thresholds are the numbers that the gate compares its only statistic with, nil
// where it does anything else.
func (g *Gate) thresholds() []float64 {
	tree, err := parser.Parse(g.Expr)
	if err != nil || len(g.refs) != 1 {
		return nil
	}
	numbers := []float64{}
	if !g.comparisons(tree.Node, &numbers) {
		return nil
	}
	return numbers
}

// comparisons reports whether a condition is made of comparisons with numbers and
// of and, or, not.
func (g *Gate) comparisons(n ast.Node, numbers *[]float64) bool {
	switch n := n.(type) {
	case *ast.UnaryNode:
		return (n.Operator == "not" || n.Operator == "!") && g.comparisons(n.Node, numbers)
	case *ast.BinaryNode:
		switch n.Operator {
		case "and", "or", "&&", "||":
			return g.comparisons(n.Left, numbers) && g.comparisons(n.Right, numbers)
		case "<", "<=", ">", ">=", "==", "!=":
			v, ok := number(n.Right)
			other := n.Left
			if !ok {
				v, ok = number(n.Left)
				other = n.Right
			}
			*numbers = append(*numbers, v)
			return ok && g.is(other)
		}
	}
	return false
}

// is reports whether the node is the statistic itself.
func (g *Gate) is(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return n.Value == g.refs[0].Tag
	case *ast.MemberNode:
		base, ok := n.Node.(*ast.IdentifierNode)
		return ok && base.Value == g.refs[0].Tag
	}
	return false
}

func number(n ast.Node) (float64, bool) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return float64(n.Value), true
	case *ast.FloatNode:
		return n.Value, true
	case *ast.UnaryNode:
		v, ok := number(n.Node)
		return -v, ok && n.Operator == "-"
	}
	return 0, false
}
