package faults

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	server "aiperf.dev/aiperf/internal/faultserver"
)

// onCore0 becomes its arguments on one core.
func onCore0() {
	var set unix.CPUSet
	set.Set(0)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		os.Exit(99)
	}
	syscall.Exec(os.Args[1], os.Args[1:], os.Environ()) //nolint:errcheck // it does not return
	os.Exit(99)
}

// hog keeps that core busy until its standard input is closed.
func hog() {
	var set unix.CPUSet
	set.Set(0)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		os.Exit(99)
	}
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // it ends in any way
		os.Exit(0)
	}()
	for {
		continue
	}
}

// verdicts are the checks of a finished program: id → verdict.
func (p *program) verdicts() map[string]string {
	p.t.Helper()
	out := map[string]string{}
	for _, row := range p.table("checks") {
		out[row["check"]] = row["verdict"]
	}
	return out
}

// figures are the requests' figures in a column, in order of the table.
func (p *program) figures(column string) (all []float64) {
	p.t.Helper()
	for _, row := range p.table("requests") {
		v, err := strconv.ParseFloat(row[column], 64)
		if err != nil {
			p.t.Fatalf("%s of a request is %q", column, row[column])
		}
		all = append(all, v)
	}
	return all
}

// A program that is stopped in the middle of its run and goes on sends late
// what was due meanwhile. Nothing is lost, the latency from the intended time
// shows it, and the run is INVALID because of the machine that stood still.
func TestStoppedProgramIsInvalid(t *testing.T) {
	t.Parallel()
	const rate, n, at = 100, 120, 30
	var got calls
	reached, stopped := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := server.Start(t, server.Script{server.Loop(got.read, func(*server.Conn) bool {
		if got.n.Load() >= at { // from here on nothing is answered until the client is stopped
			once.Do(func() { close(reached) })
			<-stopped
		}
		return true
	}, server.Send(good()))})
	p := start(t, t.TempDir(), nil, profiling(s.URL(), "--request-rate", strconv.Itoa(rate), "--arrival-pattern",
		"constant", "--request-count", strconv.Itoa(n))...)
	<-reached
	stop(t, p.Process.Pid)
	close(stopped)
	const away = 400 * time.Millisecond
	<-time.After(away) // as long as it is stopped at least
	if err := p.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.exit(0, 4)
	if ended := p.ended(); ended["ok"] != n || got.n.Load() != n {
		t.Errorf("requests ended as %v, the server read %d; want %d ok", ended, got.n.Load(), n)
	}
	if v := p.verdicts(); v["hiccup"] != "note" {
		t.Errorf("the checks say %v, want hiccup to be noted", v)
	}
	// Of those due in 400 ms, the first waited for all of them and the last for
	// hardly anything; by itself each was answered at once.
	most := 0.0
	service := p.figures("latency_ms")
	for i, ms := range p.figures("latency_from_intended_ms") {
		most = max(most, ms-service[i])
	}
	if least := away.Seconds()*1e3 - 1e3/rate; most < least {
		t.Errorf("at most %v ms from the intended time to sending, want %v or more", most, least)
	}
}

// A program that shares its core with others says so: they take its time.
func TestBusyCoreIsNotValid(t *testing.T) {
	t.Parallel()
	for range 3 {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), role+"=hog")
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()
			c.Wait() //nolint:errcheck // it has ended
		})
	}
	var got calls
	s := server.Start(t, server.Script{server.Loop(got.read, server.Send(good()))})
	p := start(t, t.TempDir(), func(c *exec.Cmd) {
		c.Env = append(c.Env, role+"=on core 0")
		c.Args = append([]string{os.Args[0], c.Path}, c.Args[1:]...)
		c.Path = os.Args[0]
	}, profiling(s.URL(), "--concurrency", "4", "--request-count", "400")...)
	p.exit(0, 4)
	if v := p.verdicts(); v["run_delay"] != "note" {
		t.Errorf("the checks say %v, want run_delay to be noted", v)
	}
	if ended := p.ended(); ended["ok"] != 400 {
		t.Errorf("requests ended as %v, want 400 ok", ended)
	}
}

// Results that cannot be written are said before anything is sent.
func TestResultsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	var got calls
	s := server.Start(t, server.Script{server.Loop(got.read, server.Send(good()))})
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, file+"/results", nil, profiling(s.URL(), "--request-count", "4")...)
	p.exit(1, 2)
	if out := flat(p.stderr.String()); !strings.Contains(out, file) || !strings.Contains(out, "hint: ") ||
		got.n.Load() != 0 {
		t.Errorf("%d requests were sent; said:\n%s", got.n.Load(), out)
	}
}
