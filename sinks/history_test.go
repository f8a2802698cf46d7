package sinks_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"aiperf.dev/aiperf/sinks"
)

// The page has every column of the history. UPDATE_GOLDEN=1 writes it.
func TestPageOfTheHistory(t *testing.T) {
	t.Parallel()
	const path, head = "../docs/trend.md", "## The columns\n\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(page), head)
	if !ok {
		t.Fatalf("%s has no %q", path, head)
	}
	var b strings.Builder
	b.WriteString(before + head + "| column | type | what it is |\n| --- | --- | --- |\n")
	for _, f := range sinks.HistoryColumns() {
		kind := f.Kind.String()
		if f.Null {
			kind += ", may be null"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, kind, f.Doc)
	}
	if b.String() == string(page) {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Fatalf("%s is not that of this program: UPDATE_GOLDEN=1 go test ./sinks -run TestPageOfTheHistory", path)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
