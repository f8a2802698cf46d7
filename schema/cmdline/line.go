// Package cmdline is what belongs to AIPerf's command line alone: what its flags mean
// together, the recipes that they name, what they deny each other, and what profile
// fills in where they leave it open. In goes the experiment with its assignments; they
// are laid over its tree, and what is said of them comes back as remarks.
package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// Line is a command line over an experiment.
type Line struct {
	Root        *source.Node // the experiment, which is changed
	Assignments []lower.Assignment
	File        string // "" = flags only
	Command     string // the word after aiperf
	Axes        *lower.Axes
	Index       fields.Table
	Look        func(path string) (Records, error) // nil: no file is looked into
	Check       Checker
	Workers     int64  // that share the load; below 2 one process sends it
	Raised      string // why a search does not begin where it was asked to; "" where it does
	*source.Remarks

	records Records // of the file that a flag names
	named   bool    // the cells of the sweep are named ones
}

// Checker holds values against the schema.
type Checker interface {
	// Part checks a section, Leaf a value apart from the object it belongs to.
	Part(root *source.Node, path string, n *source.Node) diag.Errors
	Leaf(root *source.Node, path string, n *source.Node) diag.Errors
}

// Records is what a file of records shows at a glance.
type Records struct {
	Format string
	Timed  bool         // its records say when they were sent
	Count  func() int64 // how many there are; it reads the whole file
	// Roots is how many of them are sessions of their own in a format whose records
	// start others; it reads the whole file.
	Roots func(format string) int64
}

// Overlay lays --set and flags over the experiment, and works out what flags mean
// together. A comma list makes an axis; a single value pins an axis of the file on its
// path.
func (l *Line) Overlay() (bad diag.Errors) {
	profile := l.File == "" && l.Command == "profile"
	if profile {
		at := source.Because(source.Frame, "a phase made by flags")
		for _, path := range []string{"benchmark.datasets.main", "benchmark.phases.profiling"} {
			_, _ = lower.Reach(l.Index, l.Root, path, at) // nothing is there that could be in the way
		}
	}
	for _, a := range l.Assignments {
		if a.Origin.Source == source.ByDefault {
			continue // weak: combineFlags sets what is still missing
		}
		if strings.HasPrefix(a.Path, "sweep.") || a.Path == "sweep" {
			continue // laid over before the axes were read
		}
		l.Axes.Pin(a.Path)
		if a.Axis {
			l.Axes.Set(lower.Axis{Path: a.Path, Values: a.Value.Items, Origin: a.Origin})
			continue
		}
		bad = append(bad, lower.Lay(l.Index, l.Root, a)...)
	}
	if bad != nil {
		return bad
	}
	l.uncompare()
	bad = l.combineFlags()
	l.raiseSearch()
	if profile {
		l.profileDefaults()
	}
	if l.Command == "profile" {
		l.quiet()
	}
	return bad
}

// uncompare takes the comparison out whose axis was pinned: with -u one server is
// measured, and there is nothing to compare it with.
func (l *Line) uncompare() {
	c := l.Root.Get("compare")
	if c == nil || c.Kind != source.Object || c.Get("axis") == nil {
		return
	}
	axis := c.Get("axis")
	if name, ok := axis.Value.(string); ok && l.Axes.Lost(fields.Canonical(name)) {
		l.Root.Pop("compare")
		l.Notes = append(l.Notes, fmt.Sprintf("%s: compare is left out: the command line gives %s one value",
			axis.Origin.Where, name))
	}
}

// quiet is the screen of profile: no dashboard, unless a flag asks for one.
func (l *Line) quiet() {
	if b := l.Root.Get("benchmark"); b != nil && b.Kind == source.Object && l.flag("benchmark.runtime.ui") == nil {
		lower.Fill(b, "runtime", map[string]any{}, source.OfCommand, "command profile")
		if r := b.Get("runtime"); r.Kind == source.Object {
			r.Put("ui", source.TextNode("none", source.Because(source.OfCommand, "command profile")))
		}
	}
}

// flag is the assignment a flag made on path, the last one; nil without one.
func (l *Line) flag(path string) *lower.Assignment {
	for i := len(l.Assignments) - 1; i >= 0; i-- {
		if a := &l.Assignments[i]; a.Path == path && a.Origin.Source == source.ByFlag {
			return a
		}
	}
	return nil
}

// typed reports whether the flag of this main name was given.
func (l *Line) typed(flag string) bool {
	return slices.ContainsFunc(l.Assignments, func(a lower.Assignment) bool {
		return a.Origin.Source == source.ByFlag && a.Origin.Flag == flag
	})
}

// IdleValues checks the values of flags that nothing takes up, such as a warmup
// rate without a warmup: a value that cannot be is a mistake, whether or not it
// would have had an effect.
func (l *Line) IdleValues() (bad diag.Errors) {
	for _, a := range l.Assignments {
		if a.Origin.Source != source.ByFlag || l.Root.At(a.Path) != nil || l.Axes.On(a.Path) != nil {
			continue
		}
		values := []*source.Node{a.Value}
		if a.Axis {
			values = a.Value.Items
		}
		for _, v := range values {
			bad = append(bad, l.Check.Leaf(l.Root, a.Path, v.Clone())...)
		}
	}
	return bad
}
