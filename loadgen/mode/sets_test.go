package mode

import (
	"testing"
	"time"

	"aiperf.dev/aiperf/schema"
)

// offsets is the schedule of a phase that needs no set.
func offsets(t *testing.T, p schema.Phase, root int64, n int) []time.Duration {
	t.Helper()
	due, err := Schedule(&p, root, n, nil)
	if err != nil {
		t.Fatalf("Schedule: %v", err)
	}
	return due
}
