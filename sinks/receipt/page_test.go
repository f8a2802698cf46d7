package receipt_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"aiperf.dev/aiperf/sinks/receipt"
)

// The page has every field. UPDATE_GOLDEN=1 writes it.
func TestPageHasEveryField(t *testing.T) {
	t.Parallel()
	const path, head = "../../docs/receipt.md", "## The fields\n\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(page), head)
	if !ok {
		t.Fatalf("%s has no %q", path, head)
	}
	var b strings.Builder
	b.WriteString(before + head + "| field | class | unit | what it is |\n| --- | --- | --- | --- |\n")
	for _, f := range receipt.Fields() {
		star := ""
		if f.Asked {
			star = " *"
		}
		doc := strings.ReplaceAll(f.Doc, "|", `\|`)
		fmt.Fprintf(&b, "| `%s`%s | %s | %s | %s |\n", f.Name, star, f.Limits(), f.Unit, doc)
	}
	if b.String() == string(page) {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Fatalf("%s is not that of this program: UPDATE_GOLDEN=1 go test ./sinks/receipt", path)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
