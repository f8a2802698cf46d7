package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every difference that docs/differences.md tells in words names cases that
// exist: rows of the contract, tests, or scripts.
func TestDifferencesHaveCases(t *testing.T) {
	t.Parallel()
	text, _, ok := strings.Cut(string(source(t, "docs/differences.md")), "<!-- begin artifacts -->")
	if !ok {
		t.Fatal("the page has no tables")
	}
	exists := map[string]bool{}
	for _, r := range contract(t) {
		exists[r.Name] = true
	}
	root := filepath.Join("..", "..")
	test := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "build" || e.Name() == "shared"):
			return fs.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range test.FindAllSubmatch(b, -1) {
				exists[string(m[1])] = true
			}
		case strings.HasSuffix(path, ".txtar"):
			exists["script/"+strings.TrimSuffix(e.Name(), ".txtar")] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	cases := regexp.MustCompile(`Cases?: ([^.]+)\.$`)
	bullets := strings.Split(text, "\n- ")[1:]
	if len(bullets) < 30 {
		t.Fatalf("%d bullets, want 30 at least", len(bullets))
	}
	for _, b := range bullets {
		b, _, _ = strings.Cut(b, "\n\n")
		named := cases.FindStringSubmatch(strings.TrimSpace(b))
		if named == nil {
			t.Errorf("no case is named by: %.90s", b)
			continue
		}
		for name := range strings.SplitSeq(named[1], ", ") {
			if name = strings.Trim(name, "`"); !exists[name] {
				t.Errorf("%s does not exist, and is the case of: %.90s", name, b)
			}
		}
	}
}
