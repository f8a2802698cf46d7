package main

import (
	"errors"
	"io"
	"syscall"
)

// quietPipe is a stream whose reader may go away, as in aiperf … | head -1.
// What nobody reads any more is not written and is no failure: results are
// files, and the exit code is theirs. Other failures stay failures.
type quietPipe struct {
	w    io.Writer
	gone bool
}

func (q *quietPipe) Write(b []byte) (int, error) {
	if q.gone {
		return len(b), nil
	}
	n, err := q.w.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		q.gone = true
		return len(b), nil
	}
	return n, err
}
