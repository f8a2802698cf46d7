package decide_test

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
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

// sentence is a question of best with its answer, as people read it.
func sentence(b decide.Best) string {
	question := b.Question()
	if b.Work != "" {
		question += " at " + b.Work
	}
	said := []string{question + ": " + b.Said}
	if more := b.Next.String(); more != "" {
		said = append(said, more)
	}
	return strings.Join(said, "; ")
}
