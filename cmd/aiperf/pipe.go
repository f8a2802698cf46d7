package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"syscall"

	"aiperf.dev/aiperf/internal/diag"
)

// quietPipe is a stream whose reader may go away, as in aiperf … | head -1.
// What nobody reads any more is not written and is no failure: results are
// files, and the exit code is theirs. Other failures stay failures.
type quietPipe struct {
	w    io.Writer
	gone bool
	err  error // the first failure: part of the result was not written
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
	q.err = cmp.Or(q.err, err)
	return n, err
}

// exit is code, unless all went well but for the result itself: then stderr
// says so.
func (q *quietPipe) exit(code diag.Code, stderr io.Writer) diag.Code {
	if code != diag.OK || q.err == nil {
		return code
	}
	fmt.Fprintf(stderr, "aiperf: %v\n", q.err)
	return diag.Failed
}
