package preview

import (
	"fmt"
	"io"
	"slices"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Workers says what each of several workers gets of a plan's load; nothing of a load that one
// process sends.
func Workers(w io.Writer, plan *sweep.Plan, n int) {
	if n < 2 {
		return
	}
	var shares []string
	for _, c := range plan.Cells {
		for i := range c.Resolved.Benchmark.Phases {
			for _, s := range sharesOf(&c.Resolved.Benchmark.Phases[i], int64(n)) {
				if !slices.Contains(shares, s) {
					shares = append(shares, s)
				}
			}
		}
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

// sharesOf are the numbers of a phase that are divided among so many workers, and what one of
// them gets.
func sharesOf(p *schema.Phase, n int64) (out []string) {
	m, err := mode.Of(p)
	if err != nil {
		return nil // said when the phase is opened
	}
	each := func(name string, of int64) string {
		least, most := record.Share{K: n - 1, Of: n}.Count(of), record.Share{Of: n}.Count(of)
		if least == most {
			return fmt.Sprintf("%s %d is %d each", name, of, most)
		}
		return fmt.Sprintf("%s %d is %d or %d each", name, of, least, most)
	}
	if p.Rate > 0 {
		out = append(out, fmt.Sprintf("rate %s is %s each", words.Number(p.Rate), words.Number(p.Rate/float64(n))))
	}
	for _, l := range m.Limits(p, 0) {
		if l.N > 0 {
			out = append(out, each(l.Name, int64(l.N)))
		}
	}
	if p.Users > 0 {
		out = append(out, each("users", int64(p.Users)))
	}
	return out
}
