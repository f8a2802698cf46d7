package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/audit"
	"aiperf.dev/aiperf/internal/diag"
	readback "aiperf.dev/aiperf/sinks/results"
	"aiperf.dev/aiperf/sweep/decide"
)

// clientErrors are sentences on what the clients of both sides may be off by in the times that
// decide: by the audits that are named, and those that the results carry.
func clientErrors(p *argv.Line, c *decide.Comparison, sides ...*readback.System) (said []string, err error) {
	var named []*audit.Audit
	for _, path := range p.Values["audit"] {
		a, err := audit.Read(path)
		if err != nil {
			return nil, err
		}
		named = append(named, a)
	}
	used := map[*audit.Audit]bool{}
	of := make([]*audit.Audit, len(sides))
	for i, s := range sides {
		client, version, carried := s.Client()
		at := slices.IndexFunc(named, func(a *audit.Audit) bool { return a.Of(client, version) })
		if at >= 0 {
			of[i] = named[at]
			used[of[i]] = true
		} else if carried != "" {
			if of[i], err = audit.Read(carried); err != nil {
				return nil, err
			}
		}
	}
	for i, a := range named {
		if !used[a] {
			return nil, diag.New(fmt.Sprintf("--audit %s is of %s, which measured neither side", p.Values["audit"][i],
				strings.TrimSpace(a.Client+" "+a.Version)), "audit the client and the version that measured")
		}
	}
	if p.Has("aa") || len(sides) == 2 && of[0] != nil && of[1] != nil && of[0].Of(of[1].Client, of[1].Version) {
		of = of[:1] // one client: what it is off by is in both
	}
	for i := range c.Rows {
		row := &c.Rows[i]
		if !row.Primary {
			continue
		}
		within, known := 0.0, 0
		for _, a := range of {
			if a == nil {
				continue
			}
			e, ok := a.Error(row.Key.Tag, row.Key.Stat)
			if !ok {
				continue
			}
			known++
			within += math.Abs(e.MS)
			if line := a.String(e); !slices.Contains(said, line) {
				said = append(said, line)
			}
		}
		if by := math.Abs(row.Candidate - row.Base); known > 0 && len(of) == 2 && by <= within && by > 0 {
			said = append(said, fmt.Sprintf("%s: the two sides of %s differ by %.3g ms, and their clients may be off by %.3g ms",
				row.Cell, row.Key.Spoken(), by, within))
		}
	}
	return said, nil
}
