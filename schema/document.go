// Package schema says what an experiment may say, and where each value came
// from. In goes a file (CUE, YAML, JSON) and assignments (flags, --set, sweep
// points); out comes a Document, and for each point of its sweep a resolved,
// checked Benchmark. All mistakes are *Error values with a place and a hint.
package schema

import (
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// Axis is one swept path with its values in the user's order.
type Axis struct {
	Path   string   // canonical, rooted in the envelope: benchmark.phases.profiling.concurrency
	Name   string   // short and unique among the axes: concurrency, isl, endpoint
	Values []any    // plain data; a labelled object keeps its "label" member
	Labels []string // what a person calls each value: "4", "baseline"
	Origin source.Origin
	Group  int // axes of one group move together (a zip inside a grid); 0 is a group of its own
}

// Scenario is one named point that sets many paths at once.
type Scenario struct {
	Name        string
	Assignments []lower.Assignment
	Values      map[string]any // as the user wrote them
	// Named are the keys of Values in their order, where the scenario gives
	// values by name; empty where Values is what it changes.
	Named []string
}

// Sweep is the sweep block as far as it is not about paths of the body.
type Sweep struct {
	Type            string // "" none; grid, zip, scenarios, …
	Axes            []Axis // alphabetical by path as AIPerf does, or as written
	Derive          []Derivation
	Where           string
	WhereOrigin     source.Origin
	IterationOrder  string // repeated, independent
	Order           string // alphabetical (default), as_written, shuffled, interleaved
	CooldownSeconds float64
	SameSeed        bool
	// Ruled are AIPerf's own settings about seeds and warmup that somebody gave,
	// of this block and of multi_run: only then they rule, in AIPerf's sense.
	Ruled     map[string]bool
	Scenarios []Scenario
	Design    *Design // of sobol and latin_hypercube, nil for the others
	// Block is the whole sweep block as checked, with its defaults: what the
	// searching kind reads (search_space, objectives).
	Block map[string]any
	// Unread are axes that could not be read, by the last words of their paths.
	Unread []string
}

// Design is how a sampled sweep draws its points.
type Design struct {
	Samples      int
	SampleOrigin source.Origin
	Seed         *int64 // nil: the experiment's base seed
	Scramble     bool   // sobol
	Spread       bool   // latin_hypercube: coordinates are swapped until the points lie more evenly
	LabelFormat  string // index, kv
	Dimensions   []Dimension
}

// Dimension is one sampled path: a range, or choices.
type Dimension struct {
	Path    string // canonical
	Name    string // short and unique, as that of an axis
	Lo, Hi  float64
	Log     bool // logarithms are spread evenly, not values
	Int     bool
	Choices []any // plain data; in place of a range
	Labels  []string
	Origin  source.Origin
}

// Derivation sets a path from an expression over the names of the axes.
type Derivation struct {
	Path   string // canonical
	Expr   string
	Origin source.Origin
}

// Resolved is one cell's body with its origins.
type Resolved struct {
	Benchmark Benchmark
	// JSON is the whole canonical tree of the body with every default, keys in
	// schema order, secrets masked: what AIPerf's readers and a cell's
	// identity see.
	JSON []byte
	// Given is JSON with only what somebody said; nil in a sweep.
	Given []byte

	aside []setting
}
