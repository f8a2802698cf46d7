package sampled_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"aiperf.dev/aiperf/internal/sampled"
)

// Files that differ in length, at an end or over a stretch have other samples;
// of a file of 20 GiB no more is read than of one of 10 MiB.
func TestFile(t *testing.T) {
	t.Parallel()
	base := bytes.Repeat([]byte("0123456789abcdef"), 10<<16)
	stretch := bytes.Clone(base)
	copy(stretch[5<<20:], make([]byte, 200<<10))
	seen := map[string]string{}
	for name, b := range map[string][]byte{
		"base": base, "longer": append(bytes.Clone(base), 'x'), "first": append([]byte("x"), base[1:]...),
		"last": append(bytes.Clone(base[:len(base)-1]), 'x'), "stretch": stretch, "small": []byte("x"), "empty": nil,
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		var is, again bytes.Buffer
		if err := sampled.File(&is, path); err != nil {
			t.Fatal(err)
		}
		if err := sampled.File(&again, path); err != nil || !bytes.Equal(is.Bytes(), again.Bytes()) {
			t.Errorf("%s: not the same twice, %v", name, err)
		}
		if other, ok := seen[is.String()]; ok {
			t.Errorf("%s and %s are the same", name, other)
		}
		seen[is.String()] = name
	}
	huge := filepath.Join(t.TempDir(), "huge")
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 20<<30); err != nil {
		t.Skip(err)
	}
	var b bytes.Buffer
	if err := sampled.File(&b, huge); err != nil || b.Len() != 8+8<<20 {
		t.Errorf("%d bytes of 20 GiB, %v; want a size and 8 MiB", b.Len(), err)
	}
}
