package decide_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sweep/decide"
)

// The estimates of a target over trials are those of a plan whose runs had
// nothing but its requests.
func TestEstimatesOfParts(t *testing.T) {
	t.Parallel()
	p := expand(t, loads(4))
	of := map[string][]decide.Outcome{
		"near": measure(p, .1, tokens, ttft),
		"far":  measure(p, .2, []float64{50, 60, 70, 80}, []float64{140, 150, 160, 170}),
	}
	whole := measure(p, .05, []float64{150, 255, 440, 480}, ttft)
	for i := range whole {
		for _, name := range []string{"near", "far"} {
			if name == "far" && whole[i].Run.Trial == 2 {
				continue // no request of this trial went there
			}
			whole[i].Parts = append(whole[i].Parts, metrics.Part{
				Kind: "target",
				Name: name, Summaries: of[name][i].Summaries,
			})
		}
	}
	var far []decide.Outcome
	for _, o := range of["far"] {
		if o.Run.Trial != 2 {
			far = append(far, o)
		}
	}
	alone := map[string]*decide.Results{"near": decide.Aggregate(p, of["near"]), "far": decide.Aggregate(p, far)}
	all := func(e decide.Estimates) map[decide.Key]string {
		out := map[decide.Key]string{}
		for k, est := range e.All() {
			out[k] = fmt.Sprintf("%+v", est)
		}
		return out
	}
	for i, c := range decide.Aggregate(p, whole).Cells {
		if len(c.Parts) != 2 || c.Parts[0].Name != "near" || c.Parts[1].Name != "far" || c.Parts[1].Kind != "target" {
			t.Fatalf("cell %d: parts %+v", i, c.Parts)
		}
		for _, part := range c.Parts {
			want := all(alone[part.Name].Cells[i].Full)
			if len(want) < 10 {
				t.Fatalf("%d estimates", len(want))
			}
			if diff := cmp.Diff(want, all(part.Full)); diff != "" {
				t.Errorf("cell %d, %s (-want +got)\n%s", i, part.Name, diff)
			}
		}
	}
}
