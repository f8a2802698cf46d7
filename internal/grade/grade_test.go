package grade_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"aiperf.dev/aiperf/internal/grade"
)

// vector is one recorded call of a grader of AIPerf.
type vector struct {
	Grader      string  `json:"grader"`
	Response    string  `json:"response"`
	Truth       string  `json:"ground_truth"`
	Correct     bool    `json:"correct"`
	Unparsed    bool    `json:"unparsed"`
	Confidence  float64 `json:"confidence"`
	Expected    string  `json:"expected"`
	Actual      string  `json:"actual"`
	Explanation string  `json:"explanation"`
}

func vectors(t testing.TB) (all []vector) {
	t.Helper()
	f, err := os.Open("testdata/grader_vectors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	if len(all) != 193 {
		t.Fatalf("%d vectors", len(all))
	}
	return all
}

// What AIPerf's files would say is said here too, in every field.
func TestAgreesWithAIPerf(t *testing.T) {
	t.Parallel()
	n := 0
	for i, v := range vectors(t) {
		if v.Grader == "math/stdlib-fallback" { // AIPerf without its algebra packages
			continue
		}
		n++
		g, err := grade.Named(v.Grader, grade.Options{})
		if err != nil {
			t.Fatal(err)
		}
		j := g.Grade(v.Response, v.Truth)
		got := v
		got.Correct, got.Unparsed, got.Confidence = j.Passed(), j.Unparsed, j.Confidence
		got.Expected, got.Actual, got.Explanation = j.Expected, j.Actual, j.Explanation
		if got != v {
			t.Errorf("line %d: %s of %q against %q\n got %+v\nwant %+v", i+1, v.Grader, v.Response, v.Truth, got, v)
		}
		if (j.Outcome == grade.NotJudged) != (j.Reason != "") && j.Outcome != grade.Wrong {
			t.Errorf("line %d: %s of %q: %s, for the reason %q", i+1, v.Grader, v.Response, j.Outcome, j.Reason)
		}
	}
	if n != 154 {
		t.Errorf("%d calls compared", n)
	}
}
