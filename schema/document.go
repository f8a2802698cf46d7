// Package schema says what an experiment may say, and where each value came
// from. In goes a file (CUE, YAML, JSON) and assignments (flags, --set, sweep
// points); out comes a Document, and for each point of its sweep a resolved,
// checked Benchmark. All mistakes are *Error values with a place and a hint.
package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/cmdline"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/flags"
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

	nodes []*source.Node // the values with their places; nil where nobody wrote them
	hide  *secret.Masker
}

// Assignment is value i, laid over a cell.
func (a Axis) Assignment(i int, at Origin) Assignment {
	if a.nodes == nil {
		return Assign(a.Path, a.Values[i], at)
	}
	return Assignment{Path: a.Path, Value: a.nodes[i].From(source.ByAxis), Origin: at}
}

// At is the axis with v as its only value, which nobody wrote.
func (a Axis) At(v any) Axis {
	a.Values, a.Labels, a.nodes = []any{v}, nil, nil
	return a
}

// Shown is value i as people and files may see it. Values that are masked whole are
// told apart by their number, counted from 1.
func (a Axis) Shown(i int) any {
	v := Masked(a.Path, a.Values[i], a.hide)
	if secret.Masked(v) && len(a.Values) > 1 {
		return fmt.Sprintf("%s %d", v, i+1)
	}
	return v
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
	Design    *Design   // of sobol and latin_hypercube, nil for the others
	Adaptive  *Adaptive // of adaptive_search, nil for the others
	// Filters are the limits that make a cell feasible, PostProcess what is worked out of
	// the finished cells, nil for nothing, and RecipeName the recipe that made the sweep.
	Filters     []SLAFilter
	PostProcess *PostProcess
	RecipeName  string
	// Unread are axes that could not be read, by the last words of their paths.
	Unread []string
	// Hide masks what the environment says in the experiment and may be secret.
	Hide *secret.Masker
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
	// Over is what the experiment says of the path otherwise and no cell has, as
	// "40, sweep.yaml:5:44"; "" where it says nothing.
	Over string
}

// Resolved is one cell's body with its origins.
type Resolved struct {
	Benchmark Benchmark
	// JSON is the whole canonical tree of the body with every default, keys in
	// schema order, secrets masked: what AIPerf's readers see.
	JSON []byte
	// Identity is JSON with nothing masked but what is known to be a credential: what
	// a cell's identity is made of. It is never shown.
	Identity []byte
	// Given is JSON with only what somebody said; nil in a sweep.
	Given []byte

	aside []setting
	env   []string       // what the environment says and may be secret
	hide  *secret.Masker // of these words
	idle  []idleSetting
}

// Secrets are the words of a cell that are masked wherever they turn up: its
// credentials, and what may be one because a header or the environment says it. A
// word of the second kind that the cell says in the open, too, as the name of its
// model or host, is none.
func (r *Resolved) Secrets() []string {
	e := &r.Benchmark.Endpoint
	urls := slices.Concat(e.URLs, r.Benchmark.outlets(), r.Benchmark.ServerMetrics.URLs, r.Benchmark.GPUTelemetry.URLs)
	known, maybe := secret.Words(e.APIKey, e.Headers.Plain(), urls, e.Extra.Plain())
	if f := e.Flip; f != nil {
		k, m := secret.Words("", f.Headers.Plain(), []string{f.Call}, f.Body.Plain())
		known, maybe = append(known, k...), append(maybe, m...)
	}
	for _, hooks := range r.Benchmark.Server.All() {
		for _, h := range hooks {
			k, m := secret.Words("", h.Headers.Plain(), []string{h.Call}, h.Body.Plain())
			known, maybe = append(known, k...), append(maybe, m...)
		}
	}
	known = append(known, secret.Tokens(string(r.Identity))...)
	if maybe = append(maybe, r.env...); len(maybe) == 0 {
		return known
	}
	shown := r.shownTexts()
	maybe = slices.DeleteFunc(maybe, func(w string) bool {
		return slices.ContainsFunc(shown, func(s string) bool { return strings.Contains(s, w) })
	})
	return append(known, maybe...)
}

// shownTexts are the texts of a body that are shown whoever says them: names,
// files, words of the schema, hosts.
func (r *Resolved) shownTexts() (out []string) {
	dec := json.NewDecoder(bytes.NewReader(r.JSON))
	dec.UseNumber()
	var body any
	if dec.Decode(&body) != nil {
		return nil // a body that was not resolved
	}
	x := fields.New()
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if !x.At(path).Has(fields.IsFree) {
				for k, sub := range v {
					walk(source.Join(path, k), sub)
				}
			}
		case []any:
			for _, sub := range v {
				walk(source.Join(path, "*"), sub)
			}
		case string:
			if !x.At(path).MayHide() {
				out = append(out, v)
			}
		}
	}
	walk("benchmark", body)
	for _, u := range r.Benchmark.Endpoint.URLs {
		out = append(out, secret.Host(u))
	}
	return out
}

// What a caller that loads an experiment meets of the rooms below.
type (
	Origin     = source.Origin
	Select     = source.Select
	Download   = source.Download
	Assignment = lower.Assignment
	Option     = flags.Option
	Records    = cmdline.Records // what a file of records shows at a glance
	Topic      = flags.Topic
)

// Who gives a value, and why a default is there.
const (
	ByDefault = source.ByDefault
	ByFile    = source.ByFile
	ByEnv     = source.ByEnv
	ByFlag    = source.ByFlag
	BySet     = source.BySet
	ByAxis    = source.ByAxis
	ByDerive  = source.ByDerive

	Usual     = source.Usual
	OfProfile = source.OfProfile
	OfCommand = source.OfCommand
	Frame     = source.Frame
)

// Assign is an assignment of plain data.
func Assign(path string, v any, at Origin) Assignment { return lower.Assign(path, v, at) }

// Network is the way to a registry of modules until ctx ends.
func Network(ctx context.Context) http.RoundTripper { return source.Network(ctx) }

// Options are the flags in schema order; those of AIPerf that are not here come
// last.
func Options() []Option { return flags.Options() }

// Topics are the words that help knows the flags by.
func Topics() []Topic { return flags.Topics() }

// ParseSet reads path=value.
func ParseSet(text string) (Assignment, error) { return flags.ParseSet(text) }

// IsPackage tells whether a folder holds CUE files.
func IsPackage(dir string) bool { return source.IsPackage(dir) }

// Experiments are the fields of a CUE package, or of a file, that are
// experiments, as -e takes them; "" is the package or file itself. The note, if
// any, is about the schema that is vendored beside it.
func Experiments(name string, sel Select) (found []string, note string, err error) {
	defer caught(name, new(*secret.Masker), func(bad Errors) { found, note, err = nil, "", bad })
	found, bad := source.Experiments(name, sel, stub)
	if bad != nil {
		return nil, "", bad
	}
	return found, staleCopy(name), nil
}

// Suggest is the word of among that was probably meant by word, or "".
func Suggest(word string, among []string) string { return suggest.Nearest(word, among) }

// Error is one mistake in an experiment: where it is, what is wrong and what
// to do about it.
type Error = diag.Error

// Errors are all mistakes that were found, unknown keys first, then in the
// order of the experiment.
type Errors = diag.Errors
