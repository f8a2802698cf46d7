package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A page that says it is generated names the command that makes it, and that
// is what the package's generate line runs.
func TestGeneratedPagesNameTheirCommand(t *testing.T) {
	t.Parallel()
	mark := regexp.MustCompile(`^<!-- Generated from .+ by go generate (\./\S+)\. Edit that instead\. -->\n`)
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	generated := 0
	for _, page := range pages {
		text := read(t, strings.TrimPrefix(filepath.ToSlash(page), "../../"))
		if !strings.Contains(text[:min(len(text), 200)], "Generated") && !strings.Contains(text, "<!-- begin ") {
			continue
		}
		generated++
		dir := "./cmd/aiperf" // where the regions of hand-written pages are made
		if m := mark.FindStringSubmatch(text); m != nil {
			dir = m[1]
		} else if !strings.Contains(text, "<!-- begin ") {
			t.Errorf("%s: the first line does not say how it is generated", page)
		}
		if !hasGenerate(t, filepath.Join("..", "..", dir)) {
			t.Errorf("%s: no //go:generate in %s", page, dir)
		}
	}
	if generated < 6 {
		t.Errorf("only %d generated pages in docs/", generated)
	}
}

func hasGenerate(t *testing.T, dir string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains("\n"+string(b), "\n//go:generate ") {
			return true
		}
	}
	return false
}

// Every region of a page ends, and every page is reached from another one.
func TestPagesHangTogether(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	all := read(t, "README.md")
	texts := map[string]string{}
	for _, page := range pages {
		name := filepath.Base(page)
		texts[name] = read(t, "docs/"+name)
		all += texts[name]
	}
	begin, link := regexp.MustCompile(`<!-- begin (\w+) -->`), regexp.MustCompile(`\]\(([a-z-]+\.md)\)`)
	for name, text := range texts {
		for _, m := range begin.FindAllStringSubmatch(text, -1) {
			if strings.Count(text, "<!-- begin "+m[1]+" -->") != 1 ||
				strings.Count(text, "<!-- end "+m[1]+" -->") != 1 {
				t.Errorf("docs/%s: region %s does not begin and end once", name, m[1])
			}
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if texts[m[1]] == "" {
				t.Errorf("docs/%s links to %s, which is not there", name, m[1])
			}
		}
		if name != "README.md" && !strings.Contains(all, "("+name+")") && !strings.Contains(all, "(docs/"+name+")") {
			t.Errorf("no page links to docs/%s", name)
		}
	}
}
