package sweep

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/schema"
)

// Gate is one condition every cell must meet, an expression over metric
// statistics (time_to_first_token.p99 < 250) and axis names. A scalar
// metric stands alone (error_rate == 0, a share from 0 to 1). Before use it is
// compiled by CompileGates.
type Gate struct {
	Expr   string
	Origin string

	refs    []Key
	program *vm.Program
}

// CompileGates checks the gates' names and types against the metrics that
// exist, and gates and SLOs against those that can be measured, before anything
// is sent. All mistakes are reported at once.
func (p *Plan) CompileGates(tags []string) error {
	var bad schema.Errors
	for i := range p.Gates {
		if err := p.Gates[i].compile(tags, p.axisNames()); err != nil {
			bad = append(bad, err)
		}
	}
	if len(bad) == 0 {
		bad = p.unproduced()
	}
	if len(bad) > 0 {
		return bad
	}
	return nil
}

// axisNames is every axis by its short name with its value in the first cell.
func (p *Plan) axisNames() map[string]any {
	out := map[string]any{}
	if len(p.Cells) > 0 {
		for _, v := range p.Cells[0].Point {
			out[v.Axis] = gateValue(v)
		}
	}
	return out
}

// gateValue is an axis value in the type a gate sees: numbers are float64, so
// that 1 and 2.5 on one axis have one type.
func gateValue(v Value) any {
	switch x := v.Natural().(type) {
	case int64:
		return float64(x)
	case int:
		return float64(x)
	default:
		return x
	}
}

func (g *Gate) compile(tags []string, axes map[string]any) *schema.Error {
	names := &gateNames{tags: tags, axes: axes}
	tree, err := parser.Parse(g.Expr)
	if err != nil {
		return &schema.Error{Path: g.Origin, Message: quoted(g.Expr, oneLine(err))}
	}
	ast.Walk(&tree.Node, (*memberNames)(names))
	ast.Walk(&tree.Node, (*bareNames)(names))
	if names.bad != nil {
		names.bad.Path, names.bad.Message = g.Origin, quoted(g.Expr, names.bad.Message)
		return names.bad
	}
	env := map[string]any{}
	for n, v := range axes {
		env[n] = v
	}
	for _, k := range names.refs {
		env[k.variable()] = 0.0
	}
	g.refs = names.refs
	g.program, err = expr.Compile(g.Expr, expr.Env(env), expr.AsBool(), expr.DisableBuiltin("now"), expr.MaxNodes(1000),
		expr.Patch((*memberNames)(names)), expr.Patch((*bareNames)(names)))
	if err != nil {
		return &schema.Error{Path: g.Origin, Message: quoted(g.Expr, oneLine(err))}
	}
	return nil
}

// gateNames turns metric.stat into one variable. Members are taken first, so
// that what remains are bare names.
type gateNames struct {
	tags []string
	axes map[string]any
	refs []Key
	bad  *schema.Error
}

type (
	memberNames gateNames
	bareNames   gateNames
)

// Visit takes a metric.stat.
func (m *memberNames) Visit(node *ast.Node) {
	member, ok := (*node).(*ast.MemberNode)
	if !ok {
		return
	}
	base, ok := member.Node.(*ast.IdentifierNode)
	stat, isText := member.Property.(*ast.StringNode)
	if !ok || !isText || isVariable(base.Value) {
		return
	}
	g := (*gateNames)(m)
	if !slices.Contains(g.tags, base.Value) {
		if _, axis := g.axes[base.Value]; !axis {
			g.unknown("metric", base.Value, g.tags)
		}
		return
	}
	known := metrics.StatNames()
	if row, ok := metrics.Lookup(base.Value); ok {
		known = row.Stats()
	}
	if !slices.Contains(known, stat.Value) {
		g.unknown("statistic", stat.Value, known)
		return
	}
	g.use(node, Key{base.Value, stat.Value})
}

// Visit takes a metric that stands alone.
func (b *bareNames) Visit(node *ast.Node) {
	id, ok := (*node).(*ast.IdentifierNode)
	if !ok || isVariable(id.Value) {
		return
	}
	g := (*gateNames)(b)
	if _, axis := g.axes[id.Value]; axis {
		return
	}
	if !slices.Contains(g.tags, id.Value) {
		known := slices.Clone(g.tags)
		for a := range g.axes {
			known = append(known, a)
		}
		g.unknown("metric", id.Value, known)
		return
	}
	if row, ok := metrics.Lookup(id.Value); ok && row.Distribution() {
		if g.bad == nil {
			g.bad = &schema.Error{Message: id.Value + " has no single value", Hint: "name a statistic: " + id.Value + ".p99"}
		}
		return
	}
	g.use(node, Key{id.Value, "avg"})
}

func (g *gateNames) use(node *ast.Node, k Key) {
	if !slices.Contains(g.refs, k) {
		g.refs = append(g.refs, k)
	}
	ast.Patch(node, &ast.IdentifierNode{Value: k.variable()})
}

func (g *gateNames) unknown(what, name string, known []string) {
	if g.bad != nil {
		return
	}
	g.bad = &schema.Error{Message: "unknown " + what + " " + name}
	if near := schema.Suggest(name, known); near != "" {
		g.bad.Hint = "did you mean " + near + "?"
	} else if what == "statistic" {
		g.bad.Hint = "known: " + strings.Join(known, ", ")
	}
}

// variable is the name of a statistic in the environment; no metric and no
// axis can have it.
func (k Key) variable() string { return k.Tag + "." + k.Stat }

func isVariable(name string) bool { return strings.Contains(name, ".") }

// GateOutcome is one gate at one cell.
type GateOutcome struct {
	Gate *Gate
	Held bool
	// Sure tells that the answer is the same at every corner of the intervals;
	// false without intervals.
	Sure bool
	Text string // "140 [131, 149]" per statistic; what was missing otherwise
}

// maxCorners bounds the combinations of interval ends that are tried.
const maxCorners = 6

// judge evaluates the gate at a cell on the means over its trials. A statistic
// that the cell does not have makes it missed.
func (g *Gate) judge(c *CellResult) GateOutcome {
	out := GateOutcome{Gate: g}
	if g.program == nil {
		out.Text = "not compiled"
		return out
	}
	env := map[string]any{}
	for _, v := range c.Cell.Point {
		env[v.Axis] = gateValue(v)
	}
	var texts []string
	estimates := make([]stats.Estimate, len(g.refs))
	for i, k := range g.refs {
		e, ok := c.Full[k]
		if !ok {
			out.Text = k.spoken() + ": metric not available"
			return out
		}
		estimates[i], env[k.variable()] = e, e.Mean
		texts = append(texts, spell(e))
	}
	held, err := g.run(env)
	if err != nil {
		out.Text = oneLine(err)
		return out
	}
	out.Held, out.Text = held, strings.Join(texts, ", ")
	out.Sure = g.sure(env, estimates, held)
	return out
}

func (g *Gate) run(env map[string]any) (bool, error) {
	v, err := expr.Run(g.program, env)
	if err != nil {
		return false, err
	}
	held, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("%q is neither true nor false", g.Expr)
	}
	return held, nil
}

// sure tries every combination of interval ends.
func (g *Gate) sure(env map[string]any, estimates []stats.Estimate, held bool) bool {
	if len(estimates) > maxCorners {
		return false
	}
	for corner := range 1 << len(estimates) { // bit i: the upper end of estimate i
		for i, e := range estimates {
			end := e.Low
			if corner>>i&1 == 1 {
				end = e.High
			}
			if math.IsNaN(end) {
				return false
			}
			env[g.refs[i].variable()] = end
		}
		if h, err := g.run(env); err != nil || h != held {
			return false
		}
	}
	return true
}

func quoted(src, message string) string { return fmt.Sprintf("%q: %s", src, message) }

// oneLine is the library's message without its picture of the source.
func oneLine(err error) string {
	msg := err.Error()
	var at *file.Error
	if errors.As(err, &at) {
		msg = at.Message
	}
	return strings.Join(strings.Fields(msg), " ")
}
