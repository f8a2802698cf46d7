package schema

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// design reads what a sampled sweep draws its points from: the checked block
// for the values, the block as written for the places.
func (d *draft) design(sw *source.Node, block *sweepFields) (*Design, Errors) {
	if len(d.axes.All) > 0 {
		return nil, source.Mistake(d.axes.All[0].Origin, strings.TrimPrefix(d.axes.All[0].Path, "benchmark."),
			"an axis cannot be combined with a sampled sweep", "make it one of its dimensions, with choices: […]")
	}
	out := &Design{
		Samples: block.Samples, Seed: block.Seed, Scramble: block.Scramble == nil || *block.Scramble,
		Spread: block.Optimization == "random-cd", LabelFormat: block.LabelFormat,
	}
	if n := sw.Get("samples"); n != nil {
		out.SampleOrigin = n.Origin
	}
	var bad Errors
	for i, row := range block.Dimensions {
		dim := dimension(row, sw.At(fmt.Sprintf("dimensions.%d", i)))
		bad = append(bad, d.sampledPath(dim, out.Dimensions, i)...)
		out.Dimensions = append(out.Dimensions, dim)
	}
	nameDimensions(out.Dimensions)
	return out, bad
}

func dimension(row sweepDimension, written *source.Node) Dimension {
	dim := Dimension{
		Path: fields.Canonical(row.Path), Lo: row.Lo, Hi: row.Hi,
		Log: row.Scale == "log", Int: row.Kind == "int",
	}
	if written == nil {
		return dim
	}
	dim.Origin = written.Origin
	if choices := written.Get("choices"); choices != nil {
		for _, v := range choices.Items {
			dim.Choices = append(dim.Choices, v.Plain())
			dim.Labels = append(dim.Labels, labelOf(v))
		}
	}
	if p := written.Get("path"); p != nil {
		dim.Origin = p.Origin
	}
	return dim
}

// sampledPath checks that a dimension names a field of a cell that nothing else
// decides.
func (d *draft) sampledPath(dim Dimension, before []Dimension, i int) Errors {
	at, body := fmt.Sprintf("sweep.dimensions.%d.path", i), strings.TrimPrefix(dim.Path, "benchmark.")
	hint, known := d.index.KnownPath(dim.Path)
	switch {
	case !known:
		return Errors{{Path: at, Place: dim.Origin.Where, Message: "unknown field " + body, Hint: hint}}
	case !fields.Sweepable(dim.Path):
		return source.Mistake(dim.Origin, at, body+" cannot be swept",
			"a dimension is a field of the benchmark or a variable")
	case slices.ContainsFunc(before,
		func(b Dimension) bool { return lower.AxisKey(b.Path) == lower.AxisKey(dim.Path) }):
		return source.Mistake(dim.Origin, at, body+" is a dimension twice", "")
	}
	for _, a := range d.src.Assignments {
		if a.Origin.Source != source.ByDefault && lower.AxisKey(a.Path) == lower.AxisKey(dim.Path) {
			return source.Mistake(a.Origin, body, "is sampled by the sweep ("+dim.Origin.Where+")",
				"leave out one of them")
		}
	}
	return nil
}

func nameDimensions(dims []Dimension) {
	paths := make([]string, len(dims))
	for i := range dims {
		paths[i] = dims[i].Path
	}
	for i, name := range axisNames(paths) {
		dims[i].Name = name
	}
}
