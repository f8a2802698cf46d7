package transport

import (
	"errors"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// An address without a port means port 80, where a model server seldom listens: it says so.
func TestPort80(t *testing.T) {
	t.Parallel()
	var said *diag.Error
	if err := unreachable(&target{name: "http://localhost:80"}, "m", nil); !errors.As(err, &said) ||
		!strings.Contains(said.Hint, "--url http://localhost:8000") {
		t.Errorf("%v", err)
	}
	if err := unreachable(&target{name: "http://localhost:8080"}, "m", nil); !errors.As(err, &said) ||
		strings.Contains(said.Hint, "port 80") {
		t.Errorf("%v", err)
	}
}
