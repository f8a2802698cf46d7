package schema_test

import (
	"slices"
	"testing"

	"aiperf.dev/aiperf/schema"
)

// What the addresses of pages of metrics keep secret is secret wherever it comes back: a page
// may repeat it in a label.
func TestAddressesOfPagesHoldSecrets(t *testing.T) {
	t.Parallel()
	var r schema.Resolved
	r.Benchmark.ServerMetrics.URLs = []string{"http://u:hushhush1@h/metrics?token=hushhush2"}
	r.Benchmark.GPUTelemetry.URLs = []string{"http://u:hushhush3@h:9400/metrics?token=hushhush4"}
	for _, want := range []string{"hushhush1", "hushhush2", "hushhush3", "hushhush4"} {
		if got := r.Secrets(); !slices.Contains(got, want) {
			t.Errorf("%s is not among %q", want, got)
		}
	}
}
