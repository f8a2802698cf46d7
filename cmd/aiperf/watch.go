package main

import (
	"os"
	"time"

	"golang.org/x/term"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/sinks/report/live"
)

var watchCommand = command{
	minor: true, name: "watch", usage: "look at a plan that another terminal or machine carries out",
	help: `aiperf watch DIR shows the result directory of a plan that is under way or over:
the same screen as the command that fills it. It only reads, so that it works
over a shared file system too.

  aiperf watch results/quickstart-20261121T093000Z
  aiperf watch DIR --once       one picture on stdout, for a script`,
	flags: []argv.Switch{{Name: "once", Doc: "print one picture and end; so it is without a terminal"}},
	run: func(a *app, p *argv.Line) error {
		dir, err := onlyFile(p, "aiperf watch DIR")
		if err != nil {
			return err
		}
		w, err := live.NewWatcher(dir)
		if err != nil {
			return diag.New(err.Error(), "name a directory that aiperf run or profile fills")
		}
		out, ok := a.Out.(*quietPipe)
		if file, isFile := outFile(out, ok); !p.Has("once") && isFile && a.onTerminal() && term.IsTerminal(int(file.Fd())) {
			return w.Watch(os.Stdin, file)
		}
		return live.Frame(a.Out, w.State(), time.Now(), 100, 30, live.Cells)
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
