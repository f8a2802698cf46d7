package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"aiperf.dev/aiperf/sweep"
)

// sources are the files that hold a plan's requests, as the experiment names
// them, with their SHA-256. A file that cannot be read has none: the run that
// needs it says so.
func sources(plan *sweep.Plan, experiment string) map[string]string {
	out := map[string]string{}
	for _, c := range plan.Cells {
		for _, d := range c.Resolved.Benchmark.Datasets {
			if _, known := out[d.Path]; d.Path != "" && !known {
				out[d.Path] = digestBelow(Beside(experiment, d.Path))
			}
		}
	}
	return out
}

// digestBelow is the SHA-256 of a file, or of the names and digests of all
// files of a folder; "" when one cannot be read.
func digestBelow(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link to a folder is that folder
	}
	all := sha256.New()
	err := filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		sum, _, err := digest(at)
		fmt.Fprintf(all, "%s\n%s\n", at[len(path):], sum)
		return err
	})
	if err != nil {
		return ""
	}
	return hex.EncodeToString(all.Sum(nil))
}

// checkSources refuses to go on with other requests than the runs that are
// done have sent. Runs that failed are made again with what is there now.
func (d *resultDir) checkSources(now map[string]string) error {
	var then map[string]string
	for _, e := range d.events {
		if e.Event == "begin" {
			then = e.Sources
		}
	}
	if countDone(d.events) == 0 || maps.Equal(then, now) {
		return nil
	}
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if then[name] != now[name] {
			changed = append(changed, name+": its requests are not those that were sent")
		}
	}
	return &DirError{
		Dir: d.path, Message: "the requests are not the ones that were begun here", Lines: changed,
		Hint: "bring the files back, or run it in another --artifact-dir",
	}
}
