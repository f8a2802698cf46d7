package live

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
)

// Screen is the full-screen view on a terminal. Its methods may be called from
// any goroutine; drawing never holds up the caller.
type Screen struct {
	program *tea.Program
	guard   *guard
	ended   chan struct{}

	mu     sync.Mutex
	going  *sync.Cond // told when paused changes or the screen ends
	paused bool
	over   bool
}

// Open takes the terminal over. stop is called for each q and Ctrl-C: the
// first asks to drain, the second to stop.
func Open(in, out *os.File, p Plan, stop func()) *Screen {
	s := &Screen{ended: make(chan struct{}), guard: newGuard(out)}
	s.going = sync.NewCond(&s.mu)
	m := &model{
		state: New(p, time.Now()), screen: s, stop: stop,
		clock: time.Now, ascii: words.ASCIITerminal(os.Getenv),
	}
	s.program = tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler(),
		tea.WithContext(context.Background()))
	go func() {
		defer close(s.ended)
		_, _ = s.program.Run() // a terminal that went away shows nothing more; the run goes on
		s.resume(true)
	}()
	return s
}

// Begin shows a run that begins. While the screen is paused it waits.
func (s *Screen) Begin(index, cell, trial int) {
	s.mu.Lock()
	for s.paused && !s.over {
		s.going.Wait()
	}
	s.mu.Unlock()
	s.program.Send(begin{index, cell, trial})
}

// Decided shows why a search makes the run that comes next, of a cell that the plan may
// not have listed.
func (s *Screen) Decided(cell int, c Cell, why, stand string) {
	s.program.Send(decided{cell, c, why, stand})
}

// End shows a run that is over.
func (s *Screen) End(d Done) { s.program.Send(d) }

// Snapshot shows how the run in progress is doing.
func (s *Screen) Snapshot(n loadgen.Snapshot) { s.program.Send(n) }

// Say puts a line into the log.
func (s *Screen) Say(line string) { s.program.Send(said(line)) }

// Close gives the terminal back as it was.
func (s *Screen) Close() {
	s.resume(true)
	s.program.Quit()
	select {
	case <-s.ended:
	case <-time.After(2 * time.Second):
		s.program.Kill()
		<-s.ended
	}
	s.guard.dismiss()
}

// resume ends a pause; over ends it for good.
func (s *Screen) resume(over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused, s.over = false, s.over || over
	s.going.Broadcast()
}

func (s *Screen) toggle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = !s.paused
	s.going.Broadcast()
	return s.paused
}

type (
	begin   struct{ index, cell, trial int }
	said    string
	decided struct {
		cell       int
		is         Cell
		why, stand string
	}
	tick time.Time
)

// model is the screen as bubbletea runs it: one message after the other.
type model struct {
	state         *State
	screen        *Screen // nil for one that only watches
	stop          func()
	clock         func() time.Time
	width, height int
	pane          Pane
	paused        bool
	ascii         bool                     // the terminal shows nothing else
	next          func(*State) (over bool) // a watcher reads the directory here
}

func (m *model) Init() tea.Cmd { return m.tick() }

func (m *model) tick() tea.Cmd {
	return tea.Tick(500*time.Millisecond, func(t time.Time) tea.Msg { return tick(t) })
}

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m, m.key(msg.String())
	case tick:
		if m.next != nil && m.next(m.state) {
			return m, nil // what has ended stays on the screen until q
		}
		return m, m.tick()
	case begin:
		m.state.Begin(msg.index, msg.cell, msg.trial, m.clock())
	case decided:
		m.state.Know(msg.cell, msg.is)
		m.state.Decided(msg.why, msg.stand)
	case Done:
		m.state.End(msg, m.clock())
	case loadgen.Snapshot:
		m.state.Snapshot(msg)
	case said:
		m.state.Say(string(msg))
	}
	return m, nil
}

// key does what a key is for.
func (m *model) key(k string) tea.Cmd {
	switch k {
	case "q", "ctrl+c":
		if m.screen == nil {
			return tea.Quit
		}
		m.state.Say("interrupted: waiting for requests in flight; interrupt again to stop at once")
		m.screen.resume(false)
		m.paused = false
		m.stop()
	case "p":
		if m.screen != nil {
			m.paused = m.screen.toggle()
		}
	case "e":
		m.pane = Errors
	case "l":
		m.pane = Log
	case "c", "esc":
		m.pane = Cells
	case "?", "h":
		m.pane = Help
	}
	return nil
}

func (m *model) View() tea.View {
	if m.width == 0 {
		return tea.NewView("")
	}
	keys := Watching
	if m.screen != nil {
		keys = Steering
	}
	f := frame{
		State: m.state, at: m.clock(), width: m.width, height: m.height, pane: m.pane,
		paused: m.paused, keyed: keys, ascii: m.ascii,
	}
	v := tea.NewView(strings.Join(f.lines(), "\n"))
	v.AltScreen = true
	return v
}

// Frame is one picture of s, for tests and for a single look at a directory.
func Frame(w io.Writer, s *State, at time.Time, width, height int, pane Pane, keys Keys) error {
	f := frame{
		State: s, at: at, width: width, height: height, pane: pane,
		keyed: keys, ascii: words.ASCIITerminal(os.Getenv),
	}
	lines := f.lines()
	if keys == NoKeys { // nothing stands at the bottom of the window
		for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
			lines = lines[:len(lines)-1]
		}
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}
