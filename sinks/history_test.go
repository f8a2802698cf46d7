package sinks_test

import (
	"fmt"
	"testing"

	"aiperf.dev/aiperf/internal/golden"
	"aiperf.dev/aiperf/sinks"
)

// The page has every column of the history. UPDATE_GOLDEN=1 writes it.
func TestPageOfTheHistory(t *testing.T) {
	t.Parallel()
	lines := []string{"| column | type | what it is |", "| --- | --- | --- |"}
	for _, f := range sinks.HistoryColumns() {
		kind := f.Kind.String()
		if f.Null {
			kind += ", may be null"
		}
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %s |", f.Name, kind, f.Doc))
	}
	golden.Ends(t, "../docs/trend.md", "## The columns", lines)
}
