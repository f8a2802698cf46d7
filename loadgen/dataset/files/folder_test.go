package files_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// What a benchmark writes below the folder that it reads is no record.
func TestFolderWithResults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.jsonl":                            "{\"n\":1}\n",
		"2026/11/b.jsonl":                    "{\"n\":2}\n",
		".hidden.json":                       "{}",
		"running/.lock":                      "",
		"running/.live.json":                 "{}",
		"running/inputs.json":                "{}",
		"ended/profile_export_aiperf.json":   "{}",
		"ended/logs/profile_export_raw.json": "{}",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var read []string
	err := files.Each(dir, func(r files.Record) error {
		read = append(read, r.File)
		return nil
	})
	if want := []string{"2026/11/b.jsonl", "a.jsonl"}; err != nil || !slices.Equal(read, want) {
		t.Errorf("read %q, %v, want %q", read, err, want)
	}
}
