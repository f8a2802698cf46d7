package main

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/audit"
	"aiperf.dev/aiperf/internal/diag"
	readback "aiperf.dev/aiperf/sinks/results"
	"aiperf.dev/aiperf/sweep/decide"
)

// clientErrors judges the times again by what the clients of both sides may be off by: by the
// audits that are named, and those that the results carry. It gives the sentences that say so.
func clientErrors(p *argv.Line, c *decide.Comparison, sides ...*readback.System) (said []string, err error) {
	var named []*audit.Audit
	for _, path := range p.Values["audit"] {
		a, err := audit.Read(path)
		if err != nil {
			return nil, err
		}
		named = append(named, a)
	}
	of, unused, err := audit.Between(named, sides...)
	if err != nil {
		return nil, err
	}
	if unused != nil {
		return nil, diag.New(fmt.Sprintf("--audit %s is of %s, which measured neither side",
			p.Values["audit"][slices.Index(named, unused)], strings.TrimSpace(unused.Client+" "+unused.Version)),
			"audit the client and the version that measured")
	}
	if p.Has("aa") {
		of = of[:1] // one client: what it is off by is in both
	}
	return audit.Judge(c, of), nil
}
