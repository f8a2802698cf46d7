package grade_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"aiperf.dev/aiperf/internal/grade"
)

// Where a share of the answers goes to other requests that are under way, wrong answers fit
// questions of that time; where they are only wrong, they fit those as often as others, also
// when there are few answers to choose from.
func TestFindSwaps(t *testing.T) {
	t.Parallel()
	math, err := grade.Named("math", grade.Options{})
	if err != nil {
		t.Fatal(err)
	}
	graders := map[string]grade.Grader{"math": math}
	for _, c := range []struct {
		name          string
		answers       int // from 0 to that are true ones
		swapped, lost float64
		found         func(s grade.Swaps) bool
	}{
		{"swapped", 1000, .1, 0, func(s grade.Swaps) bool { return s.Beside >= s.Wrong*8/10 && s.Chance < 2 && s.Above() < 1e-6 }},
		{"wrong", 1000, 0, .3, func(s grade.Swaps) bool { return s.Beside <= 5 && s.Wrong > 30 && s.Above() > 1e-3 }},
		{"wrong, few answers", 10, 0, .5, func(s grade.Swaps) bool {
			return s.Wrong > 60 && s.Beside > 20 && s.Above() > 1e-3
		}},
		{"the same again and again", 100, 0, -1, func(s grade.Swaps) bool { return s.Wrong > 60 && s.Above() > 1e-3 }},
		{"all right", 1000, 0, 0, func(s grade.Swaps) bool { return s == grade.Swaps{} }},
	} {
		for seed := range uint64(10) {
			r := rand.New(rand.NewPCG(seed, 1))
			var asked []grade.Asked
			for i := range 200 { // eight at a time
				start := int64(i)*100 + r.Int64N(50)
				asked = append(asked, grade.Asked{
					Item: fmt.Sprint(i), Task: fmt.Sprint(i % 2), Truth: fmt.Sprint(r.IntN(c.answers)), Grader: "math",
					Start: start, End: start + 800,
				})
			}
			for i := range asked {
				a := &asked[i]
				switch u := r.Float64(); {
				case u < c.swapped && i > 8:
					a.Text = asked[i-1-r.IntN(4)].Truth
				case c.lost < 0 && i > 60 && i < 130: // a server that is stuck for a while
					a.Text = "17"
				case u < c.lost:
					a.Text = fmt.Sprint(r.IntN(c.answers))
				default:
					continue
				}
				a.Wrong = a.Text != a.Truth
			}
			r.Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
			if got := grade.FindSwaps(asked, graders); !c.found(got) {
				t.Errorf("%s, seed %d: %+v", c.name, seed, got)
			}
		}
	}
}

// One question at a time, the next answers with what the one before it asked for; code is not
// run again for it, and of one question alone there is nothing to say.
func TestFindSwapsOneAtATime(t *testing.T) {
	t.Parallel()
	exact, err := grade.Named("exact_match", grade.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var asked []grade.Asked
	for i := range int64(40) {
		asked = append(asked, grade.Asked{
			Item: fmt.Sprint(i), Truth: fmt.Sprint("word", i), Grader: "exact_match", Start: 10 * i, End: 10*i + 5,
			Wrong: i > 0 && i%4 == 0, Text: fmt.Sprint("word", i-1),
		})
	}
	graders := map[string]grade.Grader{"exact_match": exact}
	got, want := grade.FindSwaps(asked, graders), grade.Swaps{Wrong: 9, Questions: 9, Beside: 9}
	if got.Chance >= 1 || got.Above() > 1e-6 || !alike(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := grade.FindSwaps(asked, nil); got != (grade.Swaps{}) {
		t.Errorf("without a grader: %+v", got)
	}
	if got := grade.FindSwaps(asked[4:5], graders); got != (grade.Swaps{}) {
		t.Errorf("of one: %+v", got)
	}
}

// alike compares what is counted.
func alike(a, b grade.Swaps) bool {
	a.Chance, b.Chance = 0, 0
	return a == b
}
