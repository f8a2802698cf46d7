package validity_test

import (
	"encoding/json"
	"testing"

	"aiperf.dev/aiperf/internal/validity"
)

func TestWordsAreReadBack(t *testing.T) {
	t.Parallel()
	for v := validity.NotJudged; v <= validity.Failed; v++ {
		if got := validity.Parse(v.String()); got != v {
			t.Errorf("%q is read as %q", v, got)
		}
		if s := v.Severity(); s != "" && validity.OfSeverity(s) != v {
			t.Errorf("severity %q is read as %q, want %q", s, validity.OfSeverity(s), v)
		}
	}
	if v := validity.Parse("valid"); v != validity.Invalid {
		t.Errorf("a word of others is %q, want INVALID", v)
	}
	if v := validity.OfSeverity("VALID"); v != validity.NotJudged {
		t.Errorf("a severity of others is %q, want none", v)
	}
}

// A longer word is not a worse one: FAILED is worse than DEGRADED.
func TestOrderIsOfTheMeaning(t *testing.T) {
	t.Parallel()
	want := []string{"", "VALID", "DEGRADED", "INVALID", "FAILED"}
	for i := 1; i < len(want); i++ {
		if better, worse := validity.Parse(want[i-1]), validity.Parse(want[i]); better >= worse {
			t.Errorf("%q is not better than %q", better, worse)
		}
	}
}

func TestFilesHoldTheWord(t *testing.T) {
	t.Parallel()
	var run struct {
		Verdict validity.Verdict `json:"verdict,omitempty"`
		Other   validity.Verdict `json:"other,omitempty"`
	}
	if err := json.Unmarshal([]byte(`{"verdict":"DEGRADED"}`), &run); err != nil || run.Verdict != validity.Degraded {
		t.Fatalf("%v, %v", run, err)
	}
	if b, err := json.Marshal(run); err != nil || string(b) != `{"verdict":"DEGRADED"}` {
		t.Errorf("%s, %v", b, err)
	}
}
