package live

import (
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/term"
)

// GuardWord is the first word of the command line of a guard: this program once
// more, which waits beside a full screen. A process that is killed cannot give
// its terminal back; another one can.
const GuardWord = "__guard-terminal"

// leave brings any terminal back from what a full screen has switched on: keys
// reported in another way, pasting and the mouse reported, output held back, a
// hidden cursor, the alternate screen.
const leave = "\x1b[<u\x1b[>4;0m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l\x1b[?2026l\x1b[?2027l\x1b[0m\x1b[?25h\x1b[?1049l"

// guard is the process that waits.
type guard struct {
	cmd  *exec.Cmd
	done io.WriteCloser // closed without a word when this process dies
}

// guardStart bounds the wait for a guard that is ready: milliseconds, but on a
// machine where hardly anything gets a turn.
const guardStart = 10 * time.Second

// newGuard starts a guard over the terminal; nil where there can be none, which
// is no reason to show nothing.
func newGuard(tty *os.File) *guard {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	cmd := exec.Command(self, GuardWord)
	cmd.Env = []string{} // it needs nothing, and what is secret stays here
	cmd.Stderr, cmd.SysProcAttr = tty, apart()
	done, err := cmd.StdinPipe()
	if err != nil {
		return nil
	}
	ready, err := cmd.StdoutPipe()
	if err != nil {
		return nil
	}
	if cmd.SysProcAttr == nil || cmd.Start() != nil {
		return nil
	}
	g := &guard{cmd, done}
	late := time.AfterFunc(guardStart, func() { _ = cmd.Process.Kill() })
	n, _ := ready.Read(make([]byte, 1))
	if late.Stop(); n == 0 {
		_ = cmd.Wait() // it gave up, or was too slow
		return nil
	}
	return g
}

// dismiss ends the guard: the terminal is as it was.
func (g *guard) dismiss() {
	if g == nil {
		return
	}
	_, _ = g.done.Write([]byte{'\n'})
	_ = g.done.Close()
	_ = g.cmd.Wait()
}

// Guard keeps how the terminal is, says that it is ready, and waits for the
// process behind in. If that ends without a word, the terminal is given back.
func Guard(in io.Reader, ready io.Writer, tty *os.File) {
	was, err := term.GetState(int(tty.Fd()))
	if err != nil {
		return
	}
	owner := foreground(tty)
	deaf()
	if _, err := ready.Write([]byte{'\n'}); err != nil {
		return
	}
	if n, _ := in.Read(make([]byte, 1)); n > 0 {
		return
	}
	// A shell that has taken the terminal back has its own way with it.
	if foreground(tty) == owner {
		_ = term.Restore(int(tty.Fd()), was)
	}
	_, _ = io.WriteString(tty, leave)
}
