package mockserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

func TestSpawn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "truth.jsonl")
	c, err := Spawn(context.Background(), os.Args[0], "mock:?ttft=1ms&osl=3", path)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, url: c.URL}
	if a := b.post("/v1/completions", `{"model":"m","prompt":"a b"}`); a.status != 200 {
		t.Errorf("completions: %d %s", a.status, a.body)
	}
	if err := c.Stop(); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if _, err := http.Get(c.URL + "/health"); err == nil {
		t.Error("the child answers after Stop")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var e Entry
	if err := json.Unmarshal(raw, &e); err != nil || e.OutTokens != 3 || e.InTokens != 2 || e.WallOffset == 0 {
		t.Errorf("log %s: %v", raw, err)
	}
}

func TestSpawnRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ exe, url, log, want string }{
		{os.Args[0], "mock:?tftt=1ms", "", "did you mean"},
		{"/nowhere/aiperf", "mock:", "", "start mock server"},
		{os.Args[0], "mock:", "/nowhere/truth.jsonl", "no such file"},
	} {
		if _, err := Spawn(context.Background(), c.exe, c.url, c.log); err == nil ||
			!strings.Contains(diag.Line(err), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Spawn(%s, %s, %s) = %v, want one line with %q", c.exe, c.url, c.log, err, c.want)
		}
	}
}

// A child does not outlive a parent that is killed without a chance to say so.
func TestChildDiesWithParent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no SIGKILL")
	}
	parent := exec.Command(os.Args[0], "parent")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	var url string
	if _, err := fmt.Fscan(bufio.NewReader(out), &pid, &url); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatalf("the child does not listen: %v", err)
	}
	defer c.Close()
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	// an idle connection ends when the child does; the test's timeout bounds the wait
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes, want the end", n)
	}
}

func TestServeRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code diag.Code
		want string
	}{
		{[]string{"ttft=1"}, 2, "want a time"},
		{[]string{"mock:?x=1"}, 2, "unknown key"},
		{[]string{"--port", "99999"}, 2, "0 to 65535"},
		{[]string{"--bogus"}, 2, "bogus"},
		{[]string{"--log", "/nowhere/x"}, 1, "no such file"},
		{[]string{"--parent", "1"}, 1, "is gone"},
	} {
		if c.args[0] == "--parent" && (runtime.GOOS != "linux" || os.Getppid() == 1) {
			continue
		}
		err := Serve(context.Background(), c.args, strings.NewReader(""), io.Discard)
		if err == nil || diag.Of(err).Exit() != c.code || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("Serve(%q) = %v; want exit code %d and one line with %q", c.args, err, c.code, c.want)
		}
	}
}

// The end of stdin ends a server that has a parent.
func TestServeEndsWithStdin(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	args := []string{"--parent", fmt.Sprint(os.Getppid()), "--seed", "3", "ttft=1ms"}
	if err := Serve(context.Background(), args, strings.NewReader(""), &out); err != nil ||
		!strings.HasPrefix(out.String(), "listening http://127.0.0.1:") {
		t.Errorf("Serve = %v, %q", err, out.String())
	}
}
