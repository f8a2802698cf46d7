package preview

import (
	"fmt"
	"io"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
)

// Workers says what each of several workers gets of a plan's load; nothing of a load that one
// process sends.
func Workers(w io.Writer, plan *sweep.Plan, n int) {
	if n < 2 {
		return
	}
	var shares []string
	for _, d := range plan.Divided(n) {
		each := words.Number(d.Most)
		if d.Least != d.Most {
			each = fmt.Sprintf("%g or %g", d.Least, d.Most)
		} else if d.Name != "rate" {
			each = fmt.Sprintf("%g", d.Most)
		}
		shares = append(shares, fmt.Sprintf("%s %g is %s each", d.Name, d.Of, each))
	}
	text := fmt.Sprintf("%d share each run", n)
	if len(shares) > 0 {
		text += ": " + someOf(shares)
	}
	words.TwoColumns(w, "workers", text, 8)
	if least := plan.Experiment.Raised; least != "" {
		words.TwoColumns(w, "least", least, 8)
	}
}
