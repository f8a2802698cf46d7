package main

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
	"slices"
	"strings"
	"syscall"
	"time"

	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Flags of the two commands that measure.
var measureFlags = []switchFlag{
	setFlag,
	{Name: "resume", Doc: "continue what was begun in the result directory; finished runs are kept"},
	{Name: "dry-run", Doc: "print what would be run and send nothing"},
	outputFlag, lenient, strict,
}

var runCommand = command{
	name: "run", usage: "run an experiment: every cell of its matrix, with repeated trials",
	help: `aiperf run FILE measures every cell of the experiment and writes one result
directory: tables in Parquet, Arrow and CSV, a report, AIPerf's files per run.

  aiperf run examples/experiments/quickstart.cue
  aiperf run sweep.cue --url http://localhost:8000 --artifact-dir out
  aiperf run sweep.cue --artifact-dir out --resume    after a crash or Ctrl-C

The first Ctrl-C drains the run in progress and writes partial results, the
second stops at once. Results go to results/NAME-TIME/ or --artifact-dir.`,
	flags: measureFlags, settings: true,
	run: func(a *app, p *parsed) error {
		file, err := onlyFile(p, "aiperf run FILE")
		if err != nil {
			return err
		}
		return a.measure("run", file, p)
	},
}

var profileCommand = command{
	name: "profile", usage: "run one benchmark described by flags, as AIPerf does",
	help: `aiperf profile FLAGS is an experiment of one cell made of flags. Flags, files
and results are AIPerf's; a comma list on a flag that can sweep makes a matrix.

  aiperf profile -m MODEL -u localhost:8000 --streaming --concurrency 8
  aiperf profile -m MODEL -u mock: --concurrency 1,4,16 --num-profile-runs 5
  aiperf profile -f config.yaml --isl 512 --osl 64`,
	flags: append(slices.Clone(measureFlags),
		switchFlag{Name: "config", Short: "f", Arg: "FILE", Doc: "read FILE first; flags are laid over it"},
		switchFlag{Name: "overwrite", Doc: "write into the same directory again instead of one with -2, -3, …"}),
	settings: true,
	run: func(a *app, p *parsed) error {
		if len(p.words) > 0 {
			return &usageError{"profile: unexpected " + p.words[0], cmp.Or(p.before[0], "flags that take several values take the words after them; a file is given with --config")}
		}
		return a.measure("profile", p.get("config"), p)
	},
}

// measure is the one path of run and profile: load, expand, carry out, report.
func (a *app) measure(command, file string, p *parsed) error {
	asJSON, err := wantJSON(p)
	if err != nil {
		return err
	}
	doc, plan, err := a.expand(command, file, p)
	if err != nil {
		return err
	}
	if p.has("dry-run") {
		return a.dryRun(file, doc, plan, asJSON)
	}
	if err := supported(doc); err != nil {
		return err
	}
	if err := inputs(doc, plan, file); err != nil {
		return err
	}
	opt, err := a.options(command, file, doc, plan, p)
	if err != nil {
		return err
	}
	screen := a.Err
	if asked(doc, "benchmark.runtime.ui") == "none" {
		screen = io.Discard
	}
	show := newProgress(screen, plan)
	opt.Live, opt.Notify = show.live, show.step
	defer context.AfterFunc(a.issue, show.draining)()
	result, err := runner.Run(a.issue, a.hard, plan, opt)
	show.end()
	if err != nil {
		return measureError(err)
	}
	if err := a.report(result, asJSON); err != nil {
		return err
	}
	return exitCode(result)
}

// asked is the word that the experiment says at path, "" when nobody said one:
// profile is silent about its screen, as AIPerf's is, and shows progress.
func asked(doc *schema.Document, path string) string {
	s := doc.Said()
	for part := range strings.SplitSeq(path, ".") {
		i := slices.IndexFunc(s.Fields, func(f schema.Said) bool { return f.Name == part })
		if i < 0 {
			return ""
		}
		s = s.Fields[i]
	}
	word, _ := s.Value.(string)
	if s.Origin.Source == "default" {
		return ""
	}
	return strings.ToLower(word)
}

// options says where results go and what is kept of the command line.
func (a *app) options(command, file string, doc *schema.Document, plan *sweep.Plan, p *parsed) (runner.Options, error) {
	exe, err := self()
	if err != nil {
		return runner.Options{}, err
	}
	opt := runner.Options{
		Resume: p.has("resume"), Overwrite: p.has("overwrite"), Source: doc.Source(), SourceName: file, Exe: exe, Version: version,
		CommandLine: commandLine(command, os.Args, schema.Options()), AllowInvalid: plan.Experiment.AllowInvalid,
	}
	var origins bytes.Buffer
	if err := doc.Explain(&origins); err != nil {
		return opt, err
	}
	opt.Origins = strings.Split(strings.TrimSpace(origins.String()), "\n")
	opt.Dir, err = resultDir(command, plan, p)
	return opt, err
}

// resultDir picks the directory: the one that was named, else a new one by
// name and time (run) or by AIPerf's rule (profile). With --resume and no name,
// run takes the newest unfinished directory of this experiment.
func resultDir(command string, plan *sweep.Plan, p *parsed) (string, error) {
	named := slices.ContainsFunc(p.assigns, func(as schema.Assignment) bool { return as.Path == "benchmark.artifacts.dir" })
	dir := plan.Cells[0].Resolved.Benchmark.Artifacts.Dir
	switch {
	case named && dir == "":
		return "", &usageError{"--artifact-dir: empty", "name a directory"}
	case named || command == "run" && dir != "artifacts":
		return dir, nil
	case command == "profile":
		dir = filepath.Join(dir, plan.ArtifactName())
		if p.has("resume") || p.has("overwrite") {
			return dir, nil
		}
		return unused(dir), nil
	}
	base := filepath.Join("results", plan.Name)
	if p.has("resume") {
		if d := runner.Unfinished(base+"-*", plan); d != "" {
			return d, nil
		}
	}
	return unused(base + "-" + time.Now().UTC().Format("20060102T150405Z")), nil
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
	var refused *runner.RefusedError
	if errors.As(err, &refused) {
		return &usageError{refused.Message, refused.Hint}
	}
	var dir *runner.DirError
	if errors.As(err, &dir) {
		message := dir.Error()
		for _, l := range dir.Lines {
			message += "\n  " + l
		}
		return &usageError{message, dir.Hint}
	}
	first, _, _ := strings.Cut(err.Error(), "\n") // what follows is of the same cause
	return &failure{exitFailed, errors.New(first), fileHint(err)}
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

// exitCode is what a script learns from a result.
func exitCode(r *runner.Result) error {
	code := r.ExitCode()
	if code == exitOK {
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
