package grade

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Asked is a question that was asked and answered.
type Asked struct {
	Item, Task, Truth, Grader string
	Start, End                int64  // when it was asked and answered, in ns of one clock
	Wrong                     bool   // and the answer says something that can be compared
	Text                      string // the answer; only wrong ones need it
}

// Swaps tell whether a server gives answers to the wrong questions. A wrong answer that is
// right for another question may be so by chance. So each is tried on questions that were
// under way at the same time and on as many of the same tasks that were not: if nothing is
// swapped, it fits either alike.
type Swaps struct {
	Wrong  int `json:"wrong"`  // answers that were tried
	Beside int `json:"beside"` // right only for a question that was under way
	Apart  int `json:"apart"`  // right only for one that was not
}

// Bounds on the work: at most mostTried answers are tried on mostOthers questions each.
const (
	mostTried  = 500
	mostOthers = 32
	farthest   = 512 // questions asked before and after that are looked at
)

// FindSwaps counts the swaps among what was asked, in any order. graders judge by name; what
// has none there is not tried.
func FindSwaps(asked []Asked, graders map[string]Grader) (s Swaps) {
	asked = slices.SortedStableFunc(slices.Values(asked), func(a, b Asked) int { return cmp.Compare(a.Start, b.Start) })
	ofTask := map[[2]string][]int{}
	for i := range asked {
		key := [2]string{asked[i].Grader, asked[i].Task}
		ofTask[key] = append(ofTask[key], i)
	}
	draw := rand.New(rand.NewPCG(0, 0)) //nolint:gosec // of no secret, and the same each time
	for i := range asked {
		a := &asked[i]
		g := graders[a.Grader]
		if !a.Wrong || g == nil {
			continue
		}
		if s.Wrong == mostTried {
			break
		}
		fits := func(others []int) bool {
			return slices.ContainsFunc(others, func(k int) bool {
				return g.Grade(a.Text, asked[k].Truth).Outcome == Right
			})
		}
		near, far := company(asked, i, ofTask, draw)
		if len(near) == 0 {
			continue
		}
		s.Wrong++
		switch beside, apart := fits(near), fits(far); {
		case beside && !apart:
			s.Beside++
		case apart && !beside:
			s.Apart++
		}
	}
	return s
}

// company are other questions that were under way with question i, the one asked before it
// among them, and as many of their tasks that were not.
func company(asked []Asked, i int, ofTask map[[2]string][]int, draw *rand.Rand) (near, far []int) {
	a := &asked[i]
	with := map[string]bool{a.Item: true} // questions that are in near, or were under way as well
	var all []int
	for d := 1; d <= farthest; d++ {
		for _, k := range []int{i - d, i + d} {
			if k < 0 || k >= len(asked) || with[asked[k].Item] || asked[k].Grader != a.Grader {
				continue
			}
			if d == 1 && k < i || asked[k].Start < a.End && a.Start < asked[k].End {
				with[asked[k].Item] = true
				all = append(all, k)
			}
		}
	}
	for _, k := range all {
		if len(near) == mostOthers {
			break
		}
		same := ofTask[[2]string{asked[k].Grader, asked[k].Task}]
		for range 20 { // where nearly all were under way, there may be none
			if o := same[draw.IntN(len(same))]; !with[asked[o].Item] {
				with[asked[o].Item] = true
				near, far = append(near, k), append(far, o)
				break
			}
		}
	}
	return near, far
}
