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

// onePixel is a PNG image.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// TestEndpointLines runs every line of docs/endpoints.md as it stands there:
// each type of endpoint has one, and no request of it fails.
func TestEndpointLines(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "endpoints.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^aiperf profile .*--endpoint-type (\S+).*$`).FindAllStringSubmatch(string(page), -1)
	shown := map[string]bool{}
	for _, m := range lines {
		shown[m[1]] = true
		t.Run(m[1], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			image, err := base64.StdEncoding.DecodeString(onePixel)
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, "cat.png", string(image))
			write(t, dir, "edits.jsonl", `{"text": "add a hat", "image": "cat.png"}`+"\n")
			write(t, dir, "bodies.jsonl", `{"messages": [{"role": "user", "content": "one two"}], "max_tokens": 3}`+"\n")
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
