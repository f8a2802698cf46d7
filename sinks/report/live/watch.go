package live

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/forecast"
)

// Watcher reads a result directory that another process fills, or filled.
type Watcher struct {
	dir     string
	reports *resultdir.Reports
	state   *State
	runs    []resultdir.LockRun
	cells   map[string]int // number of a cell by its id
	index   map[string]int // of a run in the order of execution
	seen    int64          // bytes of the journal that were taken in
	last    time.Time      // of the newest snapshot
	noted   time.Time      // of the newest line of the journal
	begun   time.Time      // when the plan was written down
	spent   time.Duration  // by the processes before this one
	held    func() bool    // whether a process fills the directory
}

// NewWatcher opens a directory; held reports whether a process fills it, as far as
// can be known here. The error says what is missing there.
func NewWatcher(dir string, held func() bool) (*Watcher, error) {
	lock, err := resultdir.ReadLock(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("%s: no plan was begun there", dir)
	}
	if err != nil {
		return nil, err
	}
	begun, err := os.Stat(filepath.Join(dir, resultdir.LockName))
	if err != nil {
		return nil, err
	}
	w := &Watcher{
		dir: dir, reports: resultdir.ReportsOf(dir), held: held, begun: begun.ModTime(), runs: lock.Runs,
		cells: map[string]int{}, index: map[string]int{},
	}
	p := Plan{Name: lock.Name, Trials: lock.Trials}
	for i, c := range lock.Cells {
		w.cells[c.ID] = i
		p.Cells = append(p.Cells, Cell{cmp.Or(c.Short, c.Label), c.Work})
	}
	for i, r := range lock.Runs {
		w.index[r.ID] = i
		p.Runs = append(p.Runs, forecast.Run{Cell: w.cells[r.Cell]})
	}
	w.state = New(p, time.Now())
	w.Next(w.state)
	return w, nil
}

// Next takes in what is new; true when the plan is over and nothing will follow.
func (w *Watcher) Next(s *State) bool {
	w.journal(s)
	if w.over(s) {
		return true
	}
	var e Event
	if b, err := os.ReadFile(filepath.Join(w.dir, resultdir.LiveName)); err == nil && json.Unmarshal(b, &e) == nil &&
		e.Time.After(w.last) && e.Live != nil {
		w.last = e.Time
		if s.index != e.Index || !s.alive {
			s.Begin(e.Index, e.Cell, e.Trial, e.Time)
		}
		s.Snapshot(e.Live.Snapshot())
	}
	w.silence(s, time.Now())
	return false
}

// quiet is how long a plan at work may write nothing: it does so twice a second,
// but a machine may be busy, and a shared file system slow.
const quiet = 10 * time.Second

// silence tells s whether the process that filled the directory has gone. It asks
// for the holder only of a plan that has been quiet.
func (w *Watcher) silence(s *State, now time.Time) {
	last := w.noted
	if last.IsZero() { // it was killed before its first line
		last = w.begun
	}
	if w.last.After(last) {
		last = w.last
	}
	if s.silent = (time.Time{}); now.Sub(last) > quiet && !w.held() {
		s.silent = last
	}
}

// over reports whether the plan has ended, and s how: its manifest is written last.
func (w *Watcher) over(s *State) bool {
	b, err := os.ReadFile(filepath.Join(w.dir, resultdir.ManifestName))
	if err != nil {
		return false
	}
	m := resultdir.Manifest{Verdict: s.verdict}
	_ = json.Unmarshal(b, &m) // one that says nothing is still the end
	s.Over(m.Verdict, m.Interrupted, w.spent+max(w.noted.Sub(s.began), 0))
	return true
}

// journal takes in the whole lines that were added.
func (w *Watcher) journal(s *State) {
	f, err := os.Open(filepath.Join(w.dir, resultdir.JournalName))
	if err != nil {
		return
	}
	defer f.Close()
	if _, err := f.Seek(w.seen, io.SeekStart); err != nil {
		return
	}
	const most = 64 << 20
	b, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return
	}
	end := bytes.LastIndexByte(b, '\n') + 1
	for line := range bytes.Lines(b[:end]) {
		w.event(s, line)
	}
	w.seen += int64(end)
}

func (w *Watcher) event(s *State, line []byte) {
	var e resultdir.Event
	if json.Unmarshal(line, &e) != nil {
		return
	}
	i, known := w.index[e.Run]
	if !known && e.Event == "start" { // the plan does not list it
		i, known = len(w.runs), true
		w.index[e.Run], w.runs = i, append(w.runs, resultdir.LockRun{ID: e.Run, Cell: e.Cell, Trial: e.Trial})
	}
	switch e.Event {
	case "begin": // once more after a resume: what was done counts on
		if !w.noted.IsZero() {
			w.spent += max(w.noted.Sub(s.began), 0)
		}
		s.began = e.Time
	case "cell":
		if e.Made != nil {
			c := *e.Made
			if _, listed := w.cells[c.ID]; !listed {
				w.cells[c.ID] = len(w.cells)
			}
			s.Know(w.cells[c.ID], Cell{cmp.Or(c.Short, c.Label), c.Work})
		}
	case "decision":
		if !e.Spared {
			s.Decided(e.Why, e.Standing)
		}
	case "start":
		if known {
			s.Begin(i, w.cell(i), w.runs[i].Trial, e.Time)
		}
	case "done", "failed":
		if known {
			d := w.done(i, e.Dir)
			d.Err = e.Error
			s.End(d, e.Time)
			s.index = i + 1
		}
	case "interrupted":
		s.Say("interrupted")
	}
	w.noted = e.Time
}

// cell is the number of a run's cell, -1 for one that the plan does not list.
func (w *Watcher) cell(i int) int {
	if c, ok := w.cells[w.runs[i].Cell]; ok {
		return c
	}
	return -1
}

// done reads what a finished run says about itself.
func (w *Watcher) done(i int, dir string) Done {
	d := Done{Cell: w.cell(i), Trial: w.runs[i].Trial}
	var run struct {
		Verdict validity.Verdict   `json:"verdict"`
		Figures map[string]float64 `json:"figures"`
		Phases  []struct {
			Warmup bool  `json:"warmup"`
			Failed int64 `json:"failed"`
		} `json:"phases"`
	}
	_ = w.reports.Read(w.runs[i].ID, filepath.FromSlash(dir), &run) // one that cannot be read says nothing
	d.Verdict, d.Figures = run.Verdict, run.Figures
	for _, p := range run.Phases {
		if !p.Warmup {
			d.Failed += p.Failed
		}
	}
	return d
}

// State is what was read so far.
func (w *Watcher) State() *State { return w.state }

// Watch shows the directory on a terminal until q, or until ctx ends, as it does
// when the terminal goes away.
func (w *Watcher) Watch(ctx context.Context, in, out *os.File) error {
	m := &model{state: w.state, clock: time.Now, next: w.Next, ascii: words.ASCIITerminal(os.Getenv)}
	g := newGuard(out)
	defer g.dismiss()
	_, err := tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(out), tea.WithContext(ctx)).Run()
	if err != nil && !errors.Is(err, tea.ErrInterrupted) && ctx.Err() == nil {
		return err
	}
	return nil
}
