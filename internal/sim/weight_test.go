package sim

import (
	"io/fs"
	"path/filepath"
	"testing"

	"aiperf.dev/aiperf/sinks/report/page"
)

// What the quick start leaves: 23 files of 3.9 MB with a server's metrics and the kernel's
// stamps, of which a simulated run has none.
const (
	mostFiles = 22
	mostBytes = 3_400_000
)

// light holds a result directory, report.html included, to the files and bytes above. It
// says what is large where it is too heavy.
func light(t *testing.T, o *Outcome, dir string) {
	t.Helper()
	d, err := page.Load([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	b, err := page.Of(d, o.Report().Sentences())
	if err != nil {
		t.Fatal(err)
	}
	files, bytes, sizes := 1, int64(len(b)), map[string]int64{"report.html": int64(len(b))}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			files++
			bytes += info.Size()
			sizes[e.Name()] = info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files > mostFiles || bytes > mostBytes {
		t.Errorf("%d files of %d bytes, want at most %d of %d: %v", files, bytes, mostFiles, mostBytes, sizes)
	}
}
