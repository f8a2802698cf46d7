package verdict

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShape(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"":                                "",
		"boom":                            "boom",
		"failure of request 1048":         "failure of request #",
		"req_9f3a-77 of user 5: too slow": "# of user #: too slow",
		"Zeit: 3,5 s überschritten":       "Zeit: #,# s überschritten",
		"connect to [::1]:8000":           "connect to [::#]:#",
	} {
		if got := shape(message); got != want {
			t.Errorf("shape(%q) = %q, want %q", message, got, want)
		}
	}
}

// A server that puts an id into every message has one failure, not hundreds.
func TestFailuresThatAreAlike(t *testing.T) {
	t.Parallel()
	f := Failures{}
	for _, m := range []string{
		"request 12 failed", "request 11 failed", "overloaded", "request 13 failed",
		"overloaded",
	} {
		f.Add(ErrorCount{Kind: "http_500", Message: m, Count: 1})
	}
	f.Add(ErrorCount{Kind: "timeout", Message: "request 11 failed", Count: 1})
	want := []ErrorCount{
		{Kind: "http_500", Message: "request 11 failed", Count: 3, Alike: true},
		{Kind: "http_500", Message: "overloaded", Count: 2},
	}
	if diff := cmp.Diff(want, f.Frequent(2)); diff != "" {
		t.Errorf("frequent(2) (-want +got):\n%s", diff)
	}
}

// The finding, the list of errors and a run without any success name the failures: the most
// frequent with its words, not the one that came first, and the others by kind.
func TestMostFrequentFailure(t *testing.T) {
	t.Parallel()
	one, two := ErrorCount{Kind: "timeout", Message: "10 s", Count: 3, Alike: true},
		ErrorCount{Kind: "http_500", Message: "busy", Count: 1}
	for want, list := range map[string][]ErrorCount{
		"": nil, "timeout, such as: 10 s": {one},
		"3× timeout, such as: 10 s; 1× http_500": {one, two}, "http_500: busy": {two},
		"1× http_500: busy; 3× timeout; 2× http_500 with another message; 1× reset; 5× something else": {
			two, one,
			{Kind: "http_500", Message: "no", Count: 2},
			{Kind: "reset", Count: 1},
			{Kind: "a", Count: 2},
			{Kind: "b", Count: 3},
		},
	} {
		if got := MostFrequent(list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
