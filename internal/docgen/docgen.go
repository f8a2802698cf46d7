// Package docgen writes the generated pages of docs/. In go the catalogues
// (commands, settings, JSON Schema, metrics, columns) and, for what only the
// source says, Go files; out comes Markdown. Nothing here reads or writes a
// file, so a test can compare what is with what should be.
//
// A page that is generated whole begins with Mark; one that is written by hand
// has regions, which Fill replaces.
package docgen

import (
	"bytes"
	"fmt"
	"strings"
)

// Command is the command that repairs every generated page.
const Command = "go generate ./cmd/aiperf"

// Mark is the first line of a page that is generated whole.
func Mark(from string) string {
	return fmt.Sprintf("<!-- Generated from %s by %s. Edit that instead. -->\n\n", from, Command)
}

// Fill replaces what stands between <!-- begin NAME --> and <!-- end NAME -->
// in page.
func Fill(page []byte, name string, content string) ([]byte, error) {
	begin, end := []byte("<!-- begin "+name+" -->\n"), []byte("<!-- end "+name+" -->")
	i, j := bytes.Index(page, begin), bytes.Index(page, end)
	if i < 0 || j < i {
		return nil, fmt.Errorf("no region %s", name)
	}
	out := append([]byte{}, page[:i+len(begin)]...)
	out = append(out, content...)
	return append(out, page[j:]...), nil
}

// table is a Markdown table; columns that are empty in every row are left out.
func table(head []string, rows [][]string) string {
	used := make([]bool, len(head))
	for _, r := range rows {
		for i, c := range r {
			used[i] = used[i] || c != ""
		}
	}
	var b strings.Builder
	line := func(cells []string) {
		b.WriteByte('|')
		for i, c := range cells {
			if used[i] {
				b.WriteString(" " + c + " |")
			}
		}
		b.WriteByte('\n')
	}
	line(head)
	rule := make([]string, len(head))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, r := range rows {
		for i := range r {
			r[i] = cell(r[i])
		}
		line(r)
	}
	b.WriteByte('\n')
	return b.String()
}

// cell is text that does not end a cell.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func codes(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = code(w)
	}
	return strings.Join(out, ", ")
}
