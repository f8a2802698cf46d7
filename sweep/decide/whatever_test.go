package decide_test

import (
	"testing"

	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sweep/decide"
)

// Where requests failed a change is decided if it is the same however long those would have
// taken, and its interval spans all of it; else, and where that is not bounded, it cannot be.
func TestFailuresThatCannotHideAChange(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		change  float64
		by      *validity.Range
		level   validity.Level
		want    decide.Verdict
		bounded bool
	}{
		"a change larger than what failures hide": {1.08, &validity.Range{Less: .01, More: .01}, validity.Doubtful, decide.Worse, true},
		"one that they may explain":               {1.08, &validity.Range{Less: .06, More: .01}, validity.Doubtful, decide.Unclear, false},
		"an improvement":                          {0.9, &validity.Range{Less: .01, More: .01}, validity.Doubtful, decide.Better, true},
		"nothing":                                 {1, &validity.Range{Less: .01, More: .01}, validity.Doubtful, decide.Equivalent, true},
		"nothing, or as much as the margin":       {1, &validity.Range{Less: .01, More: .06}, validity.Doubtful, decide.Unclear, false},
		"no bound":                                {1.08, nil, validity.Doubtful, decide.Unclear, false},
		"an invalid number":                       {1.08, &validity.Range{Less: .01, More: .01}, validity.Wrong, decide.Unclear, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := arm("before", base, flow), arm("after", wobbled(base, x.change), flow)
			clean, err := decide.Compare(a, b, decide.Terms{Paired: true})
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Cells[0].Runs {
				o := &b.Cells[0].Runs[i]
				o.Taints = validity.Taints{}
				o.Taints.Add(ttft50.Tag, validity.Errors, x.level)
				if x.by != nil {
					o.Ranges = validity.Ranges{ttft50.Spoken(): *x.by}
				}
			}
			c, err := decide.Compare(a, b, decide.Terms{Paired: true})
			if err != nil {
				t.Fatal(err)
			}
			r, was := find(t, c, ttft50), find(t, clean, ttft50)
			if r.Outcome != x.want || r.Whatever != x.bounded || r.Undecidable == x.bounded ||
				r.Check != validity.Errors {
				t.Errorf("%+v", r)
			}
			if x.bounded && !(r.Low < was.Low && r.High > was.High && r.Change == was.Change) {
				t.Errorf("%+.4f [%.4f, %.4f] does not span %+.4f [%.4f, %.4f]",
					r.Change, r.Low, r.High, was.Change, was.Low, was.High)
			}
		})
	}
}
