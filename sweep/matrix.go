package sweep

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
)

// maxCells bounds the matrix. It is checked on the product, before any point
// exists.
const maxCells = 10_000

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

// blocks groups the axes and puts them in the order asked for.
// Axes of one group move in step; inStep puts those of no group into one.
func blocks(s schema.Sweep, inStep bool) ([]block, error) {
	axes := slices.Clone(s.Axes)
	if s.Order != "as_written" {
		slices.SortStableFunc(axes, func(a, b schema.Axis) int { return cmp.Compare(inBody(a.Path), inBody(b.Path)) })
	}
	var out []block
	at := map[int]int{} // group → index in out
	for _, a := range axes {
		if len(a.Values) == 0 {
			return nil, &schema.Error{
				Path: "sweep." + inBody(a.Path), Place: a.Origin.Where,
				Message: "no values: the matrix is empty", Hint: "such as [1, 4, 16], or leave the axis out",
			}
		}
		group := a.Group
		if inStep && group == 0 {
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
				Path: orElse(a.Origin.Path, "sweep."+inBody(a.Path)), Place: a.Origin.Where,
				Message: fmt.Sprintf("has a list of %d, %s one of %d; lists in a zip have equal lengths", len(a.Values),
					first.Name, out[i].len),
				Hint: "put it into a separate block for every combination: {grid: {…}}",
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
		factors[i] = words.Whole(b.len)
	}
	if cells.Cmp(big.NewInt(maxCells)) <= 0 {
		return nil
	}
	return &schema.Error{
		Path: "sweep", Place: blocks[0].axes[0].Origin.Where,
		Message: fmt.Sprintf("%s = %s cells; at most %s", strings.Join(factors, " × "), words.Digits(cells.String()),
			words.Whole(maxCells)),
		Hint: "fewer values per axis, or type: zip to move axes together",
	}
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
			p.set = append(p.set, a.Assignment(at[k], axisOrigin(a)))
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
	if o.Source != schema.ByFlag {
		o.Source = schema.ByAxis
	}
	if o.Where == "" {
		o.Where = "axis " + a.Name
	}
	return o
}
