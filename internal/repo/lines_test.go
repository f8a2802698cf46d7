package repo

import (
	"bytes"
	"go/scanner"
	"go/token"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// seen are what a reader sees of a line without scrolling; a tab takes four.
const seen = 120

// A line of code ends within what a reader sees. Texts are left out of the count: a
// sentence stays in one piece, so that it can be searched for. So are rows of a test's
// table, which are read as columns, and regular expressions quoted from elsewhere.
func TestLinesEndWhereAReaderLooks(t *testing.T) {
	t.Parallel()
	n := 0
	for _, files := range goFiles(t) {
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.HasPrefix(src, []byte("// Code generated")) || strings.HasSuffix(file, "_gen.go") {
				continue
			}
			for i, line := range strings.Split(withoutTexts(src), "\n") {
				n++
				row := strings.HasSuffix(file, "_test.go") && strings.IndexAny(strings.TrimSpace(line), "{\"") == 0
				if row || strings.Contains(line, `\p{L}`) {
					continue
				}
				if wide := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")); wide > seen {
					t.Errorf("%s:%d: %d columns, at most %d", file, i+1, wide, seen)
				}
			}
		}
	}
	if n < 100_000 {
		t.Errorf("%d lines only", n)
	}
}

// withoutTexts is Go's source with its texts emptied, directives of linters cut, line by line.
func withoutTexts(src []byte) string {
	files := token.NewFileSet()
	f := files.AddFile("", files.Base(), len(src))
	var s scanner.Scanner
	s.Init(f, src, nil, scanner.ScanComments)
	var b strings.Builder
	at := 0
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			return b.String() + string(src[at:])
		}
		if kind != token.STRING && (kind != token.COMMENT || !strings.HasPrefix(text, "//nolint")) {
			continue
		}
		from := f.Offset(pos)
		b.Write(src[at:from])
		if kind == token.STRING {
			b.WriteString(`""`)
		}
		b.WriteString(strings.Repeat("\n", strings.Count(text, "\n")))
		at = from + len(text)
	}
}
