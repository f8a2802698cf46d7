package sweep

import (
	"fmt"
	"slices"
	"strings"
)

// Grow is the cell at a point that the plan need not list: at has a value for each of its
// axes, by path. It is made when it is first asked for, and checked as any other; equal
// bodies are one cell. Its number, and with it its seed, follow from the order of asking.
func (p *Plan) Grow(at map[string]any) (*Cell, error) {
	axes := slices.Clone(p.Axes)
	for i := range axes {
		v, ok := at[axes[i].Path]
		if !ok || len(at) != len(axes) {
			return nil, fmt.Errorf("a cell has a value for each axis of the plan: %v", at)
		}
		axes[i] = axes[i].At(v)
	}
	pt := newPoint([]block{{axes, 1}}, []int{0})
	if p.Adaptive != nil {
		warmAlike(p.Adaptive, &pt)
	}
	c, err := newCell(p.doc, &pt, len(p.Cells))
	if err != nil {
		return nil, err
	}
	for _, old := range p.Cells {
		if old.ID == c.ID {
			return old, nil
		}
	}
	p.plantSeed(c)
	p.Cells = append(p.Cells, c)
	if slices.ContainsFunc(p.Cells[:c.Index],
		func(old *Cell) bool { return strings.EqualFold(old.DirName, c.DirName) }) || !fitsFolder(c.DirName) {
		c.DirName = ownFolder(c)
	}
	return c, nil
}
