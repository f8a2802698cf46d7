// Package results reads a finished result directory back, as the cells and
// trials that sweep/decide compares: one of ours by its plan and its tables, one
// of AIPerf's by the summaries that lie in it.
//
// Read gives a System. Nothing that a directory says is trusted: files that are
// not those of the manifest, another schema version, a partial directory are
// refused in one line.
package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/sweep/decide"
)

// System is what a directory holds.
type System struct {
	decide.Arm
	Ours         bool
	AllowInvalid bool // its experiment takes INVALID runs
	Trials       int
}

// Read reads the directory. asAIPerf reads AIPerf's files also where it is one
// of ours, so that the two can be compared.
func Read(dir string, asAIPerf bool) (*System, error) {
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse(dir, "no such directory", "name a result directory")
	case err != nil:
		return nil, &diag.Error{Message: err.Error(), Cause: err}
	case !st.IsDir():
		return nil, refuse(dir, "is a file", "name a result directory")
	}
	if _, err := os.Stat(filepath.Join(dir, resultdir.LockName)); err == nil && !asAIPerf {
		return readOurs(dir)
	}
	return readAIPerf(dir)
}

// Ours tells whether a directory is one of ours.
func Ours(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, resultdir.LockName))
	return err == nil
}

func refuse(dir, why, hint string) error {
	return &diag.Error{Place: dir, Message: why, Hint: hint}
}

// Two reads two directories so that they can be compared: where one of them is
// AIPerf's, AIPerf's files are read of both.
func Two(a, b string) (*System, *System, error) {
	x, err := Read(a, false)
	if err != nil {
		return nil, nil, err
	}
	y, err := Read(b, false)
	if err != nil {
		return nil, nil, err
	}
	if x.Ours != y.Ours {
		if x, err = Read(a, true); err == nil {
			y, err = Read(b, true)
		}
	}
	return x, y, err
}

// Halves splits the trials of each cell in two systems: the odd ones and the
// even ones, so that drift is in both.
func Halves(s *System) (*System, *System, error) {
	a, b := &System{Ours: s.Ours, AllowInvalid: s.AllowInvalid}, &System{Ours: s.Ours, AllowInvalid: s.AllowInvalid}
	a.Name, b.Name = s.Name+" (odd trials)", s.Name+" (even trials)"
	for _, c := range s.Cells {
		if len(c.Runs) < 4 {
			return nil, nil, refuse(s.Name, c.Label+" has fewer than four trials", "run with more: --num-profile-runs 8")
		}
		odd, even := c, c
		odd.Runs, even.Runs = nil, nil
		for i, o := range c.Runs {
			if i%2 == 0 {
				odd.Runs = append(odd.Runs, o)
			} else {
				even.Runs = append(even.Runs, o)
			}
		}
		a.Cells, b.Cells = append(a.Cells, odd), append(b.Cells, even)
	}
	return a, b, nil
}
