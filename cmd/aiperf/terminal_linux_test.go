package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a terminal in which a shell runs one command line.
type pseudo struct {
	t          *testing.T
	ours, line *os.File // what a person has in hand, and what programs see
	screen     output   // everything that was written to it
	shell      *exec.Cmd
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
	p := &pseudo{t: t, ours: ours, line: line}
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
			if n > 0 {
				_, _ = p.screen.Write(b[:n])
			}
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

func (p *pseudo) size(columns, rows int) {
	if err := unix.IoctlSetWinsize(int(p.ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)}); err != nil {
		p.t.Fatal(err)
	}
}

// until waits for something on the screen, and looks often.
func (p *pseudo) until(what string, seen func(screen string) bool) {
	p.t.Helper()
	give := time.After(patience)
	for look := time.NewTicker(time.Millisecond); ; {
		select {
		case <-give:
			p.t.Fatalf("waited %v for %s\n%q", patience, what, p.screen.String())
		case <-look.C:
			if seen(p.screen.String()) {
				return
			}
		}
	}
}

// shows waits for words.
func (p *pseudo) shows(words string) {
	p.t.Helper()
	p.until(words, func(s string) bool { return strings.Contains(s, words) })
}

// cooked tells whether the terminal takes lines and shows what is typed.
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

const leftAlternate = "\x1b[?1049l"

// modes are what a program switched on (h) and off (l), by number.
var modes = regexp.MustCompile("\x1b\\[\\?(\\d+)([hl])")

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
				write(t, filepath.Join(dir), "plan.lock.json", `{"name":"demo","trials":1,"cells":[{"id":"a","label":"concurrency=1"}],"runs":[{"id":"a-t0","cell":"a","trial":0}]}`)
				line, keys = "aiperf watch .", "q leave"
			}
			p := openTerminal(t, 80, 24, nil, dir, `sh -c 'echo pid $$; exec `+line+`'; echo over; cat`)
			p.shows("\x1b[?1049h")
			p.until("a screen", func(s string) bool { return strings.Contains(s, keys) && !p.cooked() })
			pid, err := strconv.Atoi(regexp.MustCompile(`pid (\d+)`).FindStringSubmatch(p.screen.String())[1])
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			p.shows(leftAlternate)
			p.until("a terminal that takes lines", func(string) bool { return p.cooked() })
			p.shows("over")
			state := map[string]string{}
			for _, m := range modes.FindAllStringSubmatch(p.screen.String(), -1) {
				state[m[1]] = m[2]
			}
			for mode, s := range state {
				if (s == "h") != (mode == "25") { // the cursor is shown, all else is off
					t.Errorf("mode %s is left %s", mode, s)
				}
			}
			p.screen.mu.Lock()
			p.screen.b.Reset()
			p.screen.mu.Unlock()
			if _, err := p.ours.WriteString("hello\n"); err != nil {
				t.Fatal(err)
			}
			p.shows("hello\r\nhello\r\n") // typed, and said by cat
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
			p.shows("\x1b[?1049h")
			p.shows("done so far")
			p.shows(leftAlternate)
			p.shows("code 0")
			if s := p.screen.String(); strings.Contains(s, "panic") || strings.Contains(s, "aiperf:") {
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
			p := openTerminal(t, 80, 24, []string{"LC_ALL=C"}, dir, "aiperf run short.yaml --artifact-dir out --ui "+ui+"; echo code $?")
			p.shows("code 0")
			s := p.screen.String()
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
	p := openTerminal(t, 80, 24, []string{"LC_ALL=C"}, dir, "aiperf run steady.yaml --artifact-dir out; echo code $?; cat")
	p.shows("q drain")
	p.shows("sent")
	for i := range 300 {
		p.size(1+i*7%160, 1+i*5%50)
	}
	p.size(100, 30)
	p.screen.mu.Lock()
	p.screen.b.Reset()
	p.screen.mu.Unlock()
	if _, err := p.ours.WriteString("?"); err != nil {
		t.Fatal(err)
	}
	p.shows("the first drains the run")
	if b := []byte(p.screen.String()); bytes.ContainsFunc(b, func(r rune) bool { return r > 0x7e }) {
		t.Errorf("more than ASCII on the screen: %q", b)
	}
	if _, err := p.ours.WriteString("qq"); err != nil {
		t.Fatal(err)
	}
	p.shows(leftAlternate)
	p.shows("code 130")
	if !p.cooked() {
		t.Error("the terminal does not take lines")
	}
}
