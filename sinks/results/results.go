// Package results reads a finished result directory back, as the cells and
// trials that sweep/decide compares: one of ours by its plan and its tables,
// others by the package importer.
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
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/importer"
	"aiperf.dev/aiperf/sinks/receipt"
	"aiperf.dev/aiperf/sweep/decide"
)

// System is what a directory holds.
type System struct {
	decide.Arm
	Ours         bool
	AllowInvalid bool // its experiment takes INVALID runs
	Trials       int
	Left         []string                      // what is left out of a comparison with another program's, and why
	imported     *importer.Result              // of another program; nil for ours
	receipts     map[string][]*receipt.Receipt // of the runs, by cell
}

// Read reads the directory by the reader that knows it.
func Read(dir string) (*System, error) {
	r, err := Find(dir)
	if err != nil {
		return nil, err
	}
	return r.Read(dir)
}

// Find is the reader of a directory, or of a file that another program wrote. The error
// says what is missing where nobody knows it.
func Find(path string) (Reader, error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Reader{}, refuse(path, "no such directory", "name a result directory")
	case err != nil:
		return Reader{}, &diag.Error{Message: err.Error(), Cause: err}
	case st.IsDir() && ours(path) && !importer.Holds(path):
		return Reader{Name: "aiperf", Read: readOurs}, nil
	}
	return foreign(path)
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
	if ra.Runs == nil && rb.Runs != nil {
		ra = asTheirs(a, ra)
	} else if rb.Runs == nil && ra.Runs != nil {
		rb = asTheirs(b, rb)
	}
	x, err := ra.Read(a)
	if err != nil {
		return nil, nil, err
	}
	y, err := rb.Read(b)
	if err != nil {
		return nil, nil, err
	}
	acrossTools(x, y)
	return x, y, nil
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
