package verdict

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen"
)

// Every reason for which the engine does not send is told in words, with its
// count.
func TestWhatWasNotSentIsTold(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join("..", "..", "loadgen", "stops.go"))
	if err != nil {
		t.Fatal(err)
	}
	reasons := regexp.MustCompile(`(?m)^\tskip\w+ +=\s"(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if len(reasons) != len(skippedWords) || len(reasons) < 5 {
		t.Errorf("the engine has %d reasons, %d are put in words", len(reasons), len(skippedWords))
	}
	skipped := map[string]int64{}
	for i, r := range reasons {
		skipped[r[1]] = int64(1000 + i)
		if skippedWords[r[1]] == "" {
			t.Errorf("nothing is said about %s", r[1])
		}
	}
	e := Evidence{Phases: []*PhaseEvidence{{Result: loadgen.PhaseResult{Issued: 77, Skipped: skipped}}}}
	told := e.Notices(nothingShown)
	if len(told) != len(reasons) {
		t.Fatalf("%d notices about %d reasons: %v", len(told), len(reasons), told)
	}
	for _, n := range told {
		why := strings.TrimPrefix(n.ID, "skipped.")
		if n.Size != float64(skipped[why]) || !strings.HasSuffix(n.Text, "; 77 requests were sent") ||
			!strings.Contains(n.Text, skippedWords[why]) {
			t.Errorf("%s: %v %q", n.ID, n.Size, n.Text)
		}
	}
}
