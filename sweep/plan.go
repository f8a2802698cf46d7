// Package sweep turns an experiment into a plan.
//
// Expand takes a document and gives a Plan: the matrix of cells with their
// trials, seeds, order of execution and directories. Nothing here runs or
// writes anything; what the runs of a plan say is the business of sweep/decide.
package sweep

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/schema"
)

// Document is an experiment that can be resolved at a point of its sweep;
// *schema.Document is one.
type Document interface {
	Envelope() schema.Experiment
	Sweep() schema.Sweep
	// Resolve gives the body with the point laid over it, checked.
	Resolve(point []schema.Assignment) (*schema.Resolved, error)
	// Names gives what expressions may speak of at the point, beside its axes.
	Names(point []schema.Assignment) (map[string]any, error)
}

var _ Document = (*schema.Document)(nil)

// Plan is everything that will be run, in order.
type Plan struct {
	Name            string
	Hash            string // sha256 of what its runs follow from, see hash: what makes two plans one
	Type            string // none, grid, zip, scenarios, …
	Axes            []schema.Axis
	Cells           []*Cell
	Trials          int
	Runs            []Run          // those that are known before the first, in order; none where a source makes them up
	Dropped         int            // points that "where" left out
	Design          *schema.Design // what the cells of a sampled sweep were drawn from, nil for the others
	MultiRun        schema.MultiRun
	Order           string  // of trials: repeated, independent
	CellOrder       string  // within a trial: alphabetical, as_written, shuffled, interleaved
	CooldownSeconds float64 // between cells
	Gates           []Gate
	BaseSeed        int64
	Seeds           string // how runs draw: Blocks, Fixed, Independent
	SeedsWhy        string // what decided that, "" for the default
	Seeded          bool   // the seed was given, or 42 because several runs are planned; false: drawn afresh
	Where           string
	Derive          []schema.Derivation
	Experiment      schema.Experiment
	Adaptive        *schema.Adaptive    // what an adaptive search is told, nil without one
	Filters         []schema.SLAFilter  // limits that make a cell feasible
	PostProcess     *schema.PostProcess // what is worked out of the finished cells, nil for nothing
	RecipeName      string              // the recipe that made the sweep
	doc             Document            // that it is expanded from
	sameSeed        bool                // of all cells
	ruled           map[string]bool     // settings of AIPerf's that rule, in its sense
	Warnings        []string            // doubts about the matrix that stop nothing
}

// Cell is one point of the matrix, resolved.
type Cell struct {
	ID       string // first 12 hex digits of a hash of the canonical resolved body: equal cells are one cell
	Index    int
	Label    string         // phases.profiling.concurrency=4, …: AIPerf's variation label; "base" without a sweep
	DirName  string         // concurrency_4__isl_512
	Point    []Value        // one per axis, in axis order
	Values   map[string]any // path in the body → value, as AIPerf lists a variation's values
	Resolved *schema.Resolved
	Seed     int64

	canonical []byte // what ID is the hash of
}

// Several reports whether more than one run may be carried out.
func (p *Plan) Several() bool { return len(p.Runs) != 1 }

// Crossed reports whether the cells are every combination of values that were written down, so that
// leaving out some values of one axis leaves a plan of the same kind.
func (p *Plan) Crossed() bool { return p.Type == grid().Name && p.RecipeName == "" }

// Hide masks the secrets of all cells, and those of the proxies on the way.
func (p *Plan) Hide() *secret.Masker {
	words := secret.Proxies(os.Getenv)
	for _, c := range p.Cells {
		words = append(words, c.Resolved.Secrets()...)
	}
	return secret.NewMasker(words...)
}

// Value is a cell's position on one axis.
type Value struct {
	Axis  string // the axis' short name
	Path  string
	Value any // plain data
	Label string
}

// Natural is the value in the type a table column has: an object or a list is
// spoken of by its label.
func (v Value) Natural() any {
	switch v.Value.(type) {
	case map[string]any, []any:
		return v.Label
	}
	return v.Value
}

// Text is the value as Python writes it: two values with one text are equal.
func (v Value) Text() string { return pyRepr(v.Value) }

// Gate is one condition every cell must meet, as it was written.
type Gate struct {
	Expr   string
	Origin string // "gates.0"
}

// GateOrigin is where gate i of an experiment stands.
func GateOrigin(i int) string { return fmt.Sprintf("gates.%d", i) }

// Run is one execution of a cell.
type Run struct {
	Cell   *Cell
	Trial  int    // 0-based
	ID     string // <cell id>-t<trial>
	Seed   int64  // of lengths, arrivals, think times, choices
	Text   int64  // of synthetic text
	Warmup bool   // warmup phases are run
	Dir    string // of its AIPerf files, relative to the result directory, "" for the top
	Label  string // run_0001
	// Sentinel is 1 to 3 for the runs of the sentinel, which are no trials: they are
	// in no estimate.
	Sentinel int
}

// Short is the cell in as few words as a table heading needs: "candidate, isl
// 128, concurrency 16"; "base" without a sweep.
func (c *Cell) Short() string {
	if len(c.Point) == 0 {
		return c.Label
	}
	parts := make([]string, len(c.Point))
	for i, v := range c.Point {
		parts[i] = v.Axis + " " + v.Label
		if _, object := v.Value.(map[string]any); object || v.Axis == scenarioAxis {
			parts[i] = v.Label
		}
	}
	return strings.Join(parts, ", ")
}

// Find is the run that CELL/TRIAL names: a cell by its index, identity, folder or
// words, a trial from 1 on.
func (p *Plan) Find(name string) (Run, error) {
	at := strings.LastIndexByte(name, '/')
	if at < 0 {
		return Run{}, fmt.Errorf("%q names no run", name)
	}
	cell, number := name[:at], name[at+1:]
	trial, err := strconv.Atoi(number)
	if err != nil || trial < 1 || trial > p.Trials {
		return Run{}, fmt.Errorf("%q is not a trial from 1 to %d", number, p.Trials)
	}
	for _, c := range p.Cells {
		if cell == strconv.Itoa(c.Index) || cell == c.ID || cell == c.DirName || cell == c.Short() || cell == c.Label {
			return p.RunOf(c, trial-1), nil
		}
	}
	return Run{}, fmt.Errorf("no cell is called %q", cell)
}

// Closed reports whether every profiling phase of the cell waits for answers: its
// throughput is then the server's doing, and not what was offered.
func (c *Cell) Closed() bool { return Closed(c.Resolved.Benchmark.Phases) }

// Closed is Cell.Closed for phases by themselves.
func Closed(phases []schema.Phase) bool {
	some := false
	for i := range phases {
		if phases[i].Kind == "warmup" {
			continue
		}
		m, err := mode.Of(&phases[i])
		if err != nil || !m.Closed {
			return false
		}
		some = true
	}
	return some
}

// Axis finds the value of the axis with the given short name.
func (c *Cell) Axis(name string) (Value, bool) {
	for _, v := range c.Point {
		if v.Axis == name {
			return v, true
		}
	}
	return Value{}, false
}
