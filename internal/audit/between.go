package audit

import (
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/sinks/results"
	"aiperf.dev/aiperf/sweep/decide"
)

// Between is what is known of the clients that measured the sides of a comparison: for each the
// audit among those that are named, else the one that its result carries, nil for none. A named
// one that is of neither side is given back as well.
func Between(named []*Audit, sides ...*results.System) (of []*Audit, unused *Audit, err error) {
	of = make([]*Audit, len(sides))
	used := map[*Audit]bool{}
	for i, s := range sides {
		client, version, carried := s.Client()
		at := slices.IndexFunc(named, func(a *Audit) bool { return a.Of(client, version) })
		switch {
		case at >= 0:
			of[i], used[named[at]] = named[at], true
		case carried != "":
			if of[i], err = Read(carried); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, a := range named {
		if !used[a] {
			return of, a, nil
		}
	}
	if len(of) == 2 && of[0] != nil && of[1] != nil && of[0].Of(of[1].Client, of[1].Version) {
		of = of[:1] // one client: what it is off by is in both
	}
	return of, nil, nil
}

// Judge judges the times of a comparison again by what the clients of its sides may be off by
// (decide.Comparison.Clients), and says what that is. Of one client nothing is judged again.
func Judge(c *decide.Comparison, of []*Audit) (said []string) {
	done := map[decide.Key]bool{}
	for i := range c.Rows {
		row := &c.Rows[i]
		if done[row.Key] {
			continue
		}
		done[row.Key] = true
		within, known := 0.0, false
		for _, a := range of {
			if a == nil {
				continue
			}
			e, ok := a.Error(row.Key.Tag, row.Key.Stat)
			if !ok {
				continue
			}
			known = true
			within += math.Abs(e.MS)
			if line := a.String(e); row.Primary && !slices.Contains(said, line) {
				said = append(said, line)
			}
		}
		if known && len(of) == 2 { // two clients, whose errors need not be the same
			c.Clients(row.Key, within)
			said = append(said, hidden(c, row.Key, within)...)
		}
	}
	return said
}

// hidden says of figures without an interval that the clients' errors explain their difference;
// those with one say it where they stand.
func hidden(c *decide.Comparison, k decide.Key, within float64) (said []string) {
	for i := range c.Rows {
		row := &c.Rows[i]
		by := math.Abs(row.Candidate - row.Base)
		if row.Key == k && row.Primary && !row.Undecidable && by <= within && by > 0 {
			said = append(said, fmt.Sprintf("%s: %s differs by %.3g ms, which is within the clients' own error: they may "+
				"be off by %.3g ms", row.Cell, row.Key.Spoken(), by, within))
		}
	}
	return said
}
