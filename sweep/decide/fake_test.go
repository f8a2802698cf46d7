package decide_test

import (
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
