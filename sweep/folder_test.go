package sweep_test

import (
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/sweep"
)

// Whatever somebody calls an experiment or a cell, its folder is one below the folder of the
// results, with a name that every common file system takes.
func TestFolderName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"llama 3.1-8B, fp8 [a]":  "llama 3.1-8B, fp8 [a]",
		"../../up":               "up",
		"/etc/passwd":            "etcpasswd",
		`..\..\up`:               "up",
		"a/b":                    "ab",
		"..":                     "",
		". .":                    "",
		"":                       "",
		"nul\x00in\nit\x1b[1m":   "nulinit[1m",
		"\u007f\u0085bell\a":     "bell",
		"no\xfftext":             "notext",
		"end. .":                 "end",
		"CON":                    "_CON",
		"nul.yaml":               "_nul.yaml",
		"com7":                   "_com7",
		"console":                "console",
		"C:":                     "C",
		strings.Repeat("é", 200): strings.Repeat("é", 100),
	} {
		got := sweep.FolderName(name)
		if got != want {
			t.Errorf("FolderName(%q) = %q, want %q", name, got, want)
		}
		if got != "" && (!filepath.IsLocal(got) || filepath.Base(got) != got) {
			t.Errorf("FolderName(%q) = %q is a path", name, got)
		}
	}
}
