package sweep

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/schema"
)

// maxMistakes is how many different mistakes of the cells are reported at once.
const maxMistakes = 20

// Expand plans an experiment: lists the points of its sweep, derives and
// filters, resolves every cell, and lays out the runs. All errors are
// *schema.Error or schema.Errors and come before anything is run.
func Expand(doc Document) (*Plan, error) {
	e, s := doc.Envelope(), doc.Sweep()
	axes, all, err := points(s, e.RandomSeed)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		doc: doc, Name: e.Name, Type: orElse(s.Type, "none"), Axes: axes, Trials: max(1, e.MultiRun.NumRuns),
		MultiRun:        e.MultiRun,
		Order:           orElse(s.IterationOrder, "repeated"),
		CooldownSeconds: s.CooldownSeconds, Where: s.Where, Derive: s.Derive, Experiment: e, Design: s.Design,
		ruled:    s.Ruled,
		Adaptive: s.Adaptive, Filters: s.Filters, PostProcess: s.PostProcess, RecipeName: s.RecipeName,
	}
	if len(axes) > 0 && s.Type == "" {
		p.Type = grid().Name
	}
	for i, g := range e.Gates {
		p.Gates = append(p.Gates, Gate{Expr: g, Origin: GateOrigin(i)})
	}
	if err := p.addCells(doc, newExpressions(s), all); err != nil {
		return nil, err
	}
	if len(p.Cells) == 0 {
		return nil, &schema.Error{
			Path: "sweep.where", Place: s.WhereOrigin.Where,
			Message: fmt.Sprintf("the matrix is empty: %q drops all %d points", s.Where, len(all)),
			Hint:    "widen where, or add values to an axis",
		}
	}
	p.Axes = shownAxes(axes) // cells are resolved: nobody needs the credentials again
	if s.Design != nil {
		p.tellApart()
	}
	if err := refuseDuplicates(p.Cells, axes); err != nil {
		return nil, err
	}
	if err := p.checkFlips(); err != nil {
		return nil, err
	}
	if err := p.checkSearch(); err != nil {
		return nil, err
	}
	if err := p.checkAdaptive(); err != nil {
		return nil, err
	}
	nameDirs(p.Cells)
	p.CellOrder = p.cellOrder(s.Order)
	if err := p.chooseSeeds(); err != nil {
		return nil, err
	}
	p.plantSeeds(s.SameSeed, drawSeed)
	p.Hash = p.hash()
	if p.searches() { // its source makes up the runs
		return p, nil
	}
	if err := p.schedule(); err != nil {
		return nil, err
	}
	p.addSentinels()
	return p, nil
}

// addCells resolves the points that stay. The mistakes of all cells are
// gathered, each said once.
func (p *Plan) addCells(doc Document, x *expressions, all []point) error {
	if err := probe(doc, x, all); err != nil {
		return err
	}
	var found mistakes
	for i := range all {
		pt := &all[i]
		keep, err := x.apply(doc, pt)
		if err == nil && !keep {
			p.Dropped++
			continue
		}
		var c *Cell
		if err == nil {
			c, err = newCell(doc, pt, len(p.Cells))
		}
		if err != nil {
			found.add(err)
			if found.full() || doc.Sweep().Design != nil { // samples of one range are all wrong alike
				break
			}
			continue
		}
		p.Cells = append(p.Cells, c)
	}
	return found.err()
}

// probed is the size of a matrix that is looked at along its axes first.
const probed = 50

// probe resolves the points that differ from the first one on a single axis.
// Most mistakes are in one value, so a large matrix with one is refused after
// as many cells as it has values, not after their product.
func probe(doc Document, x *expressions, all []point) error {
	if len(all) < probed || doc.Sweep().Design != nil {
		return nil
	}
	var found mistakes
	for i := range all {
		if found.full() {
			break
		}
		pt := all[i] // apply changes it
		if !besides(all[0].values, pt.values) {
			continue
		}
		keep, err := x.apply(doc, &pt)
		if err == nil && keep {
			_, err = doc.Resolve(pt.set)
		}
		if err != nil {
			found.add(err)
		}
	}
	return found.err()
}

// besides reports whether two points differ on one axis at most.
func besides(a, b []Value) bool {
	n := 0
	for k := range a {
		if a[k].Label != b[k].Label {
			n++
		}
	}
	return n <= 1
}

func newCell(doc Document, pt *point, index int) (*Cell, error) {
	r, err := doc.Resolve(pt.set)
	if err != nil {
		return nil, err
	}
	canon, err := canonical(r.Identity)
	if err != nil {
		return nil, err
	}
	hide := doc.Sweep().Hide
	for path, v := range pt.plain {
		pt.plain[path] = schema.Masked(path, v, hide)
	}
	for i := range pt.values {
		v := &pt.values[i]
		if v.Value = schema.Masked(v.Path, v.Value, hide); secret.Masked(v.Value) {
			v.Value = v.Label // tells it from others
		}
	}
	return &Cell{
		ID: hashOf(canon)[:idDigits], Index: index, Label: pt.label, DirName: pt.name,
		Point: pt.values, Values: pt.plain, Resolved: r, canonical: canon,
	}, nil
}

// mistakes are errors said once each, in order.
type mistakes struct {
	list schema.Errors
	seen map[string]bool
	// other is the first error that is not a mistake in the experiment.
	other error
}

func (m *mistakes) add(err error) {
	var many schema.Errors
	var one *schema.Error
	switch {
	case errors.As(err, &many):
	case errors.As(err, &one):
		many = schema.Errors{one}
	default:
		m.other = err
	}
	if m.seen == nil {
		m.seen = map[string]bool{}
	}
	for _, e := range many {
		if text := e.Error(); !m.seen[text] {
			m.seen[text] = true
			m.list = append(m.list, e)
		}
	}
}

func (m *mistakes) full() bool { return m.other != nil || len(m.list) >= maxMistakes }

func (m *mistakes) err() error {
	if m.other != nil {
		return m.other
	}
	if len(m.list) > 0 {
		return m.list
	}
	return nil
}

// drawSeed is a seed for an experiment that asked for none.
func drawSeed() int64 {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return int64(binary.BigEndian.Uint64(b[:]) & math.MaxUint32)
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
