package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/diag"
)

// process is aiperf as a child of this test, with its output so far.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	out   output
	err   output
	ended chan struct{} // closed when it has been waited for
}

// output may be read while the child writes.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// aiperf starts the program in dir. TestMain has put it on the path.
func aiperf(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	return aiperfWith(t, dir, nil, args...)
}

// aiperfWith is aiperf with more variables in its environment.
func aiperfWith(t *testing.T, dir string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command("aiperf", args...), ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, &p.out, &p.err
	// what this machine has fetched is not the test's
	p.cmd.Env = append(os.Environ(), "HF_HOME="+filepath.Join(dir, "no-hub"), "HF_HUB_CACHE=")
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.SysProcAttr = ownGroup()
	p.run()
	return p
}

// run starts the child, which ends with the test.
func (p *process) run() {
	p.t.Helper()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in ProcessState
		close(p.ended)
	}()
	p.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
}

// patience bounds every wait of these tests. It is never reached but by a
// program that hangs.
const patience = 2 * time.Minute

// until waits for something that the program does, and looks often. It is
// false if the program ended first.
func (p *process) until(what string, seen func() bool) bool {
	p.t.Helper()
	give := time.After(patience)
	for look := time.NewTicker(time.Millisecond); ; {
		if seen() {
			return true
		}
		select {
		case <-p.ended:
			return seen()
		case <-give:
			p.t.Fatalf("waited %v for %s\nstdout:\n%s\nstderr:\n%s", patience, what, &p.out, &p.err)
		case <-look.C:
		}
	}
}

// code waits for the end and returns the exit code, -1 when a signal ended it.
func (p *process) code() diag.Code {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("still running after %v\nstdout:\n%s\nstderr:\n%s", patience, &p.out, &p.err)
	}
	if found := trace.FindString(p.out.String() + p.err.String()); found != "" {
		p.t.Errorf("%v: printed %q\nstderr:\n%s", p.cmd.Args, found, &p.err)
	}
	return diag.Code(p.cmd.ProcessState.ExitCode())
}

// wants checks the exit code.
func (p *process) wants(codes ...diag.Code) {
	p.t.Helper()
	if got := p.code(); !slices.Contains(codes, got) {
		p.t.Fatalf("%v: exit code %d, want one of %v\nstdout:\n%s\nstderr:\n%s", p.cmd.Args, got, codes, &p.out, &p.err)
	}
}

// write puts a file into dir.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// lines counts the complete lines of the files that pattern names.
func lines(pattern string) int {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return 0
	}
	n := 0
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err == nil {
			n += bytes.Count(b, []byte("\n"))
		}
	}
	return n
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// manifest reads what a finished directory says about itself.
func manifest(t *testing.T, dir string) (m struct {
	Verdict     string
	Interrupted bool
	ExitCode    diag.Code `json:"exit_code"`
},
) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// rows are the named columns of DIR/table.csv, one sorted line per row.
func rows(t *testing.T, dir, table string, columns ...string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, table+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	head, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	var at []int
	for _, c := range columns {
		i := slices.Index(head, c)
		if i < 0 {
			t.Fatalf("%s has no column %s", table, c)
		}
		at = append(at, i)
	}
	var out []string
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var cells []string
		for _, i := range at {
			cells = append(cells, row[i])
		}
		out = append(out, strings.Join(cells, " "))
	}
	slices.Sort(out)
	return out
}

// childrenOf lists the processes whose parent is pid, where /proc tells.
func childrenOf(pid int) []int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	var out []int
	for _, path := range stats {
		if ppid, _, ok := statOf(path); ok && ppid == pid {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err == nil {
				out = append(out, child)
			}
		}
	}
	return out
}

// gone reports whether pid has ended; a zombie has.
func gone(pid int) bool {
	_, state, ok := statOf(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return !ok || state == "Z" || state == "X"
}

// statOf reads parent and state from "pid (name) state ppid …".
func statOf(path string) (ppid int, state string, ok bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, "", false
	}
	_, after, found := strings.Cut(string(b), ") ")
	f := strings.Fields(after)
	if !found || len(f) < 2 {
		return 0, "", false
	}
	ppid, err = strconv.Atoi(f[1])
	return ppid, f[0], err == nil
}
