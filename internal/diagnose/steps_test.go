package diagnose_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What a request takes longer from one load to the next is the sum of its parts, in the
// document and as printed: the client's mean and the server's are of the same requests,
// also where the queue is not yet full when the steady window of the client begins.
func TestStepsAddUp(t *testing.T) {
	t.Parallel()
	r := scenario{
		server: "ttft=20ms&workers=8", loads: []int{4, 8, 16, 32}, isl: 550, osl: 16, n: 200,
	}.run(t)
	if len(r.Steps) != 3 {
		t.Fatalf("%d steps of 4 loads", len(r.Steps))
	}
	figure := regexp.MustCompile(`[+−][0-9.]+`)
	whole := regexp.MustCompile(`takes ([0-9.]+) ms more`)
	apart := 0
	for _, s := range r.Steps {
		if s.Elsewhere == nil {
			t.Errorf("%s: the parts are not known", s.Sentence)
			continue
		}
		if sum := *s.Queue + *s.Prefill + *s.Decode + *s.Elsewhere; math.Abs(sum-s.Latency) > 1e-9 {
			t.Errorf("%g ms of %g: %s", sum, s.Latency, s.Sentence)
		}
		if math.Abs(*s.Elsewhere) > 0.02*math.Abs(s.Latency)+0.2 { // nothing waits there
			t.Errorf("%g ms of %g are elsewhere: %s", *s.Elsewhere, s.Latency, s.Sentence)
		}
		found := whole.FindStringSubmatch(s.Sentence)
		if found == nil {
			if !strings.Contains(s.Sentence, "as long, within 1 %") {
				t.Errorf("%g ms: %s", s.Latency, s.Sentence)
			}
			continue
		}
		apart++
		all, _ := strconv.ParseFloat(found[1], 64)
		sum := 0.0
		for _, part := range figure.FindAllString(s.Sentence, -1) {
			v, _ := strconv.ParseFloat(strings.Replace(part, "−", "-", 1), 64)
			sum += v
		}
		if math.Abs(sum-all) > 1e-6 {
			t.Errorf("the parts printed make %g: %s", sum, s.Sentence)
		}
	}
	if apart < 2 {
		t.Errorf("%d steps were taken apart, want those to 16 and to 32", apart)
	}
	for _, c := range r.Cells {
		for _, clue := range c.For {
			if strings.HasPrefix(clue.Fact, "gain") && !strings.HasSuffix(clue.Says, "× the load") {
				t.Errorf("%s: %q does not say what it is a growth of", c.Label, clue.Says)
			}
		}
	}
}
