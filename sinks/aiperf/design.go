package aiperf

import (
	"fmt"
	"path/filepath"

	"aiperf.dev/aiperf/sinks"
)

// Design is what a sampled sweep drew its cells from, and the cells it drew.
type Design struct {
	Type    string // sobol, latin_hypercube
	Samples int
	Seed    int64
	// Scramble and Optimization say how the points were made; nil where the kind
	// has no such setting.
	Scramble, Optimization Plain
	Dimensions             []DesignDimension
	Points                 [][]Plain // one row per cell, in the order of Dimensions
}

// DesignDimension is a range, or choices in place of one.
type DesignDimension struct {
	Path     string // in the body
	Lo, Hi   float64
	Log, Int bool
	Choices  []Plain
}

// WriteDesign writes sampling_design.json into dir, in AIPerf's shape: what
// does not apply to the kind of sweep is null.
func WriteDesign(dir string, d *Design) (sinks.FileInfo, error) {
	const name = "sampling_design.json"
	b, err := appendJSON(nil, d.json())
	if err != nil {
		return sinks.FileInfo{}, fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
	}
	return sinks.WriteArtifact(dir, name, "aggregate", b)
}

func (d *Design) json() object {
	dims := []object{}
	for _, x := range d.Dimensions {
		dims = append(dims, x.json())
	}
	points := make([]any, len(d.Points))
	for i, p := range d.Points {
		points[i] = bare(p)
	}
	return object{}.with("type", d.Type).with("samples", d.Samples).with("seed", d.Seed).with("scramble", d.Scramble.V).
		with("optimization", d.Optimization.V).with("dimensions", dims).with("samples_mapped", points)
}

func (x DesignDimension) json() object {
	scale, kind := "linear", "real"
	if x.Log {
		scale = "log"
	}
	if x.Int {
		kind = "int"
	}
	if len(x.Choices) > 0 {
		return object{}.with("path", x.Path).with("lo", nil).with("hi", nil).with("scale",
			scale).with("kind", kind).with("choices", bare(x.Choices))
	}
	return object{}.with("path", x.Path).with("lo", number(x.Lo)).with("hi", number(x.Hi)).with("scale",
		scale).with("kind", kind).with("choices", nil)
}
