package capture

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/atomicfile"
)

// file is the trace while it grows. Each line is written at once and whole, so that a
// process that is killed leaves all lines but the one it was writing.
type file struct {
	path  string
	f     *os.File
	lines []line
	size  int64
	err   error // the first failure: nothing is written after it
}

// line is where a line lies and when its request arrived.
type line struct {
	at   time.Duration
	from int64
	size int32
}

// append writes one line, which ends with a line end.
func (o *file) append(at time.Duration, b []byte) error {
	if o.err != nil {
		return o.err
	}
	if _, err := o.f.Write(b); err != nil {
		o.err = err
		return err
	}
	o.lines = append(o.lines, line{at, o.size, int32(len(b))})
	o.size += int64(len(b))
	return nil
}

// finish puts the lines, which came in the order in which requests were over, into the
// order of their arrival.
func (o *file) finish() (err error) {
	defer func() { err = errors.Join(err, o.f.Close()) }()
	byTime := func(a, b line) int { return cmp.Compare(a.at, b.at) }
	if o.err != nil || slices.IsSortedFunc(o.lines, byTime) {
		return errors.Join(o.err, o.f.Sync())
	}
	slices.SortStableFunc(o.lines, byTime)
	out, err := atomicfile.Create(o.path)
	if err != nil {
		return err
	}
	defer out.Abort()
	if err := out.Chmod(0o600); err != nil {
		return err
	}
	for _, l := range o.lines {
		if _, err := io.Copy(out, io.NewSectionReader(o.f, l.from, int64(l.size))); err != nil {
			return fmt.Errorf("%s: %w", o.path, err)
		}
	}
	return out.Commit()
}
