package acceptance

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// program builds aiperf once for all tests and returns its path.
var program = sync.OnceValues(func() (string, error) {
	exe := filepath.Join(home, "aiperf")
	out, err := exec.Command("go", "build", "-o", exe, "../../cmd/aiperf").CombinedOutput()
	if err != nil {
		err = errors.New(string(out))
	}
	return exe, err
})

var home string // where program puts it

func TestMain(m *testing.M) {
	var err error
	if home, err = os.MkdirTemp("", "aiperf-acceptance"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

func built(t *testing.T) string {
	t.Helper()
	exe, err := program()
	if err != nil {
		t.Fatalf("go build ./cmd/aiperf: %v", err)
	}
	return exe
}

// measure runs aiperf and returns what it printed. Exit codes 3 and 4 are
// accepted, because the results are there: 3 is about gates, and 4 about this
// machine, which may be busy with other tests.
func measure(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(built(t), args...)
	cmd.Dir = repository(t)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3 && exit.ExitCode() != 4) {
		t.Fatalf("aiperf %s: %v\n%s%s", strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.Bytes()
}

// result is what --output json prints, as far as these tests read it.
type result struct {
	Dir    string
	Sent   int
	Failed int
	Checks []struct{ Check string }
	Cells  []struct {
		Label   string
		Point   map[string]any
		Trials  int
		Window  string
		Metrics map[string]map[string]struct {
			Mean      float64
			Low, High *float64
		}
		Gates []struct {
			Gate string
			Held bool
		}
	}
}

// run is measure for a matrix, with its printed result.
func run(t *testing.T, args ...string) result {
	t.Helper()
	out := measure(t, append(append([]string{"run"}, args...), "--output", "json")...)
	var r result
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return r
}

func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// python makes or finds an environment with the packages that the script
// internal/repo/venv.sh is told to install. Without python3 the test is
// skipped on a desk and fails in CI.
func python(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("internal/repo/venv.sh", args...)
	cmd.Dir = repository(t)
	var hints strings.Builder
	cmd.Stderr = &hints
	out, err := cmd.Output()
	exe := strings.TrimSpace(string(out))
	switch {
	case err == nil && exe != "":
		return exe
	case os.Getenv("CI") != "":
		t.Fatalf("python3 with a package index is needed in CI: venv.sh: %v\n%s", err, &hints)
	}
	t.Skipf("no Python environment: %v %s", err, &hints)
	return ""
}

// lines decodes a file of JSON lines.
func lines[T any](t *testing.T, path string) []T {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
		var v T
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, v)
	}
	return all
}
