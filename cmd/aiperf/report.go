package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sweep"
)

// report prints a result on stdout, as text or as one JSON document; with
// AIPerf's words alone, its verdict goes to stderr.
func (a *app) report(res *runner.Result, asJSON bool, shown *console) error {
	if res.Finished != nil {
		return a.reportFinished(res, asJSON)
	}
	why := res.NothingMeasured()
	if why != nil {
		a.fail(why)
		fmt.Fprintf(a.Err, "nothing was measured; what was sent is in %s/\n", res.Dir)
	}
	a.allFailed(res)
	switch {
	case asJSON:
		return a.writeDoc(res.Report().Doc(diag.Code(res.ExitCode()), res.Interrupted))
	case why != nil:
		return nil
	case !shown.ours:
		return a.verdictLine(res)
	}
	r := res.Report()
	r.Width, r.Terminal = screenWidth(a.Out), widthOf(a.Out) > 0
	if shown.first != "" {
		fmt.Fprintln(a.Out, strings.Join(words.Fold(shown.elsewhere(), r.Width, ""), "\n"))
	}
	if shown.tables {
		fmt.Fprintln(a.Out, "\n"+strings.Join(words.Fold(r.BesideTables(), r.Width, ""), "\n"))
	}
	return r.WriteConsole(a.Out)
}

// verdictLine says on stderr what AIPerf's words have no room for.
func (a *app) verdictLine(res *runner.Result) error {
	r := res.Report()
	said := r.Verdict.String()
	if len(r.Spoiled) > 0 {
		said += "; " + words.Line(r.Spoiled[0])
	}
	_, err := fmt.Fprintf(a.Err, "aiperf: verdict %s; aiperf checks %s shows why\n", said, words.Line(res.Dir))
	return err
}

// reportFinished says again what a finished directory holds.
func (a *app) reportFinished(res *runner.Result, asJSON bool) error {
	if asJSON {
		return a.writeDoc(res.Finished)
	}
	a.complain(diag.New(res.Dir+": complete already, nothing was run", ""))
	b, err := os.ReadFile(filepath.Join(res.Dir, resultdir.MarkdownName))
	if err != nil {
		return err
	}
	_, err = a.Out.Write(b)
	return err
}

// outlets says before anything is sent which file could not be written when all is
// measured, or which list of plots, which must be drawn, cannot be read.
func outlets(plan *sweep.Plan, p *argv.Line, dir string) error {
	if err := writable(p.Get("junit")); err != nil {
		return &diag.Error{
			Place: "--junit", Message: err.Error(),
			Hint: "name a file in a folder that is there and that you may write to", Cause: err,
		}
	}
	if err := writable(os.Getenv(jobSummary)); err != nil {
		return &diag.Error{
			Message: jobSummary + ": " + err.Error(),
			Hint:    "this variable of the environment names the file that a workflow shows: unset it, or name one that can be written", Cause: err,
		}
	}
	if a := plan.Cells[0].Resolved.Benchmark.Artifacts; !a.AutoPlot || !a.PlotRequired {
		return nil
	}
	if found := plotConfigs([]string{dir}); len(found) > 0 {
		return chart.CheckConfig(found[0])
	}
	return nil
}

// writable reports whether a file can be written: one that is there is opened, and
// beside one that is not there a file is made and removed.
func writable(path string) error {
	if path == "" {
		return nil
	}
	st, err := os.Stat(path)
	if err == nil && !st.Mode().IsRegular() {
		return nil // a pipe, a terminal: who opened it knows
	}
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, os.O_WRONLY, 0)
	} else if f, err = os.CreateTemp(filepath.Dir(path), ".aiperf-*"); err == nil {
		defer os.Remove(f.Name())
	}
	if bad := (*fs.PathError)(nil); errors.As(err, &bad) { // it names the file that was tried
		return fmt.Errorf("cannot write %s: %w", path, bad.Err)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// jobSummary names the file that a GitHub workflow shows with its job.
const jobSummary = "GITHUB_STEP_SUMMARY"

// publish writes what CI systems read: the gates and comparisons as JUnit, and
// the summary for a GitHub workflow's job.
func publish(res *runner.Result, junit string) error {
	if res.Finished != nil {
		return nil
	}
	if junit != "" {
		if err := toFile(junit, res.Report().WriteJUnit); err != nil {
			return err
		}
	}
	return addSummary(os.Getenv(jobSummary), func(w io.Writer) error {
		b, err := os.ReadFile(filepath.Join(res.Dir, resultdir.MarkdownName))
		if err != nil {
			return nil // nothing was measured
		}
		_, err = w.Write(b)
		return err
	})
}
