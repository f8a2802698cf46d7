package decide

import (
	"slices"

	"aiperf.dev/aiperf/internal/diag"
)

// The words on a result that was measured again.
const (
	Reproduced    = "REPRODUCED"
	NotReproduced = "NOT REPRODUCED"
)

// Reproduction is the word on a comparison of a result with one that was to be the same, and
// the exit code. REPRODUCED: every primary row is EQUIVALENT. NOT REPRODUCED: the whole
// interval of one lies beyond its margin, on either side. Else the trials leave it open.
func Reproduction(c *Comparison) (word string, code diag.Code) {
	rows := c.Primary()
	switch {
	case slices.ContainsFunc(rows, func(r Row) bool { return r.BeyondMargin }),
		len(c.OnlyBaseline)+len(c.OnlyCandidate) > 0:
		return NotReproduced, diag.Missed
	case len(rows) > 0 && !slices.ContainsFunc(rows, func(r Row) bool { return r.Outcome != Equivalent }):
		return Reproduced, diag.OK
	}
	return string(Unclear), diag.Invalid
}
