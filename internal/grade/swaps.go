package grade

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"

	"aiperf.dev/aiperf/internal/stats"
)

// Asked is a question that was asked and answered.
type Asked struct {
	Item, Task, Truth, Grader string
	Start, End                int64  // when it was asked and answered, in ns of one clock
	Wrong                     bool   // and the answer says something that can be compared
	Text                      string // the answer; only wrong ones need it
}

// Swaps tell whether a server gives answers to the wrong questions. A wrong answer that is
// right for another question may be so by chance. Which questions are under way together is
// drawn, so if nothing is swapped, the wrong answers beside a question fit it as often as any
// other of its task. Each question counts once, whichever answers fit it and however often it
// was asked: a server that says the same again and again shows nothing.
type Swaps struct {
	Wrong     int     `json:"wrong"`     // answers that were tried
	Questions int     `json:"questions"` // beside wrong answers that fit them or others of their tasks
	Beside    int     `json:"beside"`    // of these, the ones that a wrong answer beside them fits
	Chance    float64 `json:"by_chance"` // how many of them would be expected if nothing is swapped
}

// Above is the chance of so many questions or more, if nothing is swapped. The chance differs
// from question to question; the binomial with their mean bounds it from the mean + 1 on
// (Hoeffding, Ann. Math. Statist. 27, 1956).
func (s Swaps) Above() float64 {
	n, k := float64(s.Questions), float64(s.Beside)
	if k < s.Chance+1 {
		return 1
	}
	return stats.AtLeast(k, n, s.Chance/n)
}

// Bounds on the work.
const (
	mostTried  = 500    // wrong answers
	mostBeside = 32     // questions that were under way with each
	mostOthers = 63     // questions of other times that stand for chance, for each question
	mostGraded = 50_000 // times an answer is held against a question, about
	farthest   = 512    // questions asked before and after that are looked at
)

// FindSwaps counts the swaps among what was asked, in any order. graders judge by name; what
// has none there is not tried.
func FindSwaps(asked []Asked, graders map[string]Grader) (s Swaps) {
	asked = slices.SortedStableFunc(slices.Values(asked), func(a, b Asked) int { return cmp.Compare(a.Start, b.Start) })
	var beside map[int][]int
	beside, s.Wrong = besides(asked, graders)
	ofTask := map[[2]string][]int{}
	for i := range asked {
		ofTask[asked[i].kind()] = append(ofTask[asked[i].kind()], i)
	}
	pairs := 0
	for _, wrong := range beside {
		pairs += len(wrong)
	}
	others := min(mostOthers, mostGraded/max(1, pairs))
	draw := rand.New(rand.NewPCG(0, 0)) //nolint:gosec // of no secret, and the same each time
	for _, k := range slices.Sorted(maps.Keys(beside)) {
		g := graders[asked[k].Grader]
		fits := func(other int) bool {
			return slices.ContainsFunc(beside[k], func(i int) bool {
				return g.Grade(asked[i].Text, asked[other].Truth).Outcome == Right
			})
		}
		apart := elsewhere(asked, ofTask[asked[k].kind()], k, beside[k], others, draw)
		if len(apart) == 0 {
			continue
		}
		among := 0
		if fits(k) {
			s.Beside++
			among++
		}
		for _, other := range apart {
			if fits(other) {
				among++
			}
		}
		if among > 0 {
			s.Questions++
			s.Chance += float64(among) / float64(1+len(apart))
		}
	}
	return s
}

// kind is what answers can be exchanged within: what is asked alike and judged alike.
func (a *Asked) kind() [2]string { return [2]string{a.Grader, a.Task} }

// with says whether both were under way at the same time.
func (a *Asked) with(b *Asked) bool { return a.Start < b.End && b.Start < a.End }

// besides are wrong answers by the questions that were under way with them, or asked before
// them without another in between: their places among what was asked, of each question only
// the first time that it was asked. tried is how many wrong answers there are.
func besides(asked []Asked, graders map[string]Grader) (of map[int][]int, tried int) {
	of = map[int][]int{}
	first := map[string]int{}
	for i := len(asked) - 1; i >= 0; i-- {
		first[asked[i].Item] = i
	}
	for i := range asked {
		a := &asked[i]
		if !a.Wrong || graders[a.Grader] == nil {
			continue
		}
		if tried == mostTried {
			break
		}
		found := 0
		for d := 1; d <= farthest && found < mostBeside; d++ {
			for _, k := range []int{i - d, i + d} {
				if k < 0 || k >= len(asked) || asked[k].Item == a.Item || asked[k].Grader != a.Grader ||
					!(k == i-1 || a.with(&asked[k])) {
					continue
				}
				found++
				if first[asked[k].Item] == k {
					of[k] = append(of[k], i)
				}
			}
		}
		if found > 0 {
			tried++
		}
	}
	return of, tried
}

// elsewhere draws up to n other questions that were not under way with any of the wrong
// answers and are not what these were given to.
func elsewhere(asked []Asked, same []int, k int, wrong []int, n int, draw *rand.Rand) (apart []int) {
	out := map[string]bool{asked[k].Item: true}
	for _, i := range wrong {
		out[asked[i].Item] = true
	}
	for range 8 * n { // where nearly all were under way, there may be none
		if len(apart) == n {
			break
		}
		o := same[draw.IntN(len(same))]
		if out[asked[o].Item] || slices.ContainsFunc(wrong, func(i int) bool { return asked[i].with(&asked[o]) }) {
			continue
		}
		out[asked[o].Item] = true
		apart = append(apart, o)
	}
	return apart
}
