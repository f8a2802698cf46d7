package plugin

import (
	"os"
	"strings"
	"sync"

	"aiperf.dev/aiperf/internal/words"
)

// kept is how much is remembered of a program's stderr, in bytes.
const kept = 4 << 10

// tail is the end of what a program prints on stderr, and how it ended.
type tail struct {
	mu   sync.Mutex
	text []byte
	gone chan struct{} // closed when nothing more comes
	left chan struct{} // closed when the program is gone
	code string
	fine bool // it ended without an error
}

func newTail() *tail { return &tail{gone: make(chan struct{}), left: make(chan struct{})} }

// begin reads f to its end.
func (t *tail) begin(f *os.File) {
	go func() {
		defer close(t.gone)
		defer f.Close() //nolint:errcheck // it was only read
		b := make([]byte, kept)
		for {
			n, err := f.Read(b)
			t.mu.Lock()
			t.text = append(t.text, b[:n]...)
			if over := len(t.text) - kept; over > 0 {
				t.text = append(t.text[:0], t.text[over:]...)
			}
			t.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
}

// exit notes how the program ended.
func (t *tail) exit(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.code, t.fine = "without an error", err == nil
	if err != nil {
		t.code = err.Error()
	}
	close(t.left)
}

// wait waits until the program is gone and its stderr read.
func (t *tail) wait() {
	<-t.left
	<-t.gone
}

// how is how the program ended, with the last line that it printed.
func (t *tail) how() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	if last := words.Clip(lines[len(lines)-1], shown); last != "" {
		return t.code + ": " + last
	}
	return t.code
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
