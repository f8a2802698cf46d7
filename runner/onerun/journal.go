package onerun

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/sinks"
)

// journal writes every record to the run's stream. It misses none: a record that
// cannot be written is the run's loss, and told.
type journal struct {
	*sinks.Journal
	path string
	lost error
}

func startJournal(_ context.Context, w *Watched) (Observer, error) {
	path := filepath.Join(w.Session.Dir, resultdir.StreamName)
	j, err := sinks.NewJournal(path, w.meta())
	if err != nil {
		return nil, &LostError{err}
	}
	return &journal{Journal: j, path: path}, nil
}

// Record writes r.
func (j *journal) Record(r *record.Record) {
	j.lost = cmp.Or(j.lost, j.Write(r))
}

// Stop completes the file.
func (j *journal) Stop(_ context.Context, out *Result) error {
	err := j.Close()
	if out == nil {
		return errors.Join(err, os.Remove(j.path))
	}
	out.lose(cmp.Or(j.lost, err))
	return nil
}
