// Package browser drives a Chromium of this machine: for tests of the pages that
// this program writes, and for the pictures of them in the documentation. In go
// addresses, keys and movements of the mouse; out come what a page says, asks for
// and looks like.
//
// Start finds the browser and starts it without a window, Open shows a page, Close
// ends all. It speaks the DevTools protocol over two pipes: no port is opened.
package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// ErrNone says that there is no browser here: none is installed, or the one that
// is cannot show an empty page.
var ErrNone = errors.New("no Chromium that starts")

// patience bounds the wait for one answer of the browser. Only one that hangs
// reaches it.
const patience = 2 * time.Minute

// Browser is a running Chromium. Its methods are for one goroutine.
type Browser struct {
	home string // its profile
	cmd  *exec.Cmd
	to   io.WriteCloser
	from io.ReadCloser
	over chan struct{} // closed when nothing more will be read

	mu    sync.Mutex
	last  int
	asked map[int]chan answer
	pages map[string]*Page // by session
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// Start starts the browser. ErrNone is a reason to do without; any other error
// is not.
func Start() (*Browser, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		exe, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		b, err := start(exe)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrNone, exe, err)
		}
		return b, nil
	}
	return nil, ErrNone
}

func start(exe string) (*Browser, error) {
	home, err := os.MkdirTemp("", "browser")
	if err != nil {
		return nil, err
	}
	theirIn, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, theirOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b := &Browser{
		home: home, to: to, from: from, over: make(chan struct{}), asked: map[int]chan answer{},
		pages: map[string]*Page{},
	}
	// No sandbox, because tests may be root's; no network, because pages of ours
	// need none.
	b.cmd = exec.Command(exe, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND",
		"--user-data-dir="+home, "--remote-debugging-pipe", "about:blank")
	b.cmd.Env = append(os.Environ(), "HOME="+home)
	b.cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4, as it expects them
	err = b.cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		to.Close()
		from.Close()
		return nil, errors.Join(err, os.RemoveAll(home))
	}
	go b.listen()
	if err := b.works(); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// works shows a page that cannot be wrong.
func (b *Browser) works() error {
	p, err := b.Open("data:text/html,<title>it%20starts</title>", View{Width: 200, Height: 200})
	if err != nil {
		return err
	}
	var title string
	if err := p.Eval("document.title", &title); err != nil {
		return err
	}
	if title != "it starts" {
		return fmt.Errorf("the title of an empty page is %q", title)
	}
	return p.Close()
}

// Close ends the browser and removes its profile.
func (b *Browser) Close() {
	b.to.Close() // it ends when nobody can ask any more
	done := make(chan struct{})
	go func() {
		_ = b.cmd.Wait() // how it ended does not matter
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		_ = b.cmd.Process.Kill()
		<-done
	}
	b.from.Close()
	<-b.over
	_ = os.RemoveAll(b.home) // a helper process may still write there
}

// listen hands answers to those who asked and events to their pages.
func (b *Browser) listen() {
	defer close(b.over)
	d := &messages{r: b.from}
	for {
		text, err := d.next()
		if err != nil {
			return
		}
		var m struct {
			answer
			ID        int
			SessionID string
			Method    string
			Params    json.RawMessage
		}
		if json.Unmarshal(text, &m) != nil {
			continue
		}
		b.mu.Lock()
		asked, page := b.asked[m.ID], b.pages[m.SessionID]
		delete(b.asked, m.ID)
		b.mu.Unlock()
		switch {
		case asked != nil:
			asked <- m.answer
		case page != nil && m.Method != "":
			page.heard(m.Method, m.Params)
		}
	}
}

// messages are the texts of a stream, each with a zero byte behind it.
type messages struct {
	r    io.Reader
	rest []byte
}

func (d *messages) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(d.rest, 0); i >= 0 {
			m := d.rest[:i]
			d.rest = d.rest[i+1:]
			return m, nil
		}
		part := make([]byte, 64<<10)
		n, err := d.r.Read(part)
		if n == 0 && err != nil {
			return nil, err
		}
		d.rest = append(d.rest[:len(d.rest):len(d.rest)], part[:n]...)
	}
}

// ask sends a command to a session, "" for the browser itself, and decodes the
// answer into to, unless that is nil.
func (b *Browser) ask(session, method string, params, to any) error {
	reply := make(chan answer, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.asked[id] = reply
	b.mu.Unlock()
	text, err := json.Marshal(struct {
		ID      int    `json:"id"`
		Session string `json:"sessionId,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}{id, session, method, params})
	if err != nil {
		return err
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	select {
	case a := <-reply:
		if a.Error != nil {
			return fmt.Errorf("%s: %s", method, a.Error.Message)
		}
		if to == nil {
			return nil
		}
		return json.Unmarshal(a.Result, to)
	case <-b.over:
		return fmt.Errorf("%s: the browser ended", method)
	case <-ctx.Done():
		return fmt.Errorf("%s: no answer in %v", method, patience)
	}
}
