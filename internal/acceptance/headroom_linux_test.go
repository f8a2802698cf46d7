package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/verdict"
)

// A trial drives a child process over loopback with all that a run has.
func TestTrialOfThisMachine(t *testing.T) {
	t.Parallel()
	short, streams := runner.ShortAnswers(), runner.Streams()
	short.Span, short.Concurrency = 200*time.Millisecond, 4
	streams.Span, streams.Concurrency, streams.OSL = 200*time.Millisecond, 4, 2
	c, err := runner.Calibrate(context.Background(), built(t), "test", short, streams)
	if err != nil {
		t.Fatal(err)
	}
	if c.Short.Requests == 0 || c.Short.Chunks != 0 || !(c.Short.CPU > 0) || !(c.Short.Seconds >= 0.2) {
		t.Errorf("short answers: %+v", c.Short)
	}
	// Four streams of two tokens, 10 ms apart: they are over again and again.
	if c.Streams.Requests < 4 || c.Streams.Chunks < 2*c.Streams.Requests || !(c.Streams.CPU > 0) {
		t.Errorf("streams: %+v", c.Streams)
	}
	if r := c.Ratio(runner.Load{Requests: 1}); !(r > 2) {
		t.Errorf("%v times one request per second", r)
	}
}

// A plan that is large beside the last calibration is tried before it begins:
// one that is far beyond this machine is refused, and measured where that is
// asked for, marked; one that is small is not tried.
func TestHeadroomBeforeARun(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := append(os.Environ(), "XDG_CACHE_HOME="+home, "HOME="+home)
	const capacity = 1000 // requests and chunks for each second of CPU, as a slow machine would have it
	calibrated(t, home, capacity)
	const beyond = "50000000" // requests per second
	cores := runtime.GOMAXPROCS(0)
	for _, c := range []struct {
		name, rate string
		extra      []string
		exit       int
		headroom   string // verdict of the finding; "" for none
	}{
		{"beyond this machine", beyond, nil, 2, ""},
		{"beyond it, and allowed", beyond, []string{"--allow-invalid"}, 0, "noted"},
		{"a third of what was calibrated, far less than there is", strconv.Itoa(capacity * cores / 3), nil, 0, "clean"},
		{"a twentieth", strconv.Itoa(capacity * cores / 20), nil, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "out")
			cmd := exec.Command(built(t), append([]string{
				"profile", "-m", "demo", "-u", "mock:?ttft=1ms", "--tokenizer", "builtin", "--isl", "16", "--osl", "1",
				"--request-rate", c.rate, "--request-rate-mode", "constant", "--request-count", "20", "--artifact-dir", dir,
			}, c.extra...)...)
			cmd.Env = env
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			var exit *exec.ExitError
			if code := cmd.ProcessState.ExitCode(); code != c.exit && code != 4 || err != nil &&
				!errors.As(err, &exit) { // 4: this machine is busy
				t.Fatalf("exit %d (%v), want %d\n%s%s", code, err, c.exit, &stdout, &stderr)
			}
			if c.exit == 2 {
				if said := stderr.String(); !strings.Contains(said, "this machine can drive") ||
					!strings.Contains(said, "--allow-invalid") {
					t.Errorf("refused with\n%s", said)
				}
				if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("a refused plan leaves %s: %v", dir, err)
				}
				return
			}
			f, ok := finding(t, dir, "headroom")
			if ok != (c.headroom != "") || ok && f.Noted != (c.headroom == "noted") {
				t.Errorf("headroom: %+v, %v; want %q", f, ok, c.headroom)
			}
			// findings may leave the line on the client out
			screen := strings.Join(strings.Fields(stdout.String()), " ")
			if ok && strings.Contains(stdout.String(), "\nClient ") && !strings.Contains(screen, " times this load") {
				t.Errorf("the line on the client does not tell the headroom:\n%s", &stdout)
			}
		})
	}
}

// calibrated leaves a calibration of this program in the cache at home.
func calibrated(t *testing.T, home string, perCPU int64) {
	t.Helper()
	out, err := exec.Command(built(t), "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(out)) // aiperf version 1.2.3
	c := runner.Calibration{
		Version: words[len(words)-1], Cores: runtime.GOMAXPROCS(0), When: time.Now(),
		Short:   runner.Trial{Requests: perCPU, Seconds: 1, CPU: 1},
		Streams: runner.Trial{Requests: 1, Chunks: perCPU, Seconds: 1, CPU: 1},
	}
	b, err := json.Marshal(c)
	if err == nil {
		err = os.MkdirAll(filepath.Join(home, "aiperf"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "aiperf", "calibration.json"), b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// finding is what a check found about the only run in dir.
func finding(t *testing.T, dir, check string) (verdict.Finding, bool) {
	t.Helper()
	reports, err := runner.Reports(dir)
	if err != nil || len(reports) != 1 {
		t.Fatalf("%d reports in %s: %v", len(reports), dir, err)
	}
	for _, f := range reports[0].Findings {
		if f.Check == check {
			return f, true
		}
	}
	return verdict.Finding{}, false
}
