package decide

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Gate is one condition every cell must meet, an expression over metric
// statistics (time_to_first_token.p99 < 250) and axis names. A scalar
// metric stands alone (error_rate == 0, a share from 0 to 1).
type Gate struct {
	sweep.Gate

	refs    []Key
	program *vm.Program
}

// CheckGates checks the gates' names and types against the metrics that exist,
// gates and SLOs against those that can be measured, and what is to be compared,
// before anything is sent. All mistakes are reported at once.
func CheckGates(p *sweep.Plan, tags []string) error {
	gates, bad := compileGates(p, tags)
	if bad == nil {
		bad = append(unproduced(p, gates), contradictions(gates)...)
	}
	if _, _, err := treatment(p, tags); err != nil {
		bad = append(bad, err)
	}
	bad = append(bad, checkObjectives(p, tags)...)
	bad = append(bad, checkSearch(p, tags)...)
	bad = append(bad, checkAdaptive(p, tags)...)
	if err := checkConvergence(p, tags); err != nil {
		bad = append(bad, err)
	}
	if len(bad) > 0 {
		return bad
	}
	return nil
}

// CheckNames is the part of CheckGates that needs no cells: the names of metrics,
// statistics and axes around the body of an experiment that has other mistakes. What
// may be the name of an axis that could not be read is not looked at.
func CheckNames(e schema.Experiment, s schema.Sweep, tags []string) error {
	var bad schema.Errors
	names := gateNames{tags: tags, axes: map[string]any{}, unread: s.Unread}
	for _, a := range s.Axes {
		names.axes[a.Name] = nil
	}
	for i, text := range e.Gates {
		g := Gate{Gate: sweep.Gate{Expr: text, Origin: sweep.GateOrigin(i)}}
		if err := g.named(&names); err != nil {
			bad = append(bad, err)
		}
		names.bad = nil
	}
	sketch := &sweep.Plan{Experiment: e, MultiRun: e.MultiRun, Trials: e.MultiRun.NumRuns, Axes: s.Axes}
	if _, err := compareTerms(sketch, tags); err != nil && (len(s.Unread) == 0 || err.Path != axisOfCompare) {
		bad = append(bad, err)
	}
	bad = append(bad, checkObjectives(sketch, tags)...)
	if err := checkConvergence(sketch, tags); err != nil {
		bad = append(bad, err)
	}
	if len(bad) > 0 {
		return bad
	}
	return nil
}

func compileGates(p *sweep.Plan, tags []string) ([]Gate, schema.Errors) {
	var bad schema.Errors
	gates := make([]Gate, len(p.Gates))
	axes := axisNames(p)
	for i := range gates {
		gates[i].Gate = p.Gates[i]
		if err := gates[i].compile(tags, axes); err != nil {
			bad = append(bad, err)
		}
	}
	if len(bad) > 0 {
		return nil, bad
	}
	return gates, nil
}

// axisNames is every axis by its short name with its value in the first cell.
func axisNames(p *sweep.Plan) map[string]any {
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
func gateValue(v sweep.Value) any {
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
	if bad := g.named(names); bad != nil {
		return bad
	}
	env := map[string]any{}
	for n, v := range axes {
		env[n] = v
	}
	for _, k := range names.refs {
		env[k.variable()] = 0.0
	}
	g.refs = names.refs
	var err error
	g.program, err = expr.Compile(g.Expr, expr.Env(env), expr.AsBool(), expr.DisableBuiltin("now"), expr.MaxNodes(1000),
		expr.Patch((*memberNames)(names)), expr.Patch((*bareNames)(names)))
	if err != nil {
		text := oneLine(err)
		if strings.HasPrefix(text, "expected bool") {
			return &schema.Error{
				Path: g.Origin, Message: quoted(g.Expr, "expected a condition, got a number"),
				Hint: "compare it, as in error_rate < 0.01",
			}
		}
		return &schema.Error{Path: g.Origin, Message: quoted(g.Expr, text)}
	}
	return nil
}

// named collects the statistics that g speaks of in names; the error is one of syntax,
// or a name that nothing has.
func (g *Gate) named(names *gateNames) *schema.Error {
	tree, err := parser.Parse(g.Expr)
	if err != nil {
		return &schema.Error{Path: g.Origin, Message: quoted(g.Expr, oneLine(err)), Hint: schema.SlipHint(oneLine(err))}
	}
	ast.Walk(&tree.Node, (*memberNames)(names))
	ast.Walk(&tree.Node, (*bareNames)(names))
	if bad := names.bad; bad != nil {
		bad.Path, bad.Message = g.Origin, quoted(g.Expr, bad.Message)
		return bad
	}
	return nil
}

// gateNames turns metric.stat into one variable. Members are taken first, so
// that what remains are bare names.
type gateNames struct {
	tags   []string
	axes   map[string]any
	unread []string // axes that could not be read
	refs   []Key
	bad    *schema.Error
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
			g.unknownWith(base.Value, stat.Value)
		}
		return
	}
	known := statsOfTag(base.Value)
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
	if _, axis := g.axes[id.Value]; axis || slices.Contains(g.unread, id.Value) ||
		schema.Suggest(id.Value, g.unread) != "" {
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
	stat, ok := alone(id.Value)
	if !ok {
		if g.bad == nil {
			g.bad = &schema.Error{
				Message: id.Value + " has no single value",
				Hint:    "name a statistic: " + id.Value + "." + usual(id.Value),
			}
		}
		return
	}
	g.use(node, Key{id.Value, stat})
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
	near := schema.Suggest(name, known)
	if what == "metric" {
		near = cmp.Or(meant(name, known), near)
	}
	if near != "" {
		g.bad.Hint = "did you mean " + near + "?"
	} else if what == "statistic" {
		g.bad.Hint = "known: " + strings.Join(known, ", ")
	}
}

// unknownWith is unknown for a metric that has a statistic.
func (g *gateNames) unknownWith(name, stat string) {
	if g.bad != nil {
		return
	}
	g.bad = &schema.Error{Message: "unknown metric " + name}
	if near, _, _ := strings.Cut(meant(name, g.tags), "."); near != "" {
		g.bad.Hint = "did you mean " + near + "?"
		if name != near && metrics.Short(name) { // the whole, to be copied
			g.bad.Hint = "did you mean " + near + "." + stat + "?"
		}
	}
}

// variable is the name of a statistic in the environment; no metric and no
// axis can have it.
func (k Key) variable() string { return k.Tag + "." + k.Stat }

func isVariable(name string) bool { return strings.Contains(name, ".") }

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
