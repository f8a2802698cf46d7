package sweep

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/resultdir"
)

// Lock is the plan in its kept form.
func (p *Plan) Lock() resultdir.Lock {
	l := resultdir.Lock{
		Schema: resultdir.LockSchema, PlanHash: p.Hash, Name: p.Name, Trials: p.Trials, Order: p.Order,
		CellOrder: p.CellOrder,
		BaseSeed:  p.BaseSeed, Seeds: p.Seeds, Seeded: p.Seeded,
	}
	for _, c := range p.Cells {
		l.Cells = append(l.Cells, c.Lock())
	}
	for _, r := range p.Runs {
		l.Runs = append(l.Runs, resultdir.LockRun{
			ID: r.ID, Cell: r.Cell.ID, Trial: r.Trial, Seed: r.Seed, Text: r.Text,
			Warmup: r.Warmup, Dir: r.Dir,
		})
	}
	return l
}

// Lock is the cell in its kept form.
func (c *Cell) Lock() resultdir.LockCell {
	work, _ := c.Apart()
	return resultdir.LockCell{
		ID: c.ID, Label: c.Label, Short: c.Short(), Work: work, Dir: c.DirName,
		Seed: c.Seed, Point: c.Values, Benchmark: c.Resolved.JSON,
	}
}

// Adopt takes the seeds of an earlier plan whose seed was drawn, so that what
// is left of it runs as it was planned. The plans must have the same hash.
func (p *Plan) Adopt(l resultdir.Lock) {
	if p.Seeded || l.Seeded || p.Hash != l.PlanHash {
		return
	}
	p.BaseSeed = l.BaseSeed
	for _, c := range p.Cells {
		for _, was := range l.Cells {
			if was.ID == c.ID {
				c.Seed = was.Seed
			}
		}
	}
	for i := range p.Runs {
		r := &p.Runs[i]
		r.Seed, r.Text = p.seedsOf(*r)
	}
}

// maxDiff bounds the lines of a Diff; the rest is counted.
const maxDiff = 40

// Diff says in words what changed from plan a to plan b, one line each; it is
// empty when they are the same plan.
func Diff(a, b resultdir.Lock) []string {
	var d differences
	d.changed("trials", a.Trials, b.Trials)
	d.changed("order of trials", a.Order, b.Order)
	d.changed("order of cells", a.CellOrder, b.CellOrder)
	d.changed("seeds", a.Seeds, b.Seeds)
	if a.Seeded && b.Seeded {
		d.changed("base seed", a.BaseSeed, b.BaseSeed)
	} else if a.Seeded != b.Seeded {
		d.changed("seed", seedWord(a), seedWord(b))
	}
	d.cells(a, b)
	if len(d.lines) == 0 && len(a.Runs) == len(b.Runs) {
		d.runs(a, b)
	}
	if len(d.lines) == 0 && a.PlanHash != b.PlanHash {
		d.add("plan hash: %.12s → %.12s", a.PlanHash, b.PlanHash)
	}
	if n := len(d.lines) - maxDiff; n > 0 {
		d.lines = append(d.lines[:maxDiff], fmt.Sprintf("and %d more", n))
	}
	return d.lines
}

func seedWord(l resultdir.Lock) string {
	if l.Seeded {
		return fmt.Sprint(l.BaseSeed)
	}
	return "drawn"
}

type differences struct{ lines []string }

func (d *differences) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *differences) changed(what string, a, b any) {
	if a != b {
		d.add("%s: %v → %v", what, a, b)
	}
}

// cells matches the cells by identity; what is left over by label, and then
// says which settings differ.
func (d *differences) cells(a, b resultdir.Lock) {
	byID, byLabel := map[string]resultdir.LockCell{}, map[string]resultdir.LockCell{}
	for _, c := range b.Cells {
		byID[c.ID], byLabel[c.Label] = c, c
	}
	matched := map[string]bool{}
	where := map[string][]string{} // change of a setting → cells that have it
	var order []string
	for _, was := range a.Cells {
		now, same := byID[was.ID]
		if !same {
			if now, same = byLabel[was.Label]; !same {
				d.add("cell %s: no longer in the plan", was.Label)
				continue
			}
			for _, change := range leafChanges(was.Benchmark, now.Benchmark) {
				if where[change] == nil {
					order = append(order, change)
				}
				where[change] = append(where[change], was.Label)
			}
		}
		matched[now.ID] = true
		if a.Seeded && b.Seeded && was.Seed-a.BaseSeed != now.Seed-b.BaseSeed {
			d.add("cell %s: seed: %d → %d", was.Label, was.Seed, now.Seed)
		}
	}
	for _, change := range order {
		switch cells := where[change]; {
		case len(cells) == 1:
			d.add("cell %s: %s", cells[0], change)
		case len(cells) == len(a.Cells):
			d.add("all cells: %s", change)
		default:
			d.add("%d cells, first %s: %s", len(cells), cells[0], change)
		}
	}
	for _, c := range b.Cells {
		if !matched[c.ID] {
			d.add("cell %s: new in the plan", c.Label)
		}
	}
}

// leafChanges compares two bodies setting by setting, as far as they decide
// about identity.
func leafChanges(a, b []byte) (out []string) {
	was, now := flatten(a), flatten(b)
	names := maps.Clone(was)
	maps.Copy(names, now)
	for _, k := range slices.Sorted(maps.Keys(names)) {
		x, inA := was[k]
		y, inB := now[k]
		switch {
		case !inA:
			out = append(out, fmt.Sprintf("%s: %s is new", k, y))
		case !inB:
			out = append(out, fmt.Sprintf("%s: %s is gone", k, x))
		case x != y:
			out = append(out, fmt.Sprintf("%s: %s → %s", k, x, y))
		}
	}
	return out
}

func flatten(body []byte) map[string]string {
	out := map[string]string{}
	canon, err := canonical(body)
	if err != nil {
		return out // a lock that was edited: the hashes differ and say so
	}
	d := json.NewDecoder(bytes.NewReader(canon))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		flattenInto(out, "", v)
	}
	return out
}

func flattenInto(out map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			flattenInto(out, strings.TrimPrefix(path+"."+k, "."), x)
		}
	case []any:
		for i, x := range v {
			flattenInto(out, fmt.Sprintf("%s.%d", path, i), x)
		}
	default:
		b, _ := json.Marshal(v) // plain data always marshals
		out[path] = string(b)
	}
}

// runs finds what neither cells nor counts show: order and warmup.
func (d *differences) runs(a, b resultdir.Lock) {
	for i := range a.Runs {
		x, y := a.Runs[i], b.Runs[i]
		switch {
		case x.ID != y.ID:
			d.add("run %d: %s → %s (the order changed)", i+1, x.ID, y.ID)
			return
		case x.Warmup != y.Warmup:
			d.add("run %d: warmup: %t → %t", i+1, x.Warmup, y.Warmup)
			return
		case a.Seeded && b.Seeded && x.Seed != y.Seed:
			d.add("run %d: seed: %d → %d", i+1, x.Seed, y.Seed)
			return
		}
	}
}
