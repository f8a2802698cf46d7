package receipt_test

import (
	"fmt"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/golden"
	"aiperf.dev/aiperf/sinks/receipt"
)

// The page has every field. UPDATE_GOLDEN=1 writes it.
func TestPageHasEveryField(t *testing.T) {
	t.Parallel()
	lines := []string{"| field | class | unit | what it is |", "| --- | --- | --- | --- |"}
	for _, f := range receipt.Fields() {
		star := ""
		if f.Asked {
			star = " *"
		}
		doc := strings.ReplaceAll(f.Doc, "|", `\|`)
		lines = append(lines, fmt.Sprintf("| `%s`%s | %s | %s | %s |", f.Name, star, f.Limits(), f.Unit, doc))
	}
	golden.Ends(t, "../../docs/receipt.md", "## The fields", lines)
}
