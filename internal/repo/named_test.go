package repo

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A page that names a test as its proof names one that there is.
func TestTestsNamedOnPagesExist(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && strings.HasPrefix(e.Name(), ".") && path != root {
			return fs.SkipDir
		}
		if e.IsDir() && e.Name() == "build" {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(b), -1) {
			there[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(root, "docs", "simulations.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(b), -1) {
		if n++; !there[m[1]] {
			t.Errorf("docs/simulations.md: there is no %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile("scripts? `(\\w+)`").FindAllStringSubmatch(string(b), -1) {
		n++
		if _, err := os.Stat(filepath.Join(root, "cmd", "aiperf", "testdata", "script", m[1]+".txtar")); err != nil {
			t.Error(err)
		}
	}
	if n < 15 {
		t.Errorf("%d proofs are named", n)
	}
}
