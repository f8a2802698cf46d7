package sweep

import (
	"bytes"
	"fmt"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
)

// maxPairs is how many pairs of equal points are written out.
const maxPairs = 3

const repeatHint = "leave one out; to measure a cell again use multi_run.num_runs"

// refuseRepeated names the values that an axis of its own holds more than once,
// one line per axis: no cell needs to be resolved to see those.
func refuseRepeated(blocks []block) error {
	var found schema.Errors
	for _, b := range blocks {
		if len(b.axes) > 1 {
			continue // moves in step with others: a value may come again
		}
		a := b.axes[0]
		times := map[string]int{}
		for i := range a.Values {
			text := pyRepr(a.Values[i])
			if times[text]++; times[text] == 2 {
				found = append(found, &schema.Error{
					Path: "sweep." + inBody(a.Path), Place: a.Origin.Where,
					Message: fmt.Sprintf("%s is given %d times", shortText(a, i), countOf(a, text)), Hint: repeatHint,
				})
				break
			}
		}
	}
	if len(found) > 0 {
		return found
	}
	return nil
}

func countOf(a schema.Axis, text string) (n int) {
	for _, v := range a.Values {
		if pyRepr(v) == text {
			n++
		}
	}
	return n
}

// twin is a cell that equals an earlier one.
type twin struct{ first, again *Cell }

func twins(cells []*Cell) (out []twin) {
	first := map[string]*Cell{}
	for _, c := range cells {
		if was, twice := first[c.ID]; twice {
			out = append(out, twin{was, c})
		} else {
			first[c.ID] = c
		}
	}
	return out
}

// refuseDuplicates names the points that give the same cell, the first few of
// them.
func refuseDuplicates(cells []*Cell, axes []schema.Axis) error {
	var found schema.Errors
	place := ""
	if len(axes) > 0 {
		place = axes[0].Origin.Where
	}
	all := twins(cells)
	for _, t := range all[:min(len(all), maxPairs)] {
		e := &schema.Error{Path: "sweep", Place: place, Message: t.pair() + " are the same cell", Hint: repeatHint}
		if !bytes.Equal(t.first.canonical, t.again.canonical) {
			e.Message = t.pair() + " share the identity " + t.again.ID + " by chance"
		}
		found = append(found, e)
	}
	if more := len(all) - maxPairs; more > 0 {
		found = append(found, &schema.Error{
			Path: "sweep", Place: place,
			Message: fmt.Sprintf("%d more points repeat a cell", more),
		})
	}
	if len(found) > 0 {
		return found
	}
	return nil
}

func (t twin) pair() string {
	return fmt.Sprintf("points %d (%s) and %d (%s)", t.first.Index+1, t.first.Label, t.again.Index+1, t.again.Label)
}

// tellApart keeps samples that fell on the same values as cells of their own,
// as the design has them: a later one is the same body with another seed, and
// its place among the twins is part of its identity. What is said about them is
// a warning.
func (p *Plan) tellApart() {
	all := twins(p.Cells)
	if len(all) == 0 {
		return
	}
	count := map[string]int{}
	for _, t := range all {
		count[t.first.ID]++
		t.again.canonical = fmt.Appendf(bytes.Clone(t.again.canonical), "\nsample %d of these values",
			count[t.first.ID]+1)
		t.again.ID = hashOf(t.again.canonical)[:idDigits]
	}
	p.Warnings = append(p.Warnings,
		fmt.Sprintf("sweep: %s drew the values of earlier ones, such as %s: the ranges hold too few values for %d samples",
			words.Count(len(all), "sample"), all[0].pair(), len(p.Cells)))
}
