package repo

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestDependenciesAreListed(t *testing.T) {
	t.Parallel()
	mod, page := read(t, "go.mod"), read(t, "docs/dependencies.md")
	direct := regexp.MustCompile(`(?m)^\t(\S+) (v\S+)$`).FindAllStringSubmatch(mod, -1)
	if len(direct) < 10 {
		t.Fatalf("found %d direct dependencies in go.mod", len(direct))
	}
	for _, m := range direct {
		if !strings.Contains(page, "| "+m[1]+" | "+m[2]+" |") {
			t.Errorf("docs/dependencies.md has no row | %s | %s |", m[1], m[2])
		}
	}
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-z]+\.[^ |]+) \| (v\S+) \|`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(mod, "\t"+row[1]+" "+row[2]+"\n") {
			t.Errorf("docs/dependencies.md lists %s %s, which is not a direct dependency", row[1], row[2])
		}
	}
}

func TestReadmeLinksExist(t *testing.T) {
	t.Parallel()
	for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(read(t, "README.md"), -1) {
		if _, err := os.Stat("../../" + m[1]); err != nil {
			t.Errorf("README.md links to %s: %v", m[1], err)
		}
	}
}

// read is a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile("../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
