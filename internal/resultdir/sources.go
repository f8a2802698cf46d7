package resultdir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"aiperf.dev/aiperf/internal/sampled"
)

// sampledFrom is the size from which on a source is told by pieces of it, in
// bytes: to read all of it would take longer than to send its first requests.
const sampledFrom = 1 << 30

// DigestBelow is the SHA-256 of a file, or of the names and digests of all
// files of a folder; "" when one cannot be read.
func DigestBelow(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link to a folder is that folder
	}
	all := sha256.New()
	err := filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		sum, err := sourceDigest(at, e)
		fmt.Fprintf(all, "%s\n%s\n", at[len(path):], sum)
		return err
	})
	if err != nil {
		return ""
	}
	return hex.EncodeToString(all.Sum(nil))
}

func sourceDigest(path string, e fs.DirEntry) (string, error) {
	if st, err := e.Info(); err != nil || st.Size() <= sampledFrom {
		sum, _, err := Digest(path)
		return sum, err
	}
	h := sha256.New()
	err := sampled.File(h, path)
	return hex.EncodeToString(h.Sum(nil)), err
}

// SourcesOf are the files that held the requests of the runs in dir, with their digests; none
// where nothing came from a file.
func SourcesOf(dir string) (sources map[string]string) {
	for _, e := range Events(dir) {
		if e.Event == "begin" {
			sources = e.Sources
		}
	}
	return sources
}

// CheckSources refuses to go on with other requests than the runs that are
// done have sent. Runs that failed are made again with what is there now.
func (d *Dir) CheckSources(now map[string]string) error {
	var then map[string]string
	for _, e := range d.Events {
		if e.Event == "begin" {
			then = e.Sources
		}
	}
	if done, _ := countDone(d.Events); done == 0 || maps.Equal(then, now) {
		return nil
	}
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if then[name] != now[name] {
			changed = append(changed, name+": has changed")
		}
	}
	return refusal(d.Path, "files are not those that the runs here were made with",
		"bring the files back, or run it in another --artifact-dir", changed...)
}
