package language

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"cuelang.org/go/cmd/cue/cmd"
	"github.com/rogpeppe/go-internal/testscript"

	"aiperf.dev/aiperf/schema"
)

// TestMain makes this test binary the command cue when it is called by that
// name: the very version that the program is built with, and nothing to install.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"cue": func() { os.Exit(cmd.Main()) }})
}

// root is the repository.
const root = "../.."

// cueCommand runs the command in dir, without a network, and returns what it said.
func cueCommand(t *testing.T, dir string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return cueCommandWith(t, dir, []string{"CUE_REGISTRY=none", "CUE_CACHE_DIR=" + filepath.Join(dir, ".cache")},
		args...)
}

// cueCommandWith runs the command with an environment of its own.
func cueCommandWith(t *testing.T, dir string, env []string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	c := exec.Command("cue", args...)
	var out, errs bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = dir, &out, &errs
	c.Env = append(os.Environ(), env...)
	err = c.Run()
	return out.String(), errs.String(), err
}

// vendored is a new folder with the published schema beside it.
func vendored(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := schema.Vendor(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
