package plugin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"
)

const (
	// maxLine bounds one line from a program, in bytes.
	maxLine = 16 << 20
	// farewell is how long a program may take to end once nobody asks it any more.
	farewell = 2 * time.Second
	// shown is how much is repeated of what a program printed.
	shown = 200
)

// Process is a running program. It is safe for concurrent use: whoever asks waits for
// their own answer only, and several questions may be under way.
type Process struct {
	m    *Manifest
	hide *secret.Masker
	kill func() // the program and all that it started
	said *tail  // its stderr

	write sync.Mutex // one line at a time
	in    *os.File

	mu      sync.Mutex
	last    int64 // id of the last question
	waiting map[int64]asked
	why     *diag.Error // why it is asked no more
	spent   bool        // it ended by itself, without an error, when nobody asked it anything

	over  chan struct{} // closed when why is set
	ended chan struct{} // closed when the program is gone and its output read
	leave func() bool   // ends the watch over the context
}

// asked is an open question.
type asked struct {
	lines chan []byte
	one   bool // it has one answer of one line
}

// envelope is what every line has.
type envelope struct {
	ID    int64  `json:"id"`
	Done  bool   `json:"done"`  // of several lines, the last
	Error string `json:"error"` // instead of an answer
}

// hello is the first line of both sides.
type hello struct {
	Protocol int    `json:"aiperf"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Version  string `json:"version,omitempty"` // the program's
}

// start starts the program and shakes hands with it.
func start(ctx context.Context, m *Manifest, hide *secret.Masker) (*Process, error) {
	path, err := m.program()
	if err != nil {
		return nil, err
	}
	p := &Process{
		m: m, hide: hide, said: newTail(), waiting: map[int64]asked{},
		over: make(chan struct{}), ended: make(chan struct{}), leave: func() bool { return true },
	}
	out, err := p.run(path)
	if err != nil {
		return nil, diag.New(fmt.Sprintf("plug-in %s: %s: %s", m.Name, strings.Join(m.Command, " "), err),
			"it is started in "+m.Folder)
	}
	p.leave = context.AfterFunc(ctx, func() { p.fail("was ended", context.Cause(ctx)) })
	met := make(chan struct{})
	go p.listen(out, met)
	if err := p.greet(met); err != nil {
		p.kill()
		<-p.ended
		return nil, err
	}
	return p, nil
}

// run starts the program in a process group of its own. A goroutine waits for its end,
// and ends then what it left running.
func (p *Process) run(path string) (out *os.File, err error) {
	var files [6]*os.File // read and write ends of in, out and err
	for i := 0; i < len(files); i += 2 {
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(path, p.m.Command[1:]...)
	cmd.Dir = p.m.Folder
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[3], files[5]
	ownGroup(cmd)
	g := &group{cmd: cmd}
	p.kill = g.end
	started := make(chan error)
	go func() {
		// Linux ends a program with the thread that started it: this one stays until then.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		for i := range 3 {
			_ = files[[]int{0, 3, 5}[i]].Close() // the program's own ends
		}
		started <- err
		if err != nil {
			return
		}
		err = cmd.Wait()
		g.over()
		// What it printed before it ended still counts; what somebody else that has its
		// stdout prints does not hold anybody up.
		_ = files[2].SetReadDeadline(time.Now().Add(farewell))
		_ = files[4].SetReadDeadline(time.Now().Add(farewell))
		p.said.exit(err)
	}()
	if err := <-started; err != nil {
		for _, i := range []int{1, 2, 4} {
			_ = files[i].Close()
		}
		return nil, err
	}
	p.in = files[1]
	p.said.begin(files[4])
	return files[2], nil
}

// greet exchanges the first lines.
func (p *Process) greet(met <-chan struct{}) error {
	patience := time.AfterFunc(p.m.Timeout, func() { p.fail("said nothing for "+words.Span(p.m.Timeout), nil) })
	defer patience.Stop()
	if err := p.send(hello{Protocol: Protocol, Kind: p.m.Kind.Name, Name: p.m.Name}); err != nil {
		return err
	}
	select {
	case <-met:
		return nil
	case <-p.over:
		return p.reason()
	}
}

// unlike says what a program's first line says other than the manifest; "" for nothing.
func (p *Process) unlike(line []byte) string {
	var h hello
	if json.Unmarshal(line, &h) != nil || h.Protocol == 0 {
		return "its first line is not the handshake but " + p.quote(line)
	}
	for _, c := range []struct{ what, said, want string }{
		{"protocol", fmt.Sprint(h.Protocol), fmt.Sprint(Protocol)},
		{"kind", h.Kind, p.m.Kind.Name},
		{"name", h.Name, p.m.Name},
		{"version", h.Version, p.m.Version},
	} {
		if c.said != c.want {
			return fmt.Sprintf("its program says that it is of %s %s, and %s says %s", c.what,
				words.Clip(fmt.Sprintf("%q", c.said), 40), ManifestName, c.want)
		}
	}
	return ""
}

// next is the next line for whoever waits; what came before the end counts.
func (p *Process) next(lines <-chan []byte) ([]byte, error) {
	select {
	case line := <-lines:
		return line, nil
	case <-p.over:
	}
	select {
	case line := <-lines:
		return line, nil
	default:
		return nil, p.reason()
	}
}

// send writes one line.
func (p *Process) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	p.write.Lock()
	defer p.write.Unlock()
	if _, err := p.in.Write(append(b, '\n')); err != nil {
		<-p.over // the reader knows better why nobody listens any more
		return p.reason()
	}
	return nil
}

// listen reads lines until the program ends or breaks the protocol.
func (p *Process) listen(out *os.File, met chan<- struct{}) {
	defer close(p.ended)
	defer out.Close() //nolint:errcheck // it was only read
	r := bufio.NewReaderSize(out, 64<<10)
	why := ""
	for n := 1; why == ""; n++ {
		line, err := readLine(r)
		switch {
		case errors.Is(err, errLong):
			why = fmt.Sprintf("line %d of its output is longer than %d MiB", n, maxLine>>20)
		case err != nil:
			p.said.wait()
			why = "its program ended: " + p.said.how()
			p.mu.Lock()
			p.spent = p.said.fine && n > 1 && len(p.waiting) == 0
			p.mu.Unlock()
		case n == 1:
			if why = p.unlike(line); why == "" {
				close(met)
			}
		default:
			why = p.deliver(n, line)
		}
	}
	p.fail(why, nil)
	_, _ = io.Copy(io.Discard, r) // until it is gone
	p.said.wait()
}

var errLong = errors.New("a line too long")

// readLine is the next line without its end. The last one needs none.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, errLong
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(line) == 0:
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

// deliver hands a line to whoever asked, or says why the program is of no more use.
func (p *Process) deliver(n int, line []byte) string {
	var e envelope
	if err := json.Unmarshal(line, &e); err != nil || e.ID == 0 {
		return fmt.Sprintf("line %d of its output is not JSON with an id: %s", n, p.quote(line))
	}
	p.mu.Lock()
	q, open := p.waiting[e.ID]
	if q.one || e.Done || e.Error != "" {
		delete(p.waiting, e.ID)
	}
	p.mu.Unlock()
	if !open {
		return fmt.Sprintf("line %d of its output answers question %d, which is not open", n, e.ID)
	}
	select {
	case q.lines <- line:
		return ""
	case <-p.over:
		return "was ended"
	}
}

func (p *Process) quote(line []byte) string {
	return fmt.Sprintf("%q", words.Clip(p.hide.Cut(string(line[:min(len(line), 4*shown)])), shown))
}

// fail ends the program, and says why from now on. What went wrong first counts.
func (p *Process) fail(why string, cause error) *diag.Error {
	p.mu.Lock()
	if p.why == nil {
		message := why
		if cause != nil {
			message += ": " + cause.Error()
		}
		p.why = diag.Errorf("plug-in %s: %s", p.m.Name, p.hide.Text(words.Line(message)))
		p.why.Cause = cause
		p.why.Hint = "what is not an answer belongs on stderr; aiperf plugins validate " + p.m.Folder + " talks to it"
		close(p.over)
	}
	bad := p.why
	p.mu.Unlock()
	p.kill()
	return bad
}

// reason is why the program is asked no more.
func (p *Process) reason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

// Call asks one question and reads its one answer into out. Members of question are those
// of the line, beside its id.
func (p *Process) Call(question map[string]any, out any) error {
	return p.ask(question, 1, func(line []byte, _ bool) error {
		if err := json.Unmarshal(line, out); err != nil {
			return p.fail("its answer cannot be read: "+err.Error(), nil)
		}
		return nil
	})
}

// Stream asks one question and hands over each line of the answer, until the program says
// that it is done. A line is each's. An error of each ends the program.
func (p *Process) Stream(question map[string]any, each func(line []byte) error) error {
	return p.ask(question, 0, func(line []byte, done bool) error {
		if done {
			return nil
		}
		return each(line)
	})
}

// Refusal is what a program says instead of an answer: it goes on.
type Refusal struct{ Message string }

func (e *Refusal) Error() string { return e.Message }

// ask asks and reads n lines, or, for 0, those up to the last.
func (p *Process) ask(question map[string]any, n int, each func(line []byte, done bool) error) error {
	answer := make(chan []byte, 1)
	p.mu.Lock()
	if p.why != nil {
		defer p.mu.Unlock()
		return p.why
	}
	p.last++
	id := p.last
	p.waiting[id] = asked{answer, n == 1}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.waiting, id)
		p.mu.Unlock()
	}()
	patience := time.AfterFunc(p.m.Timeout, func() {
		p.fail(fmt.Sprintf("did not answer within %s", words.Span(p.m.Timeout)), nil)
	})
	defer patience.Stop()
	line := make(map[string]any, len(question)+1)
	for k, v := range question {
		line[k] = v
	}
	line["id"] = id
	if err := p.send(line); err != nil {
		return err
	}
	for i := 1; ; i++ {
		line, err := p.next(answer)
		if err != nil {
			return err
		}
		var e envelope
		if err := json.Unmarshal(line, &e); err != nil {
			return p.fail("its answer cannot be read: "+err.Error(), nil)
		}
		if e.Error != "" {
			return &Refusal{fmt.Sprintf("plug-in %s: %s", p.m.Name, p.hide.Text(words.Clip(e.Error, shown)))}
		}
		if err := each(line, e.Done); err != nil {
			p.fail("was ended", err)
			return err
		}
		if i == n || n == 0 && e.Done {
			return nil
		}
		patience.Reset(p.m.Timeout)
	}
}

// Stderr is the end of what the program has printed on stderr.
func (p *Process) Stderr() string { return p.hide.Text(p.said.String()) }

// Close ends the program: it is told so by the end of its stdin, and has two seconds.
func (p *Process) Close() error {
	if p == nil {
		return nil
	}
	p.leave()
	p.mu.Lock()
	bad := p.why
	if bad != nil && p.spent {
		bad = nil
	} else if bad == nil {
		p.why = diag.Errorf("plug-in %s: its run is over", p.m.Name)
		close(p.over)
	}
	p.mu.Unlock()
	_ = p.in.Close() // a question under way ends with the program
	late := time.AfterFunc(farewell, p.kill)
	<-p.ended
	late.Stop()
	p.kill()
	if bad != nil {
		return bad
	}
	return nil
}
