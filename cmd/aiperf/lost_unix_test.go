//go:build unix

package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
)

// Whenever a measurement into a directory that holds results is killed, the
// results are there whole: where they were, or moved aside as they were. Only an
// --overwrite that came to its end has replaced them.
func TestNoResultIsLostWhenKilled(t *testing.T) {
	t.Parallel()
	sweep := []string{"--concurrency", "1,2"}
	overwrite := []string{"--overwrite"}
	for i, c := range []struct{ first, then []string }{
		{},
		{overwrite, overwrite},
		{sweep, sweep},
		{append(sweep, overwrite...), append(sweep, overwrite...)},
		{overwrite, append(sweep, overwrite...)}, // another kind of directory each time
		{overwrite, overwrite},
	} {
		t.Run(fmt.Sprint(i, c.first, c.then), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			line := func(round int) []string {
				more := c.first
				if round%2 == 1 {
					more = c.then
				}
				return append([]string{
					"profile", "-m", "demo", "-u", "mock:?ttft=1ms", "--tokenizer", "builtin",
					"--request-count", "20", "--artifact-dir", "out",
				}, more...)
			}
			aiperf(t, dir, line(0)...).wants(diag.OK)
			before := sums(t, filepath.Join(dir, "out"))
			random := rand.New(rand.NewPCG(uint64(i), 7))
			for round := range 6 {
				p := aiperf(t, dir, line(round+1)...)
				after := time.NewTimer(time.Duration(random.Int64N(int64(time.Second))))
				select {
				case <-after.C:
					_ = p.cmd.Process.Signal([]os.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM}[round%3])
				case <-p.ended:
				}
				after.Stop()
				<-p.ended
				whole, replaced := wholeResults(t, dir, before,
					c.first != nil && c.first[len(c.first)-1] == "--overwrite")
				if whole == "" {
					t.Fatalf("round %d: the results are nowhere whole\nstderr:\n%s", round, &p.err)
				}
				// New results have taken their place, or stand beside them. A process that is
				// killed while it removes the old ones has finished the new ones, too.
				if replaced || p.cmd.ProcessState.ExitCode() == 0 {
					before = sums(t, filepath.Join(dir, "out"))
				}
			}
		})
	}
}

// sums are the digests of the files below dir that a manifest would list.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == ".lock" || e.Name() == resultdir.LiveName ||
			strings.HasSuffix(e.Name(), ".tmp") { // of a process, not of its results
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = fmt.Sprintf("%x", sha256.Sum256(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// wholeResults is the directory that has all of before as it was, or a finished
// one that replaced it; "" if there is none.
func wholeResults(t *testing.T, dir string, before map[string]string, overwrite bool) (whole string, replaced bool) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(dir, "out*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		now := sums(t, d)
		same := true
		for name, sum := range before {
			same = same && now[name] == sum
		}
		if same {
			return d, false
		}
	}
	if out := filepath.Join(dir, "out"); overwrite && exists(filepath.Join(out, "manifest.json")) &&
		!manifest(t, out).Interrupted {
		return out, true
	}
	return "", false
}
