package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/endpoint"
)

// TestEndpointLines runs every line of docs/endpoints.md as it stands there, beside
// the files that the page writes: each type of endpoint has one, and no request of it
// fails.
func TestEndpointLines(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "endpoints.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^aiperf profile .*--endpoint-type (\S+).*$`).FindAllStringSubmatch(string(page),
		-1)
	files := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^echo '(.*)'( \| base64 -d)? > (\S+)$`).FindAllStringSubmatch(string(page), -1) {
		text := m[1] + "\n"
		if m[2] != "" {
			b, err := base64.StdEncoding.DecodeString(m[1])
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		files[m[3]] = text
	}
	shown := map[string]bool{}
	for _, m := range lines {
		shown[m[1]] = true
		t.Run(m[1], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range files {
				write(t, dir, name, text)
			}
			p := aiperf(t, dir, append(shellWords(m[0])[1:], "--tokenizer", "builtin", "--report", "none")...)
			p.wants(diag.OK, diag.Invalid) // a busy machine may make a run INVALID
			if !regexp.MustCompile(`Errors +0 of 4`).MatchString(p.out.String()) {
				t.Errorf("%s\n%s%s", m[0], &p.out, &p.err)
			}
		})
	}
	for _, s := range endpoint.Catalogue() {
		if !shown[s.Type] && s.Served.Whole != nil { // what the built-in server speaks
			t.Errorf("docs/endpoints.md has no line for --endpoint-type %s", s.Type)
		}
	}
}

// shellWords takes a command line apart as a shell does: blanks and single quotes.
func shellWords(line string) (words []string) {
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+?)'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, strings.Join(m[1:], ""))
	}
	return words
}
