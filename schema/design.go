package schema

import (
	"fmt"
	"slices"
	"strings"
)

// design reads what a sampled sweep draws its points from: the checked block
// for the values, the block as written for the places.
func (d *Document) design(sw *node, block map[string]any) Errors {
	if !sampled(d.sweep.Type) {
		return nil
	}
	if len(d.axes) > 0 {
		return mistake(d.axes[0].origin, strings.TrimPrefix(d.axes[0].path, "benchmark."), "an axis cannot be combined with a sampled sweep", "make it one of its dimensions, with choices: […]")
	}
	out := &Design{Samples: int(numberOf(block["samples"]))}
	if n := sw.get("samples"); n != nil {
		out.SampleOrigin = n.origin
	}
	if _, given := block["seed"]; given {
		seed := int64(numberOf(block["seed"]))
		out.Seed = &seed
	}
	out.Scramble = block["scramble"] != false
	out.Spread = block["optimization"] == "random-cd"
	out.LabelFormat, _ = block["label_format"].(string)
	rows, _ := block["dimensions"].([]any)
	var bad Errors
	for i, row := range rows {
		dim := dimension(row.(map[string]any), sw.at(fmt.Sprintf("dimensions.%d", i)))
		bad = append(bad, d.sampledPath(dim, out.Dimensions, i)...)
		out.Dimensions = append(out.Dimensions, dim)
	}
	d.nameDimensions(out.Dimensions)
	d.sweep.Design = out
	return bad
}

func dimension(row map[string]any, written *node) Dimension {
	path, _ := row["path"].(string)
	dim := Dimension{
		Path: Canonical(path), Lo: numberOf(row["lo"]), Hi: numberOf(row["hi"]),
		Log: row["scale"] == "log", Int: row["kind"] == "int",
	}
	if written == nil {
		return dim
	}
	dim.Origin = written.origin
	if choices := written.get("choices"); choices != nil {
		for _, v := range choices.items {
			dim.Choices = append(dim.Choices, v.plain())
			dim.Labels = append(dim.Labels, labelOf(v))
		}
	}
	if p := written.get("path"); p != nil {
		dim.Origin = p.origin
	}
	return dim
}

// sampledPath checks that a dimension names a field of a cell that nothing else
// decides.
func (d *Document) sampledPath(dim Dimension, before []Dimension, i int) Errors {
	at, body := fmt.Sprintf("sweep.dimensions.%d.path", i), strings.TrimPrefix(dim.Path, "benchmark.")
	hint, known := d.index.knownPath(dim.Path)
	switch {
	case !known:
		return Errors{{Path: at, Place: dim.Origin.Where, Message: "unknown field " + body, Hint: hint}}
	case !sweepable(dim.Path):
		return mistake(dim.Origin, at, body+" cannot be swept", "a dimension is a field of the benchmark or a variable")
	case slices.ContainsFunc(before, func(b Dimension) bool { return axisKey(b.Path) == axisKey(dim.Path) }):
		return mistake(dim.Origin, at, body+" is a dimension twice", "")
	}
	for _, a := range d.src.Assignments {
		if a.Origin.Source != "default" && axisKey(a.Path) == axisKey(dim.Path) {
			return mistake(a.Origin, body, "is sampled by the sweep ("+dim.Origin.Where+")", "leave out one of them")
		}
	}
	return nil
}

func (d *Document) nameDimensions(dims []Dimension) {
	axes := make([]axisNodes, len(dims))
	for i := range dims {
		axes[i].path = dims[i].Path
	}
	for i, name := range axisNames(axes) {
		dims[i].Name = name
	}
}
