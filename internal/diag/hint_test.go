package diag_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// A caller that says where it was keeps what the error below says to try.
func TestHintsAreKeptOnTheWay(t *testing.T) {
	t.Parallel()
	below := diag.Errorf("open %s: %w", "x", fs.ErrNotExist).Try("write one")
	err := fmt.Errorf("line 7: %w", below)
	e := diag.Of(err)
	if e.Error() != "line 7: open x: file does not exist" || e.Hint != "write one" || e.Exit() != diag.Failed {
		t.Errorf("%+v", e)
	}
	if !errors.Is(e, fs.ErrNotExist) {
		t.Errorf("%v lost its cause", e)
	}
	if got, want := diag.Line(err), "line 7: open x: file does not exist; hint: write one"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if diag.Of(below) != below {
		t.Error("a mistake is not itself")
	}
}

func TestErrorsOfOthersHaveNoHint(t *testing.T) {
	t.Parallel()
	err := errors.New("disk on fire")
	if e := diag.Of(err); e.Error() != err.Error() || e.Hint != "" || e.Exit() != diag.Failed || !errors.Is(e, err) {
		t.Errorf("%+v", e)
	}
	if got := diag.Line(err); got != "disk on fire" {
		t.Errorf("%q", got)
	}
}
