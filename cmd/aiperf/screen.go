package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	aiperfiles "aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sinks/report/forecast"
	"aiperf.dev/aiperf/sinks/report/live"
	"aiperf.dev/aiperf/sweep"
)

var consoles = []string{"ours", "aiperf", "both"}

// profiling is what AIPerf says when sending begins; scripts wait for it.
const profiling = "AIPerf System is PROFILING"

// console is whose words stdout has: AIPerf's, for scripts that read them, our
// report, or both.
type console struct {
	ours, aiperfs bool
	tables        bool   // AIPerf's were printed
	each          bool   // they are, of every run
	first         string // the file with those of the first run of several; "" until there is one
	w             io.Writer
	once          sync.Once
	err           error
}

// console reads --console. On a terminal the default is our own short screen; elsewhere profile
// adds AIPerf's words, of a single run with its tables, and --output json has neither.
func (a *app) console(command string, p *argv.Line, asJSON, several bool) (*console, error) {
	c := &console{w: a.Out, each: p.Get("console") != "" || !several}
	said := p.Get("console")
	if said == "" {
		said = "ours"
		if command == "profile" && !terminal(a.Out) {
			said = "both"
		}
	}
	switch said {
	case "ours":
		c.ours = true
	case "aiperf":
		c.aiperfs = true
	case "both":
		c.ours, c.aiperfs = true, true
	default:
		return nil, diag.New("--console: "+said+" is not one of ours, aiperf, both", "")
	}
	c.aiperfs = c.aiperfs && !asJSON
	return c, nil
}

// terminal reports whether a person looks at w.
func terminal(w io.Writer) bool {
	if q, ok := w.(*quietPipe); ok {
		w = q.w
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// widthOf is how many columns the terminal behind w has, 0 where there is none.
func widthOf(w io.Writer) int {
	if q, ok := w.(*quietPipe); ok {
		w = q.w
	}
	if f, ok := w.(*os.File); ok {
		if cols, _, err := term.GetSize(int(f.Fd())); err == nil {
			return cols
		}
	}
	return 0
}

// screenWidth is how wide a picture on w may be: as its terminal is, or as COLUMNS says.
func screenWidth(w io.Writer) int {
	said, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	return cmp.Or(widthOf(w), min(max(said, 0), 500), 80)
}

// sentence prints a line; on a terminal that is too narrow for it, several.
func sentence(w io.Writer, line string) {
	if width := widthOf(w); width > 0 {
		line = strings.Join(words.Fold(line, width, "  "), "\n")
	}
	fmt.Fprintln(w, line)
}

// interrupted answers the first interrupt and the second as AIPerf does: with a
// panel on stderr. The function it returns ends that.
func (a *app) interrupted(c *console) (end func()) {
	if !c.aiperfs {
		return func() {}
	}
	first := context.AfterFunc(a.issue, func() {
		fmt.Fprint(a.Err, "\n", aiperfiles.Panel("Cancellation in Progress", "", "BENCHMARK CANCELLED", "",
			"No new requests are sent; waiting for those in flight.", "What was measured is written to files.", "",
			"Press Ctrl-C again to stop at once; requests in flight are then lost.", ""))
	})
	second := context.AfterFunc(a.hard, func() {
		fmt.Fprint(a.Err, "\n", aiperfiles.Panel("Force Quit", "", "FORCE QUIT", "",
			"Stopping without waiting for answers.", ""))
	})
	return func() { first(); second() }
}

// listen adds AIPerf's words to what else is told of a plan: they come when a
// screen has taken the end of a run in.
func (c *console) listen(opt *runner.Options) {
	if !c.aiperfs {
		return
	}
	live, notify, dir := opt.Live, opt.Notify, opt.Dir
	opt.Live = func(s loadgen.Snapshot) {
		if s.Sent > 0 {
			c.once.Do(func() { fmt.Fprintln(c.w, profiling) })
		}
		live(s)
	}
	opt.Notify = func(s runner.Step) {
		notify(s)
		if !s.Skipped && s.Report != nil {
			c.once.Do(func() { fmt.Fprintln(c.w, profiling) }) // a run shorter than a tick
			if why := s.Report.Broken(); why != "" {
				fmt.Fprintf(c.w, "FAILED: %s\n", readable(why))
			}
			c.err = errors.Join(c.err, c.table(s.Run, dir))
		}
	}
}

// table prints AIPerf's tables of a run that has just been measured: the text of
// its file.
func (c *console) table(run sweep.Run, dir string) error {
	names, err := aiperfiles.ProfileNames(run.Cell.Resolved.Benchmark.Artifacts.Prefix)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, run.Dir, names.Console))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no request succeeded: there is no table, and the report says why
	}
	if err != nil {
		return err
	}
	if !c.each {
		c.first = cmp.Or(c.first, filepath.Join(dir, run.Dir, names.Console))
		return nil
	}
	c.tables = true
	_, err = io.WriteString(c.w, words.Clean(string(text)))
	return err
}

// elsewhere is where AIPerf's tables are that were not printed.
func (c *console) elsewhere() string {
	return "AIPerf's tables of each run are in its folder, as in " + c.first + "; --console both prints all of them"
}

// progressFlag chooses what other programs read; people's screens are chosen by
// --ui.
var progressFlag = argv.Switch{
	Name: "progress", Arg: "FORMAT", Words: []string{"json"}, Topic: "results",
	Doc: "json: one line per event on stderr, no screen",
}

// showProgress lets a person, or a program, see how the plan goes. The function
// it returns ends that.
func (a *app) showProgress(doc *schema.Document, plan *sweep.Plan, p *argv.Line, opt *runner.Options) (end func()) {
	var lines io.Writer
	if p.Get("progress") == "json" {
		lines = a.Err
	}
	events := live.NewEvents(lines, len(plan.Runs))
	events.File(filepath.Join(opt.Dir, resultdir.LiveName))
	lives, steps, ends := []func(loadgen.Snapshot){events.Snapshot}, []func(runner.Step){tell(events)},
		[]func(){events.Close}
	ui := asked(doc, "benchmark.runtime.ui")
	switch {
	case lines != nil || ui == "none":
	case ui != "simple" && ui != "plain" && a.onTerminal():
		s := live.Open(os.Stdin, os.Stderr, livePlan(plan), interruptSelf)
		lives, steps, ends = append(lives, s.Snapshot), append(steps, onScreen(s)), append(ends, s.Close)
	default:
		show := report.NewProgress(a.Err, plan)
		stop := context.AfterFunc(a.issue, show.Draining)
		lives, steps = append(lives, show.Live), append(steps, func(s runner.Step) { show.Step(shownStep(s)) })
		ends = append(ends, func() { stop(); show.End() })
	}
	opt.Live = func(s loadgen.Snapshot) {
		for _, f := range lives {
			f(s)
		}
	}
	opt.Notify = func(s runner.Step) {
		for _, f := range steps {
			f(s)
		}
	}
	return func() {
		for _, f := range ends {
			f()
		}
	}
}

// onTerminal reports whether a full screen can be shown: keys come from a
// terminal and pictures go to one.
func (a *app) onTerminal() bool {
	in, ok := a.In.(*os.File)
	out, also := a.Err.(*os.File)
	return ok && also && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb"
}

// interruptSelf is a Ctrl-C that a full screen has caught.
func interruptSelf() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Signal(os.Interrupt) // where it cannot be sent, the terminal's own Ctrl-C remains
	}
}

func livePlan(plan *sweep.Plan) live.Plan {
	p := live.Plan{Name: plan.Name, Trials: plan.Trials, Runs: forecast.Of(plan)}
	for _, c := range plan.Cells {
		work, _ := c.Apart()
		p.Cells = append(p.Cells, live.Cell{Name: c.Short(), Work: work})
	}
	return p
}

func onScreen(s *live.Screen) func(runner.Step) {
	return func(x runner.Step) {
		if x.Report == nil && x.Err == nil {
			if x.Stand != "" {
				work, _ := x.Run.Cell.Apart()
				s.Decided(x.Run.Cell.Index, live.Cell{Name: x.Run.Cell.Short(), Work: work}, x.Why, x.Stand)
			}
			s.Begin(x.Index, x.Run.Cell.Index, x.Run.Trial)
			return
		}
		s.End(doneRun(x))
	}
}

func tell(e *live.Events) func(runner.Step) {
	return func(x runner.Step) {
		if x.Report == nil && x.Err == nil {
			e.Decided(x.Why, x.Stand)
			e.Begin(x.Index, x.Run.Cell.Index, x.Run.Trial, x.Run.Cell.Short())
			return
		}
		e.Done(doneRun(x), x.Index, x.Run.Cell.Short())
	}
}

// doneRun is what a screen says about a run that is over.
func doneRun(x runner.Step) live.Done {
	d := live.Done{Cell: x.Run.Cell.Index, Trial: x.Run.Trial, Skipped: x.Skipped}
	if x.Err != nil {
		d.Err = diag.Line(x.Err)
	}
	if x.Report != nil {
		d.Verdict, d.Figures = x.Report.Verdict, x.Report.Figures
	}
	if x.Outcome != nil {
		d.Failed = x.Outcome.Failed
	}
	return d
}

var watchCommand = command{
	words: resultDirs,
	minor: true, name: "watch", usage: "show a plan that another terminal or machine runs",
	help: `aiperf watch DIR shows the screen of a plan that runs in another terminal or on
another machine, or that has ended. It only reads, so it works over a shared
file system too.

  aiperf watch results/quickstart-20261121T093000Z
  aiperf watch DIR --once       the screen once on stdout, for a script`,
	flags: []argv.Switch{{Name: "once", Doc: "print the screen once and exit; the default without a terminal"}},
	run: func(a *app, p *argv.Line) error {
		dir, err := onlyFile(p, "aiperf watch DIR")
		if err != nil {
			return err
		}
		w, err := live.NewWatcher(dir, func() bool { return resultdir.Held(dir) })
		if err != nil {
			return diag.New(err.Error(), "name a directory that aiperf run or profile fills")
		}
		out, ok := a.Out.(*quietPipe)
		if file, isFile := outFile(out, ok); !p.Has("once") && isFile &&
			a.onTerminal() && term.IsTerminal(int(file.Fd())) {
			return w.Watch(a.issue, os.Stdin, file)
		}
		return live.Frame(a.Out, w.State(), time.Now(), screenWidth(a.Out), 30, live.Cells, live.NoKeys)
	},
}

// outFile is the file behind stdout.
func outFile(q *quietPipe, ok bool) (*os.File, bool) {
	if !ok {
		return nil, false
	}
	f, isFile := q.w.(*os.File)
	return f, isFile
}
