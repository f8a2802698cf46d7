package sweep_test

import (
	"fmt"
	"strings"
	"testing"

	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

type document = sweeptest.Document

var (
	axis = sweeptest.Axis
	grid = sweeptest.Grid
)

const (
	concurrency = sweeptest.Concurrency
	requests    = sweeptest.Requests
	isl         = sweeptest.ISL
)

func expand(t *testing.T, d *document) *sweep.Plan { return sweeptest.Expand(t, d) }

func labels(p *sweep.Plan) []string {
	var out []string
	for _, c := range p.Cells {
		out = append(out, c.Label)
	}
	return out
}

// order is the plan's runs as "<cell index>/<trial>".
func order(p *sweep.Plan) string {
	var out []string
	for _, r := range p.Runs {
		out = append(out, fmt.Sprintf("%d/%d", r.Cell.Index, r.Trial))
	}
	return strings.Join(out, " ")
}
