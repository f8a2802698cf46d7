package acceptance

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/verdict"
)

// A starved client tells the truth about the server, because the kernel dates
// what arrives, and doubts itself, for the right reason. The faults are done
// to the client alone: the server is no child of its, and has the other cores.

// away is how long the client is stopped.
const away = 500 * time.Millisecond

// Stopped in the middle of its streams and let go on.
func TestStoppedClient(t *testing.T) {
	t.Parallel()
	rep, doubts := starve(t, hardship{stopped: true})
	if f := check(t, rep, "hiccup"); !f.Noted {
		doubts = append(doubts, fmt.Sprintf("stopped for %v: %s", away, f.Line()))
	}
	// or it had just finished measuring: only a quiet machine stops it in time
	if longest := stoodStill(rep); longest < 0.9*ms(int64(away)) {
		doubts = append(doubts, fmt.Sprintf("stopped for %v: longest hiccup %v ms", away, longest))
	}
	judge(t, doubts)
	rep, doubts = starve(t, hardship{})
	if longest := stoodStill(rep); longest >= 0.9*ms(int64(away)) {
		doubts = append(doubts, fmt.Sprintf("not stopped: longest hiccup %v ms", longest))
	}
	judge(t, doubts)
}

// All of the client on one core, beside processes that do nothing but compute.
// Not beside other tests: they would not like it.
func TestClientOnABusyCore(t *testing.T) {
	rep, doubts := starve(t, hardship{beside: 2})
	if f := check(t, rep, "run_delay"); !f.Noted || !strings.HasPrefix(f.Detail, "the CPU was full") {
		doubts = append(doubts, "beside two processes that compute: "+f.Line())
	}
	judge(t, doubts)
}

// hardship is what is done to the client.
type hardship struct {
	stopped bool // once, when requests have come back
	beside  int  // processes that compute on the client's only core; 0: it has all cores
}

// starve measures a server that keeps a log, and holds the client's numbers
// against it: what is returned are the client's account of itself and doubts.
func starve(t *testing.T, h hardship) (*runner.RunReport, []string) {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	doubts := witnessed(t, "mock:?ttft=20ms&itl=5ms&jitter=0.3", true, []string{
		"--streaming", "--concurrency", "4",
		"--request-count", "48",
	}, dir, func(args []string) {
		cmd := exec.Command(built(t), args...)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		spinning := start(t, cmd, h.beside)
		if h.stopped {
			grown(t, filepath.Join(out, "stream.arrow"))
			signal(t, cmd.Process, syscall.SIGSTOP)
			<-time.After(away) // the fault itself
			signal(t, cmd.Process, syscall.SIGCONT)
		}
		err := cmd.Wait()
		for _, p := range spinning {
			signal(t, p, syscall.SIGKILL)
		}
		if err != nil && cmd.ProcessState.ExitCode() != 4 {
			t.Fatalf("%v\n%s", err, &said)
		}
	})
	reports, err := runner.Reports(out)
	if err != nil || len(reports) != 1 {
		t.Fatalf("%d reports: %v", len(reports), err)
	}
	if reports[0].Stamps != "kernel" {
		t.Skip("no kernel stamps here")
	}
	return reports[0], doubts
}

// start starts cmd; beside others, on one core with them.
func start(t *testing.T, cmd *exec.Cmd, beside int) (spinning []*os.Process) {
	t.Helper()
	if beside == 0 {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return nil
	}
	runtime.LockOSThread() // what this thread starts runs where it may run
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	core := 0
	for !all.IsSet(core) {
		core++
	}
	one.Set(core)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Skipf("a process cannot be put on a core here: %v", err)
	}
	defer unix.SchedSetaffinity(0, &all) //nolint:errcheck // it was so before
	for range beside {
		c := exec.Command("sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			c.Process.Kill() //nolint:errcheck // it has ended with the client, or was never needed
			c.Wait()         //nolint:errcheck // it was killed
		})
		spinning = append(spinning, c.Process)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return spinning
}

// grown returns when the journal holds records beyond its head: the run is in
// its midst.
func grown(t *testing.T, journal string) {
	t.Helper()
	head := int64(0)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		info, err := os.Stat(journal)
		switch {
		case time.Now().After(deadline):
			t.Fatal("the journal does not grow")
		case err != nil || info.Size() == 0:
		case head == 0:
			head = info.Size()
		case info.Size() > head:
			return
		}
	}
}

func signal(t *testing.T, p *os.Process, s syscall.Signal) {
	t.Helper()
	if err := p.Signal(s); err != nil {
		t.Fatalf("%v: %v", s, err)
	}
}

// stoodStill is the client's longest hiccup, in ms.
func stoodStill(rep *runner.RunReport) float64 {
	if rep.Host.HiccupMax == nil {
		return 0
	}
	return *rep.Host.HiccupMax
}

// check is what a check found.
func check(t *testing.T, rep *runner.RunReport, id string) verdict.Finding {
	t.Helper()
	for _, f := range rep.Findings {
		if f.Check == id {
			return f
		}
	}
	t.Fatalf("%s does not apply", id)
	return verdict.Finding{}
}
