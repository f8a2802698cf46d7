package sweep

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/pyrepr"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
)

// sampled draws the points of a sweep of a sampled kind: a design in the
// unit cube, each coordinate mapped to the range or the choices of its
// dimension. The same seed gives the same points, in AIPerf too. The axes hold
// the values that were drawn, each once.
func sampled(k *Kind, s schema.Sweep, base *int64) ([]schema.Axis, []point, error) {
	d := s.Design
	if d == nil || len(d.Dimensions) == 0 {
		return nil, nil, &schema.Error{Path: "sweep.dimensions", Message: "no dimensions: there is nothing to sample"}
	}
	if d.Samples > maxCells {
		return nil, nil, &schema.Error{
			Path: "sweep.samples", Place: d.SampleOrigin.Where,
			Message: fmt.Sprintf("%s cells; at most %s", words.Whole(d.Samples), words.Whole(maxCells)),
			Hint:    "take fewer samples, or divide the ranges among several plans",
		}
	}
	cube, err := k.cube(d, designSeed(d, base))
	if err != nil {
		return nil, nil, &schema.Error{
			Path: "sweep.dimensions", Place: d.Dimensions[0].Origin.Where,
			Message: err.Error(), Hint: "take fewer dimensions, or type: latin_hypercube, which takes any number of them",
		}
	}
	axes := make([]schema.Axis, len(d.Dimensions))
	for k, dim := range d.Dimensions {
		axes[k] = schema.Axis{Path: dim.Path, Name: dim.Name, Origin: dim.Origin}
	}
	out := make([]point, len(cube))
	seen := make([]map[string]bool, len(axes))
	for i, u := range cube {
		out[i] = samplePoint(axes, d, u)
		addValues(axes, seen, out[i].values)
		if d.LabelFormat != "kv" {
			out[i].label = fmt.Sprintf("%s_%04d", s.Type, i)
		}
	}
	return axes, out, nil
}

// designSeed is the sweep's own seed, else the experiment's: a plan is the same
// each time it is made, so that it can be resumed.
func designSeed(d *schema.Design, base *int64) uint64 {
	switch {
	case d.Seed != nil:
		return uint64(*d.Seed)
	case base != nil:
		return uint64(*base)
	}
	return defaultSeed
}

// samplePoint is the point at u in the unit cube.
func samplePoint(axes []schema.Axis, d *schema.Design, u []float64) point {
	p := point{plain: map[string]any{}}
	labels, texts := make([]string, len(axes)), make([]string, len(axes))
	for k, dim := range d.Dimensions {
		v, label := dimensionValue(dim, u[k])
		path := inBody(dim.Path)
		texts[k] = pyStr(v)
		labels[k] = path + "=" + texts[k]
		p.values = append(p.values, Value{Axis: dim.Name, Path: dim.Path, Value: v, Label: label})
		p.set = append(p.set, schema.Assign(dim.Path, v, axisOrigin(axes[k])))
		p.plain[path] = v
	}
	p.label = strings.Join(labels, ", ")
	p.name = dirName(p.values, texts, p.label)
	return p
}

// addValues adds to each axis the value of a point that is new to it.
func addValues(axes []schema.Axis, seen []map[string]bool, values []Value) {
	for k, v := range values {
		if seen[k] == nil {
			seen[k] = map[string]bool{}
		}
		if !seen[k][v.Label] {
			seen[k][v.Label] = true
			axes[k].Values, axes[k].Labels = append(axes[k].Values, v.Value), append(axes[k].Labels, v.Label)
		}
	}
}

// dimensionValue maps u in [0, 1): a choice by equal parts, else
//
//	lo + u·(hi − lo)    or    exp(ln lo + u·(ln hi − ln lo))
//
// and for whole numbers the nearest one within the range.
func dimensionValue(dim schema.Dimension, u float64) (v any, label string) {
	if n := len(dim.Choices); n > 0 {
		i := min(int(u*float64(n)), n-1)
		return dim.Choices[i], dim.Labels[i]
	}
	x := dim.Lo + float64(u*(dim.Hi-dim.Lo))
	if dim.Log {
		low := math.Log(dim.Lo)
		x = math.Exp(low + float64(u*(math.Log(dim.Hi)-low)))
	}
	if dim.Int {
		n := int64(max(math.Ceil(dim.Lo), min(math.RoundToEven(x), math.Floor(dim.Hi))))
		return n, strconv.FormatInt(n, 10)
	}
	return x, pyrepr.Float(x)
}
