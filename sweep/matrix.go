package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/schema"
)

// maxCells bounds the matrix. It is checked on the product, before any point
// exists.
const maxCells = 10_000

// scenarioAxis names the one axis that a list of scenarios makes.
const scenarioAxis = "scenario"

// point is one combination of values, not resolved yet.
type point struct {
	values []Value
	set    []schema.Assignment
	plain  map[string]any // Cell.Values
	label  string
	name   string // of the directory, before it is made unique
}

// block is a set of axes that move together; the matrix is the product of its
// blocks.
type block struct {
	axes []schema.Axis
	len  int
}

// points lists the combinations in the order of the cells: the last block
// varies fastest.
func points(s schema.Sweep, base *int64) ([]schema.Axis, []point, error) {
	switch s.Type {
	case "", "none", "grid", "zip":
		if len(s.Axes) == 0 { // no sweep, or the command line pinned every axis
			return nil, []point{{label: "base", name: "base", plain: map[string]any{}}}, nil
		}
	case "scenarios":
		return scenarios(s)
	case "sobol", "latin_hypercube":
		return sampled(s, base)
	case "adaptive_search":
		// A search makes up its points as it goes: the plan shows where it starts.
		return nil, []point{{label: "base", name: "base", plain: map[string]any{}}}, nil
	default:
		return nil, nil, &schema.Error{Path: "sweep.type", Message: fmt.Sprintf("%q is no type of sweep", s.Type), Hint: "grid, zip, scenarios, sobol and latin_hypercube are"}
	}
	blocks, err := blocks(s)
	if err != nil {
		return nil, nil, err
	}
	if err := checkProduct(blocks); err != nil {
		return nil, nil, err
	}
	if err := refuseRepeated(blocks); err != nil {
		return nil, nil, err
	}
	var axes []schema.Axis
	for _, b := range blocks {
		axes = append(axes, b.axes...)
	}
	return axes, product(blocks), nil
}

// blocks groups the axes and puts them in the order asked for.
func blocks(s schema.Sweep) ([]block, error) {
	axes := slices.Clone(s.Axes)
	if s.Order != "as_written" {
		slices.SortStableFunc(axes, func(a, b schema.Axis) int { return cmp.Compare(inBody(a.Path), inBody(b.Path)) })
	}
	var out []block
	at := map[int]int{} // group → index in out
	for _, a := range axes {
		if len(a.Values) == 0 {
			return nil, &schema.Error{Path: "sweep." + inBody(a.Path), Place: a.Origin.Where, Message: "no values: the matrix is empty", Hint: "such as [1, 4, 16], or leave the axis out"}
		}
		group := a.Group
		if s.Type == "zip" && group == 0 {
			group = -1
		}
		i, known := at[group]
		if group == 0 || !known {
			at[group] = len(out)
			out = append(out, block{[]schema.Axis{a}, len(a.Values)})
			continue
		}
		if first := out[i].axes[0]; len(a.Values) != out[i].len {
			return nil, &schema.Error{
				Path: "sweep." + inBody(a.Path), Place: a.Origin.Where,
				Message: fmt.Sprintf("%d values, but %s has %d: a zip needs as many of each", len(a.Values), inBody(first.Path), out[i].len),
			}
		}
		out[i].axes = append(out[i].axes, a)
	}
	return out, nil
}

// checkProduct refuses a matrix that is too large, with the product written out.
func checkProduct(blocks []block) error {
	cells := big.NewInt(1)
	factors := make([]string, len(blocks))
	for i, b := range blocks {
		cells.Mul(cells, big.NewInt(int64(b.len)))
		factors[i] = grouped(strconv.Itoa(b.len))
	}
	if cells.Cmp(big.NewInt(maxCells)) <= 0 {
		return nil
	}
	return &schema.Error{
		Path: "sweep", Place: blocks[0].axes[0].Origin.Where,
		Message: fmt.Sprintf("%s = %s cells; at most %s", strings.Join(factors, " × "), grouped(cells.String()), grouped(strconv.Itoa(maxCells))),
		Hint:    "fewer values per axis, or type: zip to move axes together",
	}
}

// grouped writes a whole number with commas.
func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func product(blocks []block) []point {
	at := make([]int, len(blocks))
	var out []point
	for {
		out = append(out, newPoint(blocks, at))
		k := len(at) - 1
		for ; k >= 0; k-- {
			if at[k]++; at[k] < blocks[k].len {
				break
			}
			at[k] = 0
		}
		if k < 0 {
			return out
		}
	}
}

func newPoint(blocks []block, at []int) point {
	p := point{plain: map[string]any{}}
	var labels, texts []string
	for k, b := range blocks {
		for _, a := range b.axes {
			v := a.Values[at[k]]
			text := valueText(a, at[k])
			path := inBody(a.Path)
			p.values = append(p.values, Value{Axis: a.Name, Path: a.Path, Value: v, Label: shortText(a, at[k])})
			p.set = append(p.set, schema.Assignment{Path: a.Path, Value: v, Origin: axisOrigin(a)})
			p.plain[path] = v
			labels = append(labels, path+"="+text)
			texts = append(texts, text)
		}
	}
	p.label = strings.Join(labels, ", ")
	p.name = dirName(p.values, texts, p.label)
	return p
}

// axisOrigin keeps where the axis was written; a flag stays a flag in errors.
func axisOrigin(a schema.Axis) schema.Origin {
	o := a.Origin
	if o.Source != "flag" {
		o.Source = "axis"
	}
	if o.Where == "" {
		o.Where = "axis " + a.Name
	}
	return o
}

// scenarios are points of one axis, the scenario's name.
func scenarios(s schema.Sweep) ([]schema.Axis, []point, error) {
	if len(s.Scenarios) == 0 {
		return nil, nil, &schema.Error{Path: "sweep.runs", Message: "no scenarios: the matrix is empty", Hint: "name one, or leave the sweep out"}
	}
	if n := len(s.Scenarios); n > maxCells {
		return nil, nil, &schema.Error{Path: "sweep.runs", Message: fmt.Sprintf("%s cells; at most %s", grouped(strconv.Itoa(n)), grouped(strconv.Itoa(maxCells)))}
	}
	axis := schema.Axis{Path: scenarioAxis, Name: scenarioAxis}
	seen := map[string]int{}
	var out []point
	for i, sc := range s.Scenarios {
		name := sc.Name
		if name == "" {
			name = fmt.Sprintf("scenario_%d", i)
		}
		if first, twice := seen[name]; twice {
			return nil, nil, &schema.Error{Path: fmt.Sprintf("sweep.runs.%d.name", i), Message: fmt.Sprintf("%q is the name of scenario %d too", name, first)}
		}
		seen[name] = i
		plain := map[string]any{}
		maps.Copy(plain, sc.Values)
		axis.Values, axis.Labels = append(axis.Values, name), append(axis.Labels, name)
		out = append(out, point{values: []Value{{scenarioAxis, scenarioAxis, name, name}}, set: sc.Assignments, plain: plain, label: name, name: scenarioDir(sc, name)})
	}
	return []schema.Axis{axis}, out, nil
}

// scenarioDir is the scenario's name, or made of its values where it gives some.
func scenarioDir(sc schema.Scenario, name string) string {
	if len(sc.Named) == 0 {
		return clean(name)
	}
	parts := make([]string, len(sc.Named))
	for i, k := range sc.Named {
		parts[i] = clean(k[strings.LastIndex(k, ".")+1:] + "_" + pyStr(sc.Values[k]))
	}
	return strings.Join(parts, "__")
}
