package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
	"aiperf.dev/aiperf/sinks/report/page"
	"aiperf.dev/aiperf/sweep"
)

var plotCommand = command{
	words: resultDirs,
	name:  "plot", usage: "draw a result's charts as pictures", minor: true,
	help: `aiperf plot DIR… draws every chart that the results allow, into DIR/plots, and
says in one line each what the other charts would need. Several directories go
into the same charts; directories that AIPerf wrote work too.

  aiperf plot results/quickstart-20261121T093000Z
  aiperf plot DIR --chart latency-vs-load --format svg --theme dark
  aiperf plot DIR --x concurrency --y time_to_first_token.p99 --by endpoint
  aiperf plot --dashboard results/*-*     the same as pages on this machine`,
	flags: append([]argv.Switch{
		{Name: "paths", Arg: "DIR", Many: true, Doc: "result directory; the same as naming it without a flag"},
		{Name: "output", Arg: "DIR", Doc: "folder for the pictures (default: plots in the first directory)"},
		{Name: "format", Arg: "FORMAT", Words: []string{"png", "svg"}, Doc: "png (default) or svg"},
		{Name: "theme", Arg: "THEME", Words: []string{"light", "dark"}, Doc: "light (default) or dark"},
		{Name: "chart", Arg: "NAME", Many: true, Doc: "only this chart; --chart list names them"},
		{Name: "x", Arg: "COLUMN", Doc: "a chart of your own: an axis, a figure (metric.stat) or a request's value"},
		{Name: "y", Arg: "COLUMN", Doc: "metric to draw against --x"},
		{Name: "by", Arg: "AXIS", Doc: "a line for each value of this axis"},
		{Name: "config", Arg: "FILE", Doc: "plots as AIPerf's plot_config.yaml lists them"},
		{Name: "dashboard", Doc: "serve the report of any of the directories on loopback until Ctrl-C"},
		{Name: "no-dashboard", Doc: "write pictures, start no server (default)"},
		{Name: "verbose", Short: "v", Doc: "accepted as in AIPerf; has no effect"},
		{Name: "port", Arg: "PORT", Doc: "port of --dashboard (default 8050)"},
	}, expenseFlags...),
	run: func(a *app, p *argv.Line) error {
		a.resultsInEach(p.Words)
		if slices.Contains(p.Values["chart"], "list") {
			for _, r := range chart.Catalogue() {
				printTwo(a.Out, r.ID, r.Question)
			}
			return nil
		}
		dirs := append(slices.Clone(p.Values["paths"]), p.Words...)
		if len(dirs) == 0 && isDir("artifacts") {
			dirs = []string{"artifacts"} // as AIPerf
		}
		if len(dirs) == 0 {
			return diag.New("plot: which result directory?", "aiperf plot DIR")
		}
		if p.Has("dashboard") && !p.Has("no-dashboard") {
			return a.dashboard(p, dirs)
		}
		return a.plot(p, dirs)
	},
}

// expenseFlags say what no result holds and the chart of costs needs.
var expenseFlags = []argv.Switch{
	{Name: "price", Arg: "N", Doc: "price of all servers per hour, in any currency; adds a chart of the cost per token"},
	{Name: "watts", Arg: "N", Doc: "mean power of all servers in watts; adds a chart of the energy per token"},
}

// expense is what those flags say.
func expense(p *argv.Line) (e chart.Expense, err error) {
	for name, to := range map[string]*float64{"price": &e.Hour, "watts": &e.Watts} {
		text := p.Get(name)
		if text == "" {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return e, diag.New(fmt.Sprintf("--%s: expected a number above 0, got %q", name, words.Clip(text, 80)), "")
		}
		*to = v
	}
	return e, nil
}

// dashboard serves the reports of dirs until it is interrupted.
func (a *app) dashboard(p *argv.Line, dirs []string) error {
	port := cmp.Or(p.Get("port"), "8050")
	n, err := strconv.Atoi(port)
	if err != nil || n < 0 || n > 65535 {
		return diag.New("--port: expected a port from 0 to 65535, got "+port, "")
	}
	e, err := expense(p)
	if err != nil {
		return err
	}
	d, err := page.Listen(dirs, n, e)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "%s   (Ctrl-C ends it)\n", d.URL())
	return d.Serve(a.issue)
}

// autoPlot draws the charts of what was measured into its directory, as the
// experiment may ask. That they cannot be drawn is a warning, unless the
// experiment says that it must not be: the numbers are there all the same.
func (a *app) autoPlot(plan *sweep.Plan, res *runner.Result) error {
	artifacts := plan.Cells[0].Resolved.Benchmark.Artifacts
	if !artifacts.AutoPlot || res.Finished != nil || !res.Measured() {
		return nil
	}
	err := a.plotAll(res.Dir)
	if err == nil {
		return nil
	}
	why := "the charts could not be drawn: " + err.Error()
	if artifacts.PlotRequired {
		return &diag.Error{Code: diag.Failed, Message: why, Hint: "the results are complete: aiperf plot " +
			words.Line(res.Dir) + " tries again", Cause: err}
	}
	a.warn(why)
	return nil
}

// plotAll draws every chart that a result allows. It says one line: what was
// asked for is the measurement, and stdout is its report's.
func (a *app) plotAll(dir string) error {
	d, err := page.Load([]string{dir})
	if err != nil {
		return err
	}
	out := filepath.Join(dir, resultdir.PlotsDir)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var drawn []string
	charts, err := a.catalogued(d)
	if err != nil {
		return err
	}
	for _, c := range charts {
		if c.Missing != "" {
			continue // aiperf plot says what each one lacks
		}
		path := filepath.Join(out, draw.FileName(c.ID)+".png")
		if err := draw.Write(path, c, draw.Light); err != nil {
			return err
		}
		drawn = append(drawn, path)
	}
	if len(drawn) == 0 {
		return errors.New("the results allow none")
	}
	a.note(fmt.Sprintf("%d charts are in %s/", len(drawn), out))
	return listed(d, dir, out, drawn, nil)
}

// What programs read after AIPerf's plot: how many pictures there are, and what
// was said.
const (
	plotSummary = "summary.txt"
	plotLog     = "aiperf_plot.log"
)

// listed writes those two files beside the pictures, and takes all up into the
// manifest of dir.
func listed(d *chart.Data, dir, out string, drawn, said []string) error {
	names := make([]string, len(drawn))
	for i, path := range drawn {
		names[i] = "  - " + filepath.Base(path)
	}
	count := fmt.Sprintf("Generated %d plots:", len(drawn))
	mode := "SINGLE_RUN"
	if len(d.Cells) > 1 {
		mode = "MULTI_RUN"
	}
	found := []string{fmt.Sprintf("Found %d unique run directories", len(d.Cells)), mode + " mode", count}
	for name, lines := range map[string][]string{
		plotSummary: append([]string{"AIPerf Plot Export Summary", "", count, ""}, names...),
		plotLog:     slices.Concat(found, names, said),
	} {
		path := filepath.Join(out, name)
		if err := atomicfile.Write(path, []byte(strings.Join(lines, "\n")+"\n")); err != nil {
			return err
		}
		drawn = append(drawn, path)
	}
	return resultdir.AddViews(dir, drawn)
}

// plot draws the charts that were asked for.
func (a *app) plot(p *argv.Line, dirs []string) error {
	e, err := expense(p)
	if err != nil {
		return err
	}
	d, err := page.Load(dirs)
	if err != nil {
		return err
	}
	d.Expense = e
	charts, err := a.chosen(p, d)
	if err != nil {
		return err
	}
	out := p.Get("output")
	if out == "" {
		out = besideResult(dirs[0], resultdir.PlotsDir)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var drawn, lines []string
	said := map[string]bool{}
	for _, c := range charts {
		if c.Missing != "" {
			if why := strings.TrimRight(c.ID, "0123456789") + c.Missing; !said[why] { // many cells may lack the same
				said[why] = true
				lines = append(lines, c.ID+": not drawn: "+c.Missing)
				sentence(a.Err, lines[len(lines)-1])
			}
			continue
		}
		path := filepath.Join(out, draw.FileName(c.ID)+"."+cmp.Or(p.Get("format"), "png"))
		if err := draw.Write(path, c, themes[cmp.Or(p.Get("theme"), "light")]); err != nil {
			return err
		}
		fmt.Fprintln(a.Out, path)
		drawn = append(drawn, path)
	}
	if len(drawn) == 0 {
		return diag.New("plot: no chart could be drawn", "the lines above say what each one lacks")
	}
	fmt.Fprintf(a.Out, "\nSaved %s to: %s\nLogs: %s\n", words.Count(len(drawn), "plot"), out,
		filepath.Join(out, plotLog))
	return listed(d, dirs[0], out, drawn, lines)
}

var themes = map[string]draw.Theme{"light": draw.Light, "dark": draw.Dark}

// chosen are the charts that the flags ask for: one of the user's own, those of
// a file, some by name, or all.
func (a *app) chosen(p *argv.Line, d *chart.Data) ([]*draw.Chart, error) {
	switch {
	case p.Get("x") != "" || p.Get("y") != "":
		if p.Get("x") == "" || p.Get("y") == "" {
			return nil, diag.New("plot: --x and --y go together", "such as --x concurrency --y time_to_first_token.p99")
		}
		c, err := chart.Custom{X: p.Get("x"), Y: p.Get("y"), By: p.Get("by"), Lines: true}.Build(d)
		if err != nil {
			return nil, diag.New("plot: "+err.Error(), "")
		}
		return []*draw.Chart{c}, nil
	case p.Get("config") != "":
		return chart.FromConfig(p.Get("config"), d)
	case len(p.Values["chart"]) > 0:
		var out []*draw.Chart
		for _, id := range p.Values["chart"] {
			r, err := chart.Find(id)
			if err != nil {
				return nil, diag.New("plot: "+err.Error(), "aiperf plot --chart list")
			}
			out = append(out, r.All(d)...)
		}
		return out, nil
	}
	return a.catalogued(d)
}

// plotConfigs are the files in which AIPerf keeps the plots that somebody wants:
// beside a result, and at home.
func plotConfigs(dirs []string) (paths []string) {
	for _, dir := range dirs {
		paths = append(paths, filepath.Join(dir, ".aiperf-plot-config.yaml"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		paths = append(paths, filepath.Join(home, ".aiperf", "plot_config.yaml"))
	}
	return slices.DeleteFunc(paths, func(p string) bool { _, err := os.Stat(p); return err != nil })
}

// catalogued are all charts there are, and those that AIPerf draws: as the first
// of its files says that is there, else as it does by itself.
func (a *app) catalogued(d *chart.Data) (out []*draw.Chart, err error) {
	for _, r := range chart.Catalogue() {
		out = append(out, r.All(d)...)
	}
	theirs := chart.Defaults
	if found := plotConfigs(d.Dirs); len(found) > 0 {
		a.note("plots as " + words.Line(found[0]) + " lists them are drawn too")
		theirs = func(d *chart.Data) ([]*draw.Chart, error) { return chart.FromConfig(found[0], d) }
	}
	also, err := theirs(d)
	return append(out, also...), err
}
