// Package results reads a finished result directory back, as the cells and
// trials that sweep/decide compares: one of ours by its plan and its tables, one
// of AIPerf's by the summaries that lie in it. Each kind of directory is a Reader, a
// file with a row in Readers.
//
// Read gives a System. Nothing that a directory says is trusted: files that are
// not those of the manifest, another schema version, a partial directory are
// refused in one line.
package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep/decide"
)

// System is what a directory holds.
type System struct {
	decide.Arm
	Ours         bool
	AllowInvalid bool // its experiment takes INVALID runs
	Trials       int
}

// Read reads the directory by the reader that knows it.
func Read(dir string) (*System, error) {
	r, err := Find(dir)
	if err != nil {
		return nil, err
	}
	return r.Read(dir)
}

// Find is the reader of a directory. The error says what is missing where nobody
// knows it.
func Find(dir string) (Reader, error) {
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Reader{}, refuse(dir, "no such directory", "name a result directory")
	case err != nil:
		return Reader{}, &diag.Error{Message: err.Error(), Cause: err}
	case !st.IsDir():
		return Reader{}, refuse(dir, "is a file", "name a result directory")
	}
	for _, r := range Readers() {
		if r.Recognises(dir) {
			return r, nil
		}
	}
	return Reader{}, refuse(dir, "holds no results", "name a directory of aiperf's, with "+resultdir.ManifestName+
		", or one of AIPerf's, with "+resultdir.SummaryName)
}

func refuse(dir, why, hint string) error {
	return &diag.Error{Place: dir, Message: why, Hint: hint}
}

// Two reads two directories so that they can be compared: where one of them is ours
// and the other is not, ours is read by the files that both have, if it has such files.
func Two(a, b string) (*System, *System, error) {
	ra, err := Find(a)
	if err != nil {
		return nil, nil, err
	}
	rb, err := Find(b)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case ra.Runs == nil && rb.Runs != nil && rb.Recognises(a):
		ra = rb
	case rb.Runs == nil && ra.Runs != nil && ra.Recognises(b):
		rb = ra
	}
	x, err := ra.Read(a)
	if err != nil {
		return nil, nil, err
	}
	y, err := rb.Read(b)
	return x, y, err
}

// leastHalved is how many trials two halves take that have an interval: three each.
const leastHalved = 6

// Halves splits the trials of each cell in two systems: the odd ones and the
// even ones, so that drift is in both.
func Halves(s *System) (*System, *System, error) {
	a, b := &System{Ours: s.Ours, AllowInvalid: s.AllowInvalid}, &System{Ours: s.Ours, AllowInvalid: s.AllowInvalid}
	a.Name, b.Name = s.Name+" (odd trials)", s.Name+" (even trials)"
	for _, c := range s.Cells {
		if len(c.Runs) < leastHalved {
			return nil, nil, refuse(s.Name, fmt.Sprintf("%s has %s, and two halves of it take %d", c.Label,
				words.Count(len(c.Runs), "trial"), leastHalved), fmt.Sprintf("run it again with --num-profile-runs %d",
				leastHalved))
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
