package header_test

import (
	"testing"

	"aiperf.dev/aiperf/internal/header"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, want string }{
		{"X-Key", "a b\tc; d=é", ""},
		{"Authorization", "Bearer x", ""},
		{"", "x", "a header without a name"},
		{"X Key", "x", `header "X Key": the character ' ' is not allowed in a name`},
		{"X:Key", "x", `header "X:Key": the character ':' is not allowed in a name`},
		{"X-Ü", "x", `header "X-Ü": the character 'Ü' is not allowed in a name`},
		{"X-\xff", "x", `header "X-�": the character '�' is not allowed in a name`},
		{"X\r\nY", "x", `header "X\r\nY": the character '\r' is not allowed in a name`},
		{"X", "a\r\nB: c", `header X: the control character '\r' is not allowed in a value`},
		{"X", "a\nb", `header X: the control character '\n' is not allowed in a value`},
		{"X", "a\x00", `header X: the control character '\x00' is not allowed in a value`},
		{"Content-Length", "1", "header Content-Length: set by the connection itself"},
		{"transfer-encoding", "chunked", "header transfer-encoding: set by the connection itself"},
		{"Connection", "close", "header Connection: set by the connection itself"},
	} {
		got := ""
		if err := header.Check(c.name, c.value); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Check(%q, %q) = %s, want %s", c.name, c.value, got, c.want)
		}
	}
}
