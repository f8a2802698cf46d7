package language

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue/format"

	"aiperf.dev/aiperf/schema/source"
)

// docs/cue.md names what the published schemas let through, all of it and no
// more.
func TestPageNamesWhatIsLetThrough(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "/docs/cue.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| both |") || strings.HasPrefix(line, "| JSON Schema |") {
			rows++
		}
	}
	for _, l := range letThrough {
		who := "| both | "
		if !l.cue {
			who = "| JSON Schema | "
		}
		if !strings.Contains(string(text), who+l.why+" |\n") {
			t.Errorf("docs/cue.md lacks the row %s%s |", who, l.why)
		}
	}
	for name, why := range otherWay {
		if !strings.Contains(string(text), "\n- "+why+"\n") {
			t.Errorf("docs/cue.md lacks the line - %s", why)
		}
		if !slices.ContainsFunc(alike(t), func(d document) bool {
			return sides[strings.TrimPrefix(d.kind, "cases, ")].ours && !strings.HasSuffix(d.kind, "valid") &&
				d.name == name
		}) {
			t.Errorf("testdata/alike.txtar has no case taken-here/%s or vet-refuses/%[1]s", name)
		}
	}
	if rows != len(letThrough) {
		t.Errorf("docs/cue.md has %d rows of what is let through, want %d", rows, len(letThrough))
	}
}

// cue fmt leaves alone what people copy, and what the program writes.
func TestFormatted(t *testing.T) {
	t.Parallel()
	docs := documents(t)
	for kind, pattern := range map[string]string{
		"examples":      root + "/examples/experiments/*/*.cue",
		"schema vendor": filepath.Join(vendored(t), source.VendorDir, "*.cue"),
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			docs = append(docs, document{kind, filepath.Base(file), ".cue", string(text)})
		}
	}
	n := 0
	for _, d := range docs {
		if d.ext != ".cue" || strings.HasPrefix(d.kind, "cases, ") ||
			d.kind == "pages" && strings.HasPrefix(d.text, "package p\n") {
			continue // nobody copies the second, the third is a part, wrapped by this test
		}
		n++
		if out, err := format.Source([]byte(d.text)); err != nil || string(out) != d.text {
			t.Errorf("%s: cue fmt would change %s: %v\n%s", d.kind, d.name, err, firstDifference(d.text, string(out)))
		}
	}
	if n < 80 {
		t.Errorf("only %d files of CUE", n)
	}
}

func firstDifference(have, want string) string {
	a, b := strings.Split(have, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "have " + a[i] + "\nwant " + b[i]
		}
	}
	return "one is longer"
}

// Every experiment in YAML that people copy names its schema for editors, and
// the schema is there.
func TestSchemaLines(t *testing.T) {
	t.Parallel()
	const mark = "# yaml-language-server: $schema="
	for _, g := range []struct{ pattern, dir string }{
		{root + "/examples/experiments/*.yaml", root + "/examples/experiments"},
		{root + "/internal/compat/templates/*.yaml", vendored(t)}, // config init -o writes it there
	} {
		files, err := filepath.Glob(g.pattern)
		if err != nil || len(files) < 4 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, rest, ok := strings.Cut(string(text), mark)
			path, _, _ := strings.Cut(rest, "\n")
			if _, err := os.Stat(filepath.Join(g.dir, path)); !ok || err != nil {
				t.Errorf("%s: no line %s…, or nothing there: %v", file, mark, err)
			}
		}
	}
}
