package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/term"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/runner"
	aiperfiles "aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sweep"
)

var consoles = []string{"ours", "aiperf", "both"}

// profiling is what AIPerf says when sending begins; scripts wait for it.
const profiling = "AIPerf System is PROFILING"

// console is whose words stdout has: AIPerf's, for scripts that read them, our
// report, or both.
type console struct {
	ours, aiperfs bool
	w             io.Writer
	once          sync.Once
	err           error
}

// console reads --console. On a terminal the default is our own short screen;
// elsewhere profile adds AIPerf's words, and --output json has neither.
func (a *app) console(command string, p *argv.Line, asJSON bool) (*console, error) {
	c := &console{w: a.Out}
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

// terminal tells whether a person looks at w.
func terminal(w io.Writer) bool {
	if q, ok := w.(*quietPipe); ok {
		w = q.w
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
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
	_, err = io.WriteString(c.w, words.Clean(string(text)))
	return err
}
