package live

import (
	"io"
	"os"
	"sync"
	"time"

	"aiperf.dev/aiperf/loadgen"
)

// Events writes a plan's progress as NDJSON, and leaves the newest event in a
// file for those who watch the directory. Either may be left out. Its methods
// may be called from any goroutine.
type Events struct {
	mu   sync.Mutex
	w    io.Writer
	file string
	at   Event // what every event says: where the plan is
	now  func() time.Time
}

// NewEvents writes to w, unless it is nil.
func NewEvents(w io.Writer, runs int) *Events {
	return &Events{w: w, at: Event{Runs: runs}, now: time.Now}
}

// File names the file, as soon as the directory is known; "" leaves none.
func (e *Events) File(path string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.file = path
}

// Decided says why a search makes the run that comes next.
func (e *Events) Decided(why, stand string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.at.Why, e.at.Stand = why, stand
}

// Begin says that a run begins.
func (e *Events) Begin(index, cell, trial int, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.at.Index, e.at.Cell, e.at.Trial, e.at.Name = index, cell, trial, name
	x := e.at
	x.Event = "begin"
	e.write(x)
}

// Snapshot says how the run in progress is doing.
func (e *Events) Snapshot(s loadgen.Snapshot) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.at
	x.Event, x.Live = "live", FiguresOf(s)
	e.write(x)
}

// Done says that a run is over.
func (e *Events) Done(d Done, index int, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.write(DoneEvent(d, index, e.at.Runs, name, e.now()))
}

// Close says that the plan is over and removes the file.
func (e *Events) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.at
	x.Event = "end"
	e.write(x)
	if e.file != "" {
		_ = os.Remove(e.file) // it only served those who watch
	}
}

// write is one line, and the file anew. What cannot be shown is not missed.
func (e *Events) write(x Event) {
	x.Time = e.now()
	line := x.Line()
	if e.w != nil {
		_, _ = e.w.Write(line)
	}
	if e.file != "" {
		if os.WriteFile(e.file+".tmp", line, 0o644) == nil {
			_ = os.Rename(e.file+".tmp", e.file)
		}
	}
}
