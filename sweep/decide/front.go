package decide

import (
	"cmp"
	"slices"
)

// Mark is where a cell lies in the plane of throughput and latency.
type Mark string

// The marks. Dominated needs proof that another cell is better in both
// objectives, OnFront proof that none is; what trials cannot tell is Open.
const (
	NotMarked Mark = ""
	OnFront   Mark = "front"     // shown better than every other cell in one objective or the other
	Dominated Mark = "dominated" // another cell is shown better in both
	Open      Mark = "undecided"
)

// frontAlpha is the chance that some cell of a plan is called dominated when
// all are the same.
const frontAlpha = 0.05

// markFronts marks the Pareto front of throughput against latency where trials
// can tell.
//
// That a beats b in both objectives has the p-value of the weaker of the two (an
// intersection–union test); Holm's step-down goes over all ordered pairs of cells that do
// the same work.
// Most pairs are settled by their means: no p-value is computed for them.
func (r *Results) markFronts() {
	cells := r.ranked()
	for _, o := range r.Objectives {
		cells = untainted(cells, o.Key)
	}
	if len(r.Objectives) != 2 || len(cells) < 2 {
		return
	}
	groups := byWork(cells)
	f := newField(groups, r.Objectives)
	for _, group := range groups {
		for _, c := range group {
			switch {
			case len(group) < 2:
			case f.dominated[c]:
				c.Front = Dominated
			case f.apart[c] == len(group)-1:
				c.Front = OnFront
			default:
				c.Front = Open
			}
		}
	}
}

// byWork parts cells by what was asked of them, in their order: only within a part are
// they ranked.
func byWork(cells []*CellResult) (out [][]*CellResult) {
	place := map[string]int{}
	for _, c := range cells {
		work, _ := c.Cell.Apart()
		i, known := place[work]
		if !known {
			i, out = len(out), append(out, nil)
			place[work] = i
		}
		out[i] = append(out[i], c)
	}
	return out
}

// field is every pair of cells that do the same work compared in both objectives.
type field struct {
	dominated map[*CellResult]bool
	apart     map[*CellResult]int // others that the cell is shown better than in one of the objectives
}

func newField(groups [][]*CellResult, objectives []Objective) field {
	f := field{map[*CellResult]bool{}, map[*CellResult]int{}}
	type claim struct {
		p     float64
		loser *CellResult
	}
	var claims []claim
	pairs := 0
	for _, cells := range groups {
		values := make([][2]series, len(cells))
		for i, c := range cells {
			for k, o := range objectives {
				values[i][k] = c.series(o)
			}
		}
		for i := range cells {
			for j := range cells {
				if i == j {
					continue
				}
				pairs++
				first := values[i][0].against(values[j][0], objectives[0].Direction)
				second := values[i][1].against(values[j][1], objectives[1].Direction)
				a, b := first.p(), second.p()
				if min(a, b) < bestAlpha/2 { // either objective will do, so they share the level
					f.apart[cells[i]]++
				}
				if p := max(a, b); p < frontAlpha {
					claims = append(claims, claim{p, cells[j]})
				}
			}
		}
	}
	slices.SortFunc(claims, func(a, b claim) int { return cmp.Compare(a.p, b.p) })
	for rank, c := range claims {
		if c.p*float64(pairs-rank) > frontAlpha {
			break
		}
		f.dominated[c.loser] = true
	}
	return f
}
