package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pseudo is a terminal in which a shell runs one command line.
type pseudo struct {
	t          *testing.T
	ours, line *os.File // what a person has in hand, and what programs see
	shell      *exec.Cmd

	mu      sync.Mutex
	screen  *vt
	said    bytes.Buffer  // every byte that was written to it
	drawn   chan struct{} // closed when more has come, and replaced
	silence bool          // nobody writes to it any more
}

// openTerminal starts words in a shell that has a terminal of its own.
func openTerminal(t *testing.T, columns, rows int, env []string, dir, words string) *pseudo {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo terminals: ", err)
	}
	fd := int(ours.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals: ", err)
	}
	p := &pseudo{t: t, ours: ours, line: line, screen: newVT(columns, rows), drawn: make(chan struct{})}
	p.size(columns, rows)
	p.shell = exec.Command("sh", "-c", words)
	p.shell.Dir, p.shell.Env = dir, append(append(os.Environ(), "TERM=xterm-256color"), env...)
	p.shell.Stdin, p.shell.Stdout, p.shell.Stderr = line, line, line
	p.shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.shell.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 64<<10)
		for {
			n, err := ours.Read(b)
			p.mu.Lock()
			_, _ = p.screen.Write(b[:n])
			p.said.Write(b[:n])
			p.silence = err != nil
			close(p.drawn)
			p.drawn = make(chan struct{})
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-p.shell.Process.Pid, syscall.SIGKILL)
		_ = p.shell.Process.Kill()
		_ = p.shell.Wait()
		line.Close()
		ours.Close()
		<-read
	})
	return p
}

// size makes the window another one, and tells the programs.
func (p *pseudo) size(columns, rows int) {
	p.mu.Lock()
	p.screen.size(columns, rows)
	p.mu.Unlock()
	if err := unix.IoctlSetWinsize(int(p.ours.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Col: uint16(columns), Row: uint16(rows)}); err != nil {
		p.t.Fatal(err)
	}
}

// until waits for something on the screen: it looks whenever something was drawn.
func (p *pseudo) until(what string, seen func(v *vt) bool) {
	p.t.Helper()
	give := time.After(patience)
	for {
		p.mu.Lock()
		is, drawn, silence, strange := seen(p.screen), p.drawn, p.silence, p.screen.strange
		picture := p.screen.String()
		p.mu.Unlock()
		switch {
		case strange != nil:
			p.t.Fatalf("sequences that no terminal test knows: %s", strings.Join(strange, " "))
		case is:
			return
		case silence:
			p.t.Fatalf("nobody writes any more, and there is no %s:\n%s", what, picture)
		}
		select {
		case <-drawn:
		case <-give:
			p.t.Fatalf("waited %v for %s:\n%s\nafter %q", patience, what, picture, tail(p.bytes(), 500))
		}
	}
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// shows waits for words.
func (p *pseudo) shows(words string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%q", words), func(v *vt) bool { return v.shows(words) })
}

// full and ordinary wait for the screen of a program, and of the shell.
func (p *pseudo) full() {
	p.t.Helper()
	p.until("a full screen", func(v *vt) bool { return v.modes[1049] })
}

func (p *pseudo) ordinary() {
	p.t.Helper()
	p.until("the shell's screen", func(v *vt) bool { return !v.modes[1049] })
}

// picture waits for a whole one: its first and its last line are there, and these
// are the lines.
func (p *pseudo) picture(first, last string) (lines []string) {
	p.t.Helper()
	p.until(fmt.Sprintf("a screen from %q to %q", first, last), func(v *vt) bool {
		lines = v.lines()
		return strings.HasPrefix(lines[0], first) && lines[len(lines)-1] == last
	})
	return lines
}

// bytes are all that was written so far.
func (p *pseudo) bytes() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// keys presses them.
func (p *pseudo) keys(keys string) {
	p.t.Helper()
	if _, err := p.ours.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// cooked reports whether the terminal takes lines and shows what is typed.
func (p *pseudo) cooked() bool {
	p.t.Helper()
	st, err := unix.IoctlGetTermios(int(p.line.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return st.Lflag&unix.ICANON != 0 && st.Lflag&unix.ECHO != 0 && st.Oflag&unix.OPOST != 0
}

// steady is a plan that goes on for longer than anybody waits.
const steady = `name: steady
benchmark:
  model: demo
  endpoint: {url: "mock:?ttft=5ms&itl=1ms", streaming: true}
  tokenizer: {name: builtin}
  dataset: {type: synthetic, entries: 4, isl: 16, osl: 4}
  phases: {type: concurrency, concurrency: 2, duration: 300}
sweep: {type: grid, parameters: {concurrency: [1, 2]}}
`

// A program that is killed while it draws leaves its terminal as it was: lines
// are taken and shown, the screen is the ordinary one, and nothing that was
// switched on stays so.
func TestKilledWhileDrawing(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"run", "watch"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "steady.yaml", steady)
			line, keys := "aiperf run steady.yaml --artifact-dir out", "q drain"
			if command == "watch" {
				write(t, filepath.Join(dir), "plan.lock.json",
					`{"name":"demo","trials":1,"cells":[{"id":"a","label":"concurrency=1"}],"runs":[{"id":"a-t0","cell":"a","trial":0}]}`)
				line, keys = "aiperf watch .", "q leave"
			}
			p := openTerminal(t, 80, 24, nil, dir, `sh -c 'echo pid $$; exec `+line+`'; echo over; cat`)
			said := regexp.MustCompile(`pid (\d+)\r\n`)
			p.until("the program's id", func(*vt) bool { return said.MatchString(p.said.String()) })
			pid, err := strconv.Atoi(said.FindStringSubmatch(p.bytes())[1])
			if err != nil {
				t.Fatal(err)
			}
			p.full()
			p.shows(keys)
			if p.cooked() {
				t.Error("a screen is drawn on a terminal that takes lines")
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			p.ordinary()
			// on either screen
			p.until("the shell that goes on", func(*vt) bool { return strings.Contains(p.said.String(), "over") })
			if !p.cooked() {
				t.Error("the terminal takes no lines")
			}
			p.mu.Lock()
			if left := p.screen.left(); left != nil {
				t.Errorf("left behind: %v", left)
			}
			p.mu.Unlock()
			p.keys("hello\n")
			p.until("hello, typed, and said by cat",
				func(v *vt) bool { return strings.Contains(v.String(), "hello\nhello\n") })
		})
	}
}

// brief is a plan that ends by itself: two runs, a second each.
const brief = `name: short
benchmark:
  model: demo
  endpoint: {url: "mock:?ttft=5ms&itl=1ms", streaming: true}
  tokenizer: {name: builtin}
  dataset: {type: synthetic, entries: 4, isl: 16, osl: 4}
  phases: {type: concurrency, concurrency: 2, requests: 100}
sweep: {type: grid, parameters: {concurrency: [1, 2]}}
allow_invalid: true
`

// What takes the result does not take the screen: with nobody behind stdout, or
// nothing at all, the plan is shown, carried out and judged as ever.
func TestScreenWithoutStdout(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"closed": "aiperf run short.yaml --artifact-dir out >&-; echo code $? >&2",
		"gone":   "{ aiperf run short.yaml --artifact-dir out; echo code $? >&2; } | true",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "short.yaml", brief)
			p := openTerminal(t, 80, 24, []string{"LC_ALL=C.UTF-8"}, dir, line)
			p.full()
			p.shows("done so far")
			p.ordinary()
			p.shows("code 0")
			if s := p.bytes(); strings.Contains(s, "panic") || strings.Contains(s, "aiperf:") {
				t.Errorf("the screen has complaints: %q", s)
			}
			for _, file := range []string{"manifest.json", "summary.md", "report.html", "requests.parquet"} {
				if _, err := os.Stat(filepath.Join(dir, "out", file)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Under a locale without UTF-8 a terminal gets nothing but ASCII, from the first
// screen to the last line of the report, whatever the names are.
func TestASCIITerminal(t *testing.T) {
	t.Parallel()
	for _, ui := range []string{"dashboard", "simple"} {
		t.Run(ui, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "short.yaml", strings.Replace(brief, "name: short", "name: kürze-±", 1))
			p := openTerminal(t, 80, 24, []string{"LC_ALL=C"}, dir,
				"aiperf run short.yaml --artifact-dir out --ui "+ui+"; echo code $?")
			p.shows("code 0")
			s := p.bytes()
			if i := strings.IndexFunc(s, func(r rune) bool { return r > 0x7e }); i >= 0 {
				t.Errorf("more than ASCII on the screen: %q", s[max(0, i-60):min(len(s), i+60)])
			}
			if !strings.Contains(s, "k?rze-~") || !strings.Contains(s, "report.html") {
				t.Errorf("no screen, or no report: %q", s)
			}
		})
	}
}

// However fast and small a window becomes, the program draws on, answers keys and
// gives the terminal back. An ASCII locale gets no other characters.
func TestResizeStorm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "steady.yaml", steady)
	p := openTerminal(t, 80, 24, []string{"LC_ALL=C"}, dir,
		"aiperf run steady.yaml --artifact-dir out; echo code $?; cat")
	p.shows("q drain")
	p.shows("sent")
	for i := range 300 {
		p.size(1+i*7%160, 1+i*5%50)
	}
	p.size(100, 30)
	p.picture(" steady   cell 1/2", " q drain and stop   p pause between runs   e errors   l log   ? help")
	p.keys("?")
	p.shows("the first drains the run")
	if b := p.bytes(); strings.ContainsFunc(b, func(r rune) bool { return r > 0x7e }) {
		t.Errorf("more than ASCII on the screen: %q", b)
	}
	p.keys("qq")
	p.ordinary()
	p.shows("code 130")
	if !p.cooked() {
		t.Error("the terminal does not take lines")
	}
}

// windows are sizes of windows, with the last line that each has of a plan that is
// carried out and of one that is watched.
var windows = []struct {
	columns, rows   int
	steers, watches string
}{
	{80, 24, " q drain and stop   p pause between runs   e errors   l log   ? help", " q leave   c cells   e errors   l log   ? help"},
	{150, 45, " q drain and stop   p pause between runs   e errors   l log   ? help", " q leave   c cells   e errors   l log   ? help"},
	{40, 20, " q stop  p pause  e errors  l log  ?", " q leave  c cells  e errors  l log  ?"},
}

// What a plan shows while it is carried out stands whole in any window, and nothing
// else: no line is left of a window that was larger, none is cut.
func TestScreenInWindows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "steady.yaml", strings.Replace(steady, "name: steady", "name: 负载", 1))
	p := openTerminal(t, 80, 24, []string{"LC_ALL=C.UTF-8"}, dir,
		"aiperf run steady.yaml --artifact-dir out; echo code $?; cat")
	for _, i := range []int{0, 1, 2, 0, 2, 1} {
		w := windows[i]
		p.size(w.columns, w.rows)
		p.until(fmt.Sprintf("requests in a window of %d columns", w.columns), func(v *vt) bool {
			lines := v.lines()
			return strings.HasPrefix(lines[0], " 负载") && lines[len(lines)-1] == w.steers && v.shows("sent ") &&
				v.shows("tok/s") && v.shows("no run is done yet")
		})
		p.mu.Lock()
		lines := p.screen.lines()
		p.mu.Unlock()
		// the time since the beginning, and how long it still takes
		if !strings.HasSuffix(lines[0], "s") && !strings.Contains(lines[0], "left") {
			t.Errorf("%d columns: the first line is %q", w.columns, lines[0])
		}
		if strings.Contains(lines[1], "so far") { // no run is done whose verdict it could be
			t.Errorf("%d columns: the second line is %q", w.columns, lines[1])
		}
		body := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "no run is done yet") })
		for _, l := range lines[body+1 : len(lines)-1] {
			if l != "" {
				t.Errorf("%d columns: below the screen stands %q", w.columns, l)
			}
		}
	}
	p.keys("qq")
	p.ordinary()
	p.shows("code 130")
}

// A window shows the same however it became as large as it is.
func TestResizedIsAsOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "short.yaml", strings.Replace(brief, "name: short", "name: 计划", 1))
	made := aiperf(t, dir, "run", "short.yaml", "--artifact-dir", "out", "--ui", "none")
	<-made.ended
	if code := made.cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("run ended with %d: %s", code, made.err.String())
	}
	open := func(i int) *pseudo {
		return openTerminal(t, windows[i].columns, windows[i].rows, []string{"LC_ALL=C.UTF-8"}, dir,
			"aiperf watch out; echo over; cat")
	}
	var fresh [][]string
	for i := range windows {
		fresh = append(fresh, open(i).picture(" 计划", windows[i].watches))
	}
	if l := fresh[0]; !slices.ContainsFunc(l, func(l string) bool { return strings.HasPrefix(l, " concurrency 2") }) {
		t.Errorf("the screen does not show the cells:\n%s", strings.Join(l, "\n"))
	}
	p := open(0)
	for _, i := range []int{1, 2, 1, 0, 2, 0} {
		p.size(windows[i].columns, windows[i].rows)
		p.until(fmt.Sprintf("the screen of %d columns:\n%s\nand not", windows[i].columns, strings.Join(fresh[i], "\n")),
			func(v *vt) bool { return slices.Equal(v.lines(), fresh[i]) })
	}
	p.keys("q")
	p.ordinary()
	p.shows("over")
}

// The three lines of the simple display replace each other also where names take two
// columns a character and the window is narrow.
func TestSimpleDisplayReplacesItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "steady.yaml", strings.Replace(steady, "name: steady", "name: "+strings.Repeat("负载", 12), 1))
	p := openTerminal(t, 40, 24, []string{"LC_ALL=C.UTF-8"}, dir,
		"aiperf run steady.yaml --artifact-dir out --ui simple")
	p.until("a display that came several times and stands once", func(v *vt) bool {
		name := func(l string) bool { return strings.HasPrefix(l, "负载") }
		lines := slices.DeleteFunc(append(slices.Clone(v.main.past), v.lines()...),
			func(l string) bool { return !name(l) })
		return strings.Count(p.said.String(), "\x1b[J") > 4 && len(lines) == 1
	})
	p.keys("\x03")
	p.shows("PARTIAL: interrupted by Ctrl-C")
}
