package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// fence is a block of a page: its language, the file it is, its text.
var fence = regexp.MustCompile("(?ms)^```(\\w+) ?([^\n]*)\n(.*?)^```$")

// docs/cue.md is true as it stands: its files are written down, its commands
// are typed, one after the other.
func TestCUEPage(t *testing.T) {
	t.Parallel()
	page := source(t, "docs/cue.md")
	dir, files, commands := t.TempDir(), 0, 0
	for _, m := range fence.FindAllSubmatch(page, -1) {
		if name := string(m[2]); name != "" {
			files++
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, dir, name, string(m[3]))
			continue
		}
		for line := range strings.Lines(string(m[3])) {
			words := pageWords(strings.TrimSpace(line))
			commands++
			codes := []diag.Code{diag.OK}
			if words[1] == "run" { // what a busy machine measures is marked so
				codes = append(codes, diag.Invalid)
			}
			aiperf(t, dir, words[1:]...).wants(codes...)
		}
	}
	if files < 8 || commands < 12 {
		t.Errorf("%d files and %d commands", files, commands)
	}
}

// The commands of docs/decide.md, typed one after the other beside the examples and
// nothing else. The run is made small.
func TestDecidePage(t *testing.T) {
	t.Parallel()
	dir, typed := t.TempDir(), 0
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join("..", "..", "examples"))); err != nil {
		t.Fatal(err)
	}
	for _, m := range fence.FindAllSubmatch(source(t, "docs/decide.md"), -1) {
		if string(m[1]) != "sh" {
			continue
		}
		for line := range strings.Lines(string(m[3])) {
			words, codes := pageWords(strings.TrimSpace(line)), []diag.Code{diag.OK}
			if words[1] == "run" { // the candidate is slower, if this machine lets it show
				words = append(words, "--set", "benchmark.phases.profiling.requests=24", "--ui", "none")
				codes = append(codes, diag.Missed, diag.Invalid)
			}
			aiperf(t, dir, words[1:]...).wants(codes...)
			typed++
		}
	}
	if typed < 2 {
		t.Errorf("%d commands", typed)
	}
}

// pageWords are the words of a line, which quotes hold together.
func pageWords(line string) (out []string) {
	for _, w := range regexp.MustCompile(`"(?:\\.|[^"])*"|\S+`).FindAllString(line, -1) {
		if strings.HasPrefix(w, `"`) {
			w = strings.ReplaceAll(w[1:len(w)-1], `\"`, `"`)
		}
		out = append(out, w)
	}
	return out
}
