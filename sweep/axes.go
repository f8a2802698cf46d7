package sweep

import (
	"net/url"
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema"
)

// KnownAxis is an axis that tables and charts know by name, because many sweeps
// have it: a row of the catalogue.
type KnownAxis struct {
	Name    string // of its column, after axis_
	Setting string // last part of the path that is swept, where that is another word
	Short   string // heading of a narrow table, where the name is long
	Unit    string // of its values; "" for names
	Label   string // of a chart's axis
	Place   int    // among the axes of a chart's table; 0 is between names and loads
	System  bool   // its values name systems that are compared
	// it varies what is asked, not who answers: cells that differ in it are never ranked against each other
	Work   bool
	Load   bool // more of it is more load
	Whole  bool // its values are whole numbers as a rule
	Always bool // it has a column in every table, swept or not
	// Of is what a cell has of it, swept or not: a number or a text, nil where it
	// has none. Only an axis over results has no Of.
	Of func(*schema.Benchmark) any
}

// knownAxes is the catalogue, in the order of the columns.
var knownAxes = [...]KnownAxis{
	{
		Name: "concurrency", Short: "conc", Unit: "requests", Label: "concurrency (requests)",
		Load: true, Place: 1, Whole: true, Always: true,
		Of: func(b *schema.Benchmark) any {
			p := Measured(b)
			if p.Scales(schema.ScaleConcurrency) != nil {
				return nil // it has no one value
			}
			return some(int64(p.Concurrency))
		},
	},
	{
		Name: "request_rate", Setting: "rate", Short: "rate", Unit: "requests/s", Label: "request rate (1/s)",
		Load: true, Place: 2, Always: true,
		Of: func(b *schema.Benchmark) any {
			p := Measured(b)
			if p.Scales(schema.ScaleRate) != nil {
				return nil
			}
			return some(p.Rate)
		},
	},
	{
		Name: "isl", Unit: "tokens", Place: -2, Work: true, Whole: true, Always: true,
		Of: func(b *schema.Benchmark) any { return mean(prompts(b).ISL) },
	},
	{
		Name: "osl", Unit: "tokens", Place: -1, Work: true, Whole: true, Always: true,
		Of: func(b *schema.Benchmark) any { return mean(prompts(b).OSL) },
	},
	{
		Name: "model", System: true, Place: -3, Always: true,
		Of: func(b *schema.Benchmark) any { return some(models(b)) },
	},
	{
		Name: "endpoint", System: true, Place: -4, Always: true,
		Of: func(b *schema.Benchmark) any { return some(server(&b.Endpoint)) },
	},
	{Name: "result", System: true, Place: -5},
	{
		Name: "users", Label: "users", Load: true, Whole: true, Place: 3,
		Of: func(b *schema.Benchmark) any { return some(int64(Measured(b).Users)) },
	},
	{
		Name: "in_flight", Label: "in flight (requests)", Load: true, Whole: true, Place: 4,
		Of: func(b *schema.Benchmark) any { return some(int64(Measured(b).InFlight)) },
	},
}

// KnownAxes are the axes of the catalogue in the order of the columns.
func KnownAxes() []KnownAxis { return slices.Clone(knownAxes[:]) }

// AxisNamed is the row of an axis by the name of its column or of the setting that
// is swept. An axis that no row knows has one that says its name only.
func AxisNamed(name string) KnownAxis {
	for _, a := range knownAxes {
		if a.Name == name || a.Setting == name {
			return a
		}
	}
	return KnownAxis{Name: name}
}

// work are the parts of a body that say what is asked: an axis that no row knows and
// that lies in one of them varies the work.
var work = []string{"dataset", "datasets"}

// VariesWork reports whether an axis varies what is asked, such as a length or the data
// set, and not the system or its load.
func VariesWork(name, path string) bool {
	part, _, _ := strings.Cut(inBody(path), ".")
	return AxisNamed(name).Work || slices.Contains(work, part)
}

// Apart is a cell's place on the axes that vary the work, "isl 64", and on all others,
// "candidate, concurrency 4"; "" where there is no such axis.
func (c *Cell) Apart() (work, rest string) {
	var asked, other Cell
	for _, v := range c.Point {
		if VariesWork(v.Axis, v.Path) {
			asked.Point = append(asked.Point, v)
		} else {
			other.Point = append(other.Point, v)
		}
	}
	return asked.Short(), other.Short()
}

// some is v, nil for the zero of its type.
func some[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// Measured is the first phase that is not a warmup.
func Measured(b *schema.Benchmark) schema.Phase {
	for _, p := range b.Phases {
		if p.Kind != "warmup" {
			return p
		}
	}
	return schema.Phase{}
}

func prompts(b *schema.Benchmark) schema.Prompts {
	if len(b.Datasets) == 0 || b.Accuracy.Alone() { // questions have the lengths they have
		return schema.Prompts{}
	}
	return b.Datasets[0].Prompts
}

// mean is what a length was asked to be on average, nil when it was not asked.
func mean(s *schema.Shape) any {
	switch {
	case s == nil:
		return nil
	case s.Value != nil:
		return *s.Value
	case s.Mean != nil:
		return *s.Mean
	}
	return nil
}

func models(b *schema.Benchmark) string {
	var names []string
	for _, m := range b.Models.Items {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

// server is the endpoint's label or else its addresses, without what may be
// secret in them.
func server(e *schema.Endpoint) string {
	if e.Label != "" {
		return e.Label
	}
	var shown []string
	for _, text := range e.URLs {
		u, err := url.Parse(text)
		if err != nil {
			continue
		}
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		shown = append(shown, e.Hide.Text(u.String()))
	}
	return strings.Join(shown, ", ")
}
