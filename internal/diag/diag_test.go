package diag_test

import (
	"errors"
	"io/fs"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

func TestErrorIsOneLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e    diag.Error
		want string
	}{
		{diag.Error{Message: "cannot connect"}, "cannot connect"},
		{diag.Error{Place: "a.cue:1:2", Path: "sweep.type", Message: "unknown word"}, "a.cue:1:2: sweep.type: unknown word"},
		{diag.Error{Place: "--isl", Path: "benchmark.datasets.main.prompts.isl", Message: "expected a number"}, "--isl: expected a number"},
		{diag.Error{Place: "--isl", Path: "benchmark.model", Message: "required", Missing: true}, "--isl: benchmark.model: required"},
	} {
		if got := c.e.Error(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.e, got, c.want)
		}
	}
}

func TestErrorKeepsItsParts(t *testing.T) {
	t.Parallel()
	var err error = &diag.Error{Code: diag.Failed, Message: "open x", Cause: fs.ErrNotExist}
	var e *diag.Error
	if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &e) || e.Exit() != diag.Failed {
		t.Errorf("%+v lost its cause or code", err)
	}
	if (&diag.Error{}).Exit() != diag.Usage {
		t.Error("a mistake without a code is one of usage")
	}
}
