package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/hub"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// Flags of the two commands that measure.
var measureFlags = []argv.Switch{
	setFlag, exprFlag, tagFlag, pkgFlag,
	{Name: "resume", Topic: "trials", Doc: "continue an unfinished plan"},
	{
		Name: "redo", Arg: "CELL/TRIAL", Many: true, Topic: "trials",
		Doc: "with --resume: measure this run again; trials count from 1, as in 0/3 or concurrency_4/3",
	},
	{
		Name: "keep-streams", Topic: "trials",
		Doc: "keep the records of each run as they were written, so that --redo can replace a run later",
	},
	{Name: "dry-run", Topic: "file", Doc: "show what would run; send nothing"},
	{
		Name: "report", Arg: "KIND", Words: []string{"html", "none"}, Topic: "results",
		Doc: "html (default): write report.html at the end; none: do not",
	},
	{
		Name: "console", Arg: "WHOSE", Words: consoles, Topic: "results",
		Doc: "what stdout shows: our screen (ours), AIPerf's tables (aiperf), or both",
	},
	{
		Name: "exit-codes", Arg: "WHOSE", Words: []string{"aiperf", "full"}, Topic: "results",
		Doc: "aiperf: end with 0 or 1; full: with 3 and 4 too",
	},
	{Name: "junit", Arg: "FILE", Topic: "results", Doc: "write gates as JUnit test cases"},
	{Name: "allow-hooks", Topic: "file", Doc: "run the commands that the experiment names (endpoint.flip)"},
	{Name: "allow-code", Topic: "file", Doc: "run the code in answers to questions with known answers, to judge it (code_execution)"},
	{
		Name: "allow-download", Topic: "file",
		Doc: "download published data sets, tokenizers and CUE modules that are not on this machine",
	},
	workersFlag, onFlag, listenFlag, natsFlag, tokenFileFlag, progressFlag, outputFlag, lenient, strict,
}

var runCommand = command{
	name: "run", usage: "run an experiment: every cell of its matrix, with repeated trials",
	help: `aiperf run FILE measures every cell of an experiment and writes the results to
results/NAME-TIME/. Ctrl-C waits for open requests and keeps what was measured;
a second one stops at once.

  aiperf config init compare > ab.cue; aiperf run ab.cue
  aiperf run sweep.cue --url http://localhost:8000 --artifact-dir out
  aiperf run sweep.cue --artifact-dir out --resume    after a crash or Ctrl-C`,
	flags: measureFlags, settings: true, files: true,
	often: []section{
		{"Change the file's values", []string{"url", "model", "set", "benchmark-duration", "num-requests"}},
		{"Repeat", []string{"num-profile-runs", "resume", "budget-time"}},
		{"Check", []string{"dry-run", "gate", "strict"}},
		{"Results", []string{"artifact-dir", "junit", "output", "progress"}},
	},
	run: func(a *app, p *argv.Line) error {
		file, err := onlyFile(p, "aiperf run FILE")
		if err != nil {
			return err
		}
		return a.measure("run", file, p)
	},
}

var profileCommand = command{
	name: "profile", usage: "run one benchmark described by flags, as AIPerf does",
	help: `aiperf profile FLAGS measures one server. Flags, files and exit codes are those
of AIPerf. A list with commas, as in --concurrency 1,4,16, measures each value.

  aiperf profile -m MODEL -u localhost:8000 --streaming --concurrency 8
  aiperf profile -m MODEL -u mock: --concurrency 1,4,16 --num-profile-runs 6
  aiperf profile -f config.yaml --isl 512 --osl 64`,
	flags: append(slices.Clone(measureFlags),
		argv.Switch{
			Name: "config", Short: "f", Arg: "FILE", Topic: "file",
			Doc: "experiment file; flags change its values",
		},
		argv.Switch{Name: "overwrite", Topic: "results", Doc: "delete old results instead of moving them to DIR.1"}),
	settings: true, files: true,
	often: []section{
		{"Server", []string{"url", "model", "endpoint-type", "streaming", "api-key"}},
		{"Requests", []string{"isl", "osl", "input-file", "tokenizer"}},
		{"Load", []string{"concurrency", "request-rate", "num-requests", "benchmark-duration", "num-warmup-requests"}},
		{"Results", []string{"num-profile-runs", "goodput", "artifact-dir", "dry-run", "config"}},
	},
	run: func(a *app, p *argv.Line) error {
		if len(p.Words) > 0 {
			return diag.New("profile: unexpected "+p.Words[0], cmp.Or(p.Before[0],
				"flags that take several values take the words after them; a file is given with --config"))
		}
		return a.measure("profile", p.Get("config"), p)
	},
}

// measure is the one path of run and profile: load, expand, carry out, report.
func (a *app) measure(command, file string, p *argv.Line) error {
	asJSON, err := wantJSON(p)
	if err != nil {
		return err
	}
	tree := p.Has("dry-run") && asJSON // which is shown with what cannot be run, too
	var checks []planCheck
	switch {
	case tree:
	case p.Has("allow-download"): // what is fetched is an input
		checks = []planCheck{runnable(runner.Data)}
	default:
		checks = []planCheck{runnable(runner.Inputs)}
	}
	if a.sharing, err = workersAsked(p); err != nil {
		return err
	}
	doc, plan, err := a.expand(command, file, p, checks...)
	if err != nil {
		return err
	}
	if p.Has("allow-download") && !p.Has("dry-run") {
		from := hub.FromEnvironment()
		from.Say = func(line string) { a.note("fetches " + line) }
		if err := runner.Fetch(a.issue, plan, file, from); err != nil {
			return asUsage(err)
		}
		if err := runner.Inputs(doc, plan, file); err != nil {
			return err
		}
	}
	if err := runner.Divides(plan, a.sharing); err != nil {
		return err
	}
	opt, err := a.options(command, file, doc, plan, p)
	if err != nil {
		return err
	}
	if opt.Redo, err = redone(plan, p.Values["redo"], opt.Resume); err != nil {
		return err
	}
	words, err := a.console(command, p, asJSON, plan.Several())
	if err != nil {
		return err
	}
	full, err := fullCodes(command, p)
	if err != nil {
		return err
	}
	if err := outlets(plan, p, opt.Dir); err != nil {
		return err
	}
	switch {
	case tree:
		return a.showTree(file, doc, plan)
	case p.Has("dry-run"):
		return a.dryRun(file, plan, opt)
	}
	for _, what := range decide.Absent(plan) {
		a.warn(what + "; without it no point has the figure")
	}
	foreseen, err := a.foreseen(plan, file)
	if err != nil {
		return err
	}
	a.warn(foreseen...)
	end := a.showProgress(doc, plan, p, &opt)
	words.listen(&opt)
	calm := a.interrupted(words)
	opt.Say = func(line string) { a.note(line) }
	dismiss, err := a.workers(p, &opt)
	if err != nil {
		calm()
		end()
		return err
	}
	result, err := runner.Run(a.issue, a.hard, plan, opt)
	calm()
	end()
	if gone := dismiss(); err == nil {
		err = gone
	}
	if err != nil {
		return measureError(err)
	}
	if err := errors.Join(words.err, a.report(result, asJSON, words),
		publish(result, p.Get("junit"))); err != nil {
		return err
	}
	if err := a.autoPlot(plan, result); err != nil {
		return err
	}
	if a.measured != nil {
		if err := a.measured(a, plan, result); err != nil {
			return err
		}
	}
	return exitCode(result, full, a.hard.Err() != nil)
}

func shownStep(s runner.Step) report.Step {
	return report.Step{
		Run: s.Run, Index: s.Index, Total: s.Total, Why: s.Why, Stand: s.Stand,
		Skipped: s.Skipped, Done: s.Report != nil, Err: s.Err,
	}
}

// asked is the word that the experiment says at path, "" when nobody said one:
// profile is silent about its screen, as AIPerf's is, and shows progress.
func asked(doc *schema.Document, path string) string {
	s := saidAt(doc, path)
	word, _ := s.Value.(string)
	if s.Origin.Source == schema.ByDefault {
		return ""
	}
	return strings.ToLower(word)
}

// saidAt is what the experiment says at path; nothing is the zero value.
func saidAt(doc *schema.Document, path string) schema.Said {
	s := doc.Said()
	for part := range strings.SplitSeq(path, ".") {
		i := slices.IndexFunc(s.Fields, func(f schema.Said) bool { return f.Name == part })
		if i < 0 {
			return schema.Said{}
		}
		s = s.Fields[i]
	}
	return s
}

// options says where results go and what is kept of the command line.
func (a *app) options(
	command, file string, doc *schema.Document, plan *sweep.Plan, p *argv.Line,
) (runner.Options, error) {
	exe, err := self()
	if err != nil {
		return runner.Options{}, err
	}
	opt := runner.Options{
		Resume: p.Has("resume"), KeepStreams: p.Has("keep-streams"), MoveAside: command == "profile" &&
			!p.Has("resume"), Overwrite: p.Has("overwrite"), SourceName: file, Exe: exe, Version: version,
		CommandLine: argv.Masked(command, os.Args, schema.Options()), AllowInvalid: plan.Experiment.AllowInvalid,
		AllowHooks: p.Has("allow-hooks"), AllowCode: p.Has("allow-code"),
		Page: p.Get("report") != "none", AIPerf: wantsTheirs(command, doc, plan),
	}
	opt.Source, opt.SourceEnding = doc.Copy()
	var origins bytes.Buffer
	if err := doc.Explain(&origins, 0); err != nil {
		return opt, err
	}
	opt.Origins = strings.Split(strings.TrimSpace(origins.String()), "\n")
	if opt.Dir, opt.Latest, err = resultDir(command, doc, plan, p); err != nil {
		return opt, err
	}
	if _, err := os.Stat(filepath.Join(opt.Dir, resultdir.LockName)); opt.Resume && errors.Is(err, fs.ErrNotExist) {
		a.note("nothing was begun in " + opt.Dir + ": the plan starts from its first run")
	}
	return opt, nil
}

// wantsTheirs reports whether AIPerf's files are written: as the experiment says, else by
// profile, and by run where one of them is asked for.
func wantsTheirs(command string, doc *schema.Document, plan *sweep.Plan) bool {
	if said := plan.Cells[0].Resolved.Benchmark.Artifacts.AIPerf; said != nil {
		return *said
	}
	return command == "profile" || slices.ContainsFunc(saidAt(doc, "benchmark.artifacts").Fields,
		func(s schema.Said) bool {
			return s.Origin.Source != schema.ByDefault &&
				!slices.Contains([]string{"dir", "auto_plot", "plot_required"},
					s.Name)
		})
}

// redone are the runs that are to be measured again.
func redone(plan *sweep.Plan, said []string, resume bool) (runs []sweep.Run, err error) {
	if len(said) > 0 && !resume {
		return nil, diag.New("--redo: nothing is continued",
			"add --resume: it keeps the runs that are not measured again")
	}
	for _, s := range said {
		run, err := plan.Find(s)
		if err != nil {
			return nil, &diag.Error{
				Place: "--redo", Message: err.Error(),
				Hint: "CELL/TRIAL: a cell as aiperf plan FILE --cells lists it, a trial from 1 on",
			}
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// resultDir picks the directory: the one that was named, else a new one by
// name and time (run) or by AIPerf's rule (profile). With --resume and no name,
// run takes the newest unfinished directory of this experiment. latest is the link that
// shall lead to it, "" for a directory that was named.
func resultDir(command string, doc *schema.Document, plan *sweep.Plan, p *argv.Line) (dir, latest string, err error) {
	named := slices.ContainsFunc(p.Assigns,
		func(as schema.Assignment) bool { return as.Path == "benchmark.artifacts.dir" })
	dir = plan.Cells[0].Resolved.Benchmark.Artifacts.Dir
	switch {
	case named && dir == "":
		return "", "", diag.New("--artifact-dir: empty", "name a directory")
	case named || command == "run" && asked(doc, "benchmark.artifacts.dir") != "":
		return dir, "", nil
	case command == "profile":
		return filepath.Join(dir, plan.ArtifactName()), "", nil
	}
	base, latest := filepath.Join("results", cmp.Or(sweep.FolderName(plan.Name), "experiment")),
		filepath.Join("results", "latest")
	if p.Has("resume") {
		if d := resultdir.Unfinished(base+"-*", plan.Hash); d != "" {
			return d, latest, nil
		}
	}
	return unused(base + "-" + time.Now().UTC().Format("20060102T150405Z")), latest, nil
}

// unused is dir, or dir-2, dir-3, … if that exists.
func unused(dir string) string {
	for i := 2; ; i++ {
		if _, err := os.Lstat(dir); err != nil {
			return dir
		}
		dir = strings.TrimSuffix(dir, fmt.Sprintf("-%d", i-1)) + fmt.Sprintf("-%d", i)
	}
}

// measureError gives an error of the runner its exit code and hint.
func measureError(err error) error {
	one := *diag.Of(err)
	one.Message, _, _ = strings.Cut(one.Message, "\n") // what follows is of the same cause
	one.Hint = cmp.Or(one.Hint, fileHint(err))
	return &one
}

// fileHint is what to do about a disk that takes no more, or a directory that
// went away.
func fileHint(err error) string {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, full) {
			return "free disk space, then run the same command with --resume"
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "was it removed while it was in use? run the same command again"
	}
	return ""
}

// fullCodes reports whether the exit code says all there is to say. profile has
// AIPerf's codes unless it is asked: 0 when there are results.
func fullCodes(command string, p *argv.Line) (bool, error) {
	switch said := p.Get("exit-codes"); said {
	case "":
		return command != "profile", nil
	case "aiperf", "full":
		return said == "full", nil
	default:
		return false, diag.New("--exit-codes: "+said+" is not one of aiperf, full", "")
	}
}

// exitCode is what a script learns from a result. In AIPerf's codes a run that
// was measured is a success, whatever its verdict, its gates or one interrupt
// say; that requests failed beyond a threshold that was set, that records could not
// be written, or that the second interrupt ended it, is none.
func exitCode(r *runner.Result, full, ended bool) error {
	code := r.ExitCode()
	if !full && r.Measured() && !ended && !r.Broken() && !r.LostRecords() {
		code = diag.OK
	}
	if !full && !r.Measured() && code != diag.OK && code != diag.Usage {
		code = diag.Failed
	}
	if code == diag.OK {
		return nil
	}
	return exit(code)
}

// writeDoc prints v as one JSON document.
func (a *app) writeDoc(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
