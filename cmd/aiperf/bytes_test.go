package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"aiperf.dev/aiperf/internal/diag"
)

// An experiment in CUE comes from any editor: a byte order mark and Windows line
// ends are read, and move no place; what is not UTF-8, or larger than an experiment
// is, is refused in a line, in the files that it imports, too.
func TestBytesOfCUE(t *testing.T) {
	t.Parallel()
	const good = "package t\n\nimport \"aiperf.dev/schema\"\n\n// k\u00e4se\nschema.#Experiment & {\n\tname: \"x\"\n\tbenchmark: {\n" +
		"\t\tmodel: \"demo\"\n\t\tendpoint: {url: \"mock:\", type: \"chat\"}\n\t\tdataset: {isl: 8, entries: 2}\n\t\tprofiling: {requests: 2}\n\t}\n}\n"
	const importing = "package t\n\nimport \"example.com/t/lib\"\n\nbenchmark: {model: \"demo\", endpoint: url: \"mock:\", dataset: {isl: lib.n, entries: 2}, profiling: requests: 2}\n"
	typo := strings.Replace(good, "requests", "reqests", 1)
	windows := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	const mark = "\ufeff"
	large := "\n_x: \"" + strings.Repeat("a", 5_000_000) + "\"\n"
	for name, c := range map[string]struct{ text, lib, want string }{
		"mark":              {text: mark + good},
		"lines":             {text: windows(good)},
		"both":              {text: mark + windows(good)},
		"typo":              {text: mark + windows(typo), want: "e.cue:12:15: benchmark.profiling.reqests: unknown field\n  hint: did you mean requests?\n"},
		"first line":        {text: mark + "package t, benchmark: modl: 1\n", want: "e.cue:1:23: benchmark.modl: unknown field\n"},
		"old Mac":           {text: strings.ReplaceAll(good, "\n", "\r"), want: "e.cue:1:12: expected"},
		"UTF-16":            {text: wide(good), want: "e.cue:1:1: is not UTF-8 text\n  hint: save it as UTF-8\n"},
		"Latin-1":           {text: strings.ReplaceAll(good, "\u00e4", "\xe4"), want: "e.cue:5:5: is not UTF-8 text\n  hint: save it as UTF-8\n"},
		"a zero":            {text: strings.Replace(good, "\"x\"", "\"x\x00\"", 1), want: "e.cue:7:10: illegal character NUL\n"},
		"5 MB":              {text: good + large, want: "e.cue: larger than 4 MB\n  hint: put records into a file of their own"},
		"5 MB imported":     {text: importing, lib: "package lib\nn: 8\n" + large, want: "e.cue:3:8: lib/e.cue larger than 4 MB\n  hint: a package of experiments holds"},
		"imported as saved": {text: mark + windows(importing), lib: mark + windows("package lib\n\nn: 8\n")},
		"imported typo":     {text: importing, lib: mark + windows("package lib\n\nn: 8\nn: 9\n"), want: "lib/e.cue:4:4: n: conflicting values 9 and 8\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range map[string]string{
				"cue.mod/module.cue": "module: \"example.com/t@v0\"\nlanguage: version: \"v0.17.0\"\n", "e.cue": c.text, "lib/e.cue": c.lib,
			} {
				path := filepath.Join(dir, filepath.FromSlash(file))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); text != "" && err != nil {
					t.Fatal(err)
				}
			}
			for _, named := range []string{dir, filepath.Join(dir, "e.cue")} {
				code, out, errs := in(t, "validate", named)
				said := strings.ReplaceAll(errs, dir+string(filepath.Separator), "")
				want := filepath.FromSlash(c.want)
				if want == "" {
					if code != diag.OK || said != "" {
						t.Errorf("%s: exit %d, %s", named, code, said)
					}
				} else if code != diag.Usage || out != "" || !strings.Contains(said, want) || len(said) > 300 {
					t.Errorf("%s: exit %d, %q%q, want %q", named, code, out, said[:min(len(said), 400)], want)
				}
			}
		})
	}
}

// wide is s in UTF-16 with its mark, as some editors save it.
func wide(s string) string {
	var b bytes.Buffer
	for _, u := range append([]uint16{0xfeff}, utf16.Encode([]rune(s))...) {
		b.Write([]byte{byte(u), byte(u >> 8)})
	}
	return b.String()
}
