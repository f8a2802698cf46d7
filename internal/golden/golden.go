// Package golden compares the hand-written pages of docs/ with the tables that the program
// knows best. In go a page and the lines that end it; out comes a failed test where they
// differ. UPDATE_GOLDEN=1 writes them instead.
package golden

import (
	"os"
	"strings"
	"testing"
)

// Ends fails the test unless the page at path ends in head, a heading, and lines.
func Ends(t testing.TB, path, head string, lines []string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(page), head+"\n\n")
	if !ok {
		t.Fatalf("%s has no %q", path, head)
	}
	want := before + head + "\n\n" + strings.Join(lines, "\n") + "\n"
	if want == string(page) {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Fatalf("%s is out of date: UPDATE_GOLDEN=1 go test -run %s in this folder writes it", path, t.Name())
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
