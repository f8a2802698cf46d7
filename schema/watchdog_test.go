package schema

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What gets past the scan and grows without bound ends the process with exit
// code 2 and one line, which names the product or comprehension likely at fault.
func TestWatchdog(t *testing.T) {
	if file := os.Getenv("SCHEMA_TEST_BOMB"); file != "" {
		_, err := Load(Source{File: file})
		t.Fatalf("the bomb was read: %v", err)
	}
	t.Parallel()
	file := write(t, "bomb.cue", "package x\nlet a = 1000 * \"xxxxxxxxxx\"\nlet b = 1000 * a\nlet c = 200 * b\n_x: [for i in [1] {c}]\nname: _x[0]\n")
	cmd := exec.Command(os.Args[0], "-test.run=^TestWatchdog$")
	cmd.Env = append(os.Environ(), "SCHEMA_TEST_BOMB="+file)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out),
		"bomb.cue:2:9: needs more than 512 MB to evaluate") {
		t.Errorf("%v\n%s", err, out)
	}
}
