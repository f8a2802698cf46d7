package metrics_test

import (
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
)

// Whoever appends to the catalogue has a copy: runs are written beside each other, and each adds rows.
func TestAppendingToTheCatalogueCopiesIt(t *testing.T) {
	t.Parallel()
	all := metrics.Catalogue()
	if more := append(all, metrics.Metric{Tag: "mine"}); &more[0] == &all[0] {
		t.Errorf("a metric that is appended is written behind the end of the catalogue, which has room for %d", cap(all)-len(all))
	}
}
