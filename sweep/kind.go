package sweep

import (
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

// Kind is one way to form the cells of a sweep: a row of the catalogue. Whatever
// depends on how cells are formed asks the row.
type Kind struct {
	Name  string // sweep.type
	Doc   string // one sentence
	Class string // what AIPerf calls it in its documents
	// Takes are the settings of the sweep block that only some kinds take.
	Takes []fields.Setting
	// InStep: all axes move together.
	InStep bool
	// Sampled: the cells are drawn from ranges, described by sweep.dimensions.
	Sampled bool
	// Searches: the cells are made up while the plan runs, by a source of its own.
	Searches bool
	// Drawn is how the samples of a design were made, in AIPerf's terms; nil
	// where a setting does not apply. Only sampled kinds have it.
	Drawn func(d *schema.Design) (scramble, optimization any)

	points func(s schema.Sweep, base *int64) ([]schema.Axis, []point, error)
	cube   func(d *schema.Design, seed uint64) ([][]float64, error) // of sampled kinds
}

// Kinds is the catalogue, the commonest first.
func Kinds() []*Kind {
	return []*Kind{
		grid(),
		zip(),
		scenarios(),
		sobol(),
		latinHypercube(),
		adaptiveSearch(),
	}
}

// KindOf finds a kind by its name.
func KindOf(name string) (*Kind, bool) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return nil, false
}

// Kind is the row of p's sweep; nil for a plan without one.
func (p *Plan) Kind() *Kind {
	k, _ := KindOf(p.Type)
	return k
}

// points lists the combinations in the order of the cells.
func points(s schema.Sweep, base *int64) ([]schema.Axis, []point, error) {
	if s.Type == "" || s.Type == "none" {
		return combined(s, false)
	}
	k, ok := KindOf(s.Type)
	if !ok {
		return nil, nil, &schema.Error{
			Path: "sweep.type", Message: `"` + s.Type + `" is no type of sweep`,
			Hint: "one of " + strings.Join(kindNames(), ", "),
		}
	}
	return k.points(s, base)
}

func kindNames() []string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	return slices.Clip(names)
}

// single is the one point of a plan that varies nothing.
func single() ([]schema.Axis, []point, error) {
	return nil, []point{{label: "base", name: "base", plain: map[string]any{}}}, nil
}
