// Package capture stands between clients and an inference server, and writes down what
// passes as a trace that can be replayed: when requests arrive, how long they and their
// answers are, which of them go on with an earlier one, which prompts begin alike.
//
// In go an address and Options, out comes a file of lines in the format mooncake_trace.
// Steps: Open makes the file; Serve passes requests on until it is told to end, and its
// Summary says what was recorded and what could not be. Check holds a second capture,
// taken while the first one was replayed, against it.
//
// A request and its answer pass unchanged, piece by piece: what is kept of them is a copy
// of bounded size. They are read once they are over, away from what passes meanwhile. No
// header line and no address is ever written down.
package capture

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// Text is how much of the texts is kept.
type Text string

// The levels of privacy.
const (
	Keep    Text = "keep"    // the messages themselves, without what looks like a credential
	Hash    Text = "hash"    // lengths, and names of blocks of tokens: equal names, equal beginnings
	Lengths Text = "lengths" // lengths alone
)

// Texts are the levels, for help.
func Texts() []string { return []string{string(Keep), string(Hash), string(Lengths)} }

// Options is what a capture is told.
type Options struct {
	To        *url.URL // the server: scheme, host, and a path that goes before those of requests
	File      string
	Overwrite bool
	Text      Text
	Block     int // tokens that one name stands for
	Tokenizer tokenizer.Tokenizer
	// Limits end the capture once they are reached; 0 is none.
	Requests int64
	Duration time.Duration
	Bytes    int64
	Warn     func(line string) // told at once; every line comes once
}

// What a capture keeps of requests that are not written down yet. Beyond it they pass and
// are counted as not recorded.
const (
	mostBody    = 16 << 20 // of one request
	mostBodies  = 48 << 20 // of all
	mostWaiting = 4096     // requests that are over and not written down yet
)

// Capture records what passes through it.
type Capture struct {
	o     Options
	out   *file
	proxy http.Handler
	began time.Time
	key   [32]byte // of the names of blocks; it is nowhere written down

	gate    sync.RWMutex // of closed: nothing is handed over any more
	closed  bool
	done    chan *exchange
	wait    sync.WaitGroup
	full    chan struct{} // closed when a limit is reached
	filled  sync.Once
	held    atomic.Int64   // bytes of bodies
	words   atomic.Int64   // bytes of answers
	inside  atomic.Int64   // requests that are being answered
	passing sync.WaitGroup // the same
	passed  atomic.Int64   // requests that are not of an inference API

	mu     sync.Mutex // of what follows
	zero   time.Duration
	zeroed bool
	counts counts
	told   map[string]bool
}

// Open makes the file and is ready to serve.
func Open(o Options) (*Capture, error) {
	out, err := create(o.File, o.Overwrite)
	if err != nil {
		return nil, err
	}
	c := &Capture{
		o: o, out: out, began: time.Now(), done: make(chan *exchange, mostWaiting), // see mostWaiting
		full: make(chan struct{}), told: map[string]bool{},
	}
	c.counts.lost = map[string]int64{}
	if _, err := rand.Read(c.key[:]); err != nil {
		return nil, err
	}
	c.proxy = c.forward()
	c.wait.Add(1)
	go func() {
		defer c.wait.Done()
		newRecorder(c).run()
	}()
	return c, nil
}

// now is the time since the capture began.
func (c *Capture) now() time.Duration { return time.Since(c.began) }

// since is at, counted from the first request that was recorded.
func (c *Capture) since(at time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.zeroed {
		c.zero, c.zeroed = at, true
	}
	return max(0, at-c.zero)
}

// hand gives an exchange that is over to be written down; false: it cannot be.
func (c *Capture) hand(e *exchange) bool {
	c.gate.RLock()
	defer c.gate.RUnlock()
	if c.closed {
		return false
	}
	select {
	case c.done <- e:
		return true
	default:
		return false
	}
}

// reached says that a limit is reached.
func (c *Capture) reached() { c.filled.Do(func() { close(c.full) }) }

// lose counts a request of which something is not recorded.
func (c *Capture) lose(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.lost[why]++
}

// warn says a line, once.
func (c *Capture) warn(line string) {
	c.mu.Lock()
	told := c.told[line]
	c.told[line] = true
	c.mu.Unlock()
	if !told && c.o.Warn != nil {
		c.o.Warn(line)
	}
}

// close ends the recording: what is over is written down, in the order of arrival. Nothing
// may pass any more.
func (c *Capture) close() (Summary, error) {
	c.gate.Lock()
	c.closed = true
	close(c.done)
	c.gate.Unlock()
	c.wait.Wait()
	err := c.out.finish()
	return c.summary(), err
}

// create makes the file. What passes may be personal: nobody else reads it.
func create(path string, overwrite bool) (*file, error) {
	flags := os.O_RDWR | os.O_CREATE | os.O_EXCL
	if overwrite {
		flags = os.O_RDWR | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if os.IsExist(err) {
		return nil, diag.New(path+": exists already", "another name, or --overwrite")
	}
	if err != nil {
		return nil, diag.New(fmt.Sprintf("cannot write the trace: %v", err), "-o names a file in a folder that exists")
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, diag.New(path+": not a regular file", "a trace is put in order at the end: name a file")
	}
	return &file{path: path, f: f}, nil
}
