package repo

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
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

// A link of a page leads to a file, and to a heading of it where it names one.
func TestLinksExist(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages in docs, %v", len(pages), err)
	}
	links := 0
	for _, page := range append(pages, "../../README.md") {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]+))?\)`).FindAllStringSubmatch(read(t,
			page[len("../../"):]), -1) {
			links++
			to := page
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(page), m[1])
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if m[2] != "" && !slices.Contains(anchors(t, to), m[2]) {
				t.Errorf("%s links to %s#%s, which has no such heading", page, m[1], m[2])
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links found", links)
	}
}

// anchors are the headings of a page as links spell them.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(read(t, page[len("../../"):]), -1) {
		name := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(name, " ", "-"))
	}
	return out
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

// A reader of docs/architecture.md finds each folder of the program there, by its
// path or by its own name. What makes generated files and what only tests import
// are found beside what they are for.
func TestArchitectureNamesEveryFolder(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/architecture.md")
	for dir := range goFiles(t) {
		name := path.Base(dir)
		if strings.HasSuffix(name, "test") || strings.Contains(dir, "/gen/") || name == "gen" {
			continue
		}
		if !regexp.MustCompile(`[*/` + "`" + `]` + regexp.QuoteMeta(name) + `[*` + "`" + `]`).MatchString(page) {
			t.Errorf("docs/architecture.md does not name %s", dir)
		}
	}
}

// The stations that it names as files are there.
func TestArchitectureNamesFilesThatExist(t *testing.T) {
	t.Parallel()
	n := 0
	for _, m := range regexp.MustCompile("`([a-z/]+/[a-z_]+\\.go)`").FindAllStringSubmatch(read(t,
		"docs/architecture.md"), -1) {
		n++
		if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(m[1]))); err != nil {
			t.Error(err)
		}
	}
	if n < 8 {
		t.Errorf("%d files are named: the walks name more", n)
	}
}
