package main

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/launch/slurm"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
)

// slurmFlags say what Slurm is asked for.
var slurmFlags = []argv.Switch{
	{Name: "total-workers", Arg: "N", Doc: "tasks that share the load (default 10)"},
	{Name: "name", Arg: "NAME", Doc: "name of the job (default: the experiment's)"},
	{Name: "time", Arg: "LIMIT", Doc: "the longest it may take, as in 2:00:00 (default: the partition's)"},
	{Name: "cpus-per-task", Arg: "N", Doc: "cores of each worker (default 1)"},
	{Name: "sbatch", Arg: "OPTION", Many: true, Doc: "further option of sbatch, as in --sbatch=--partition=cpu"},
	{Name: "program", Arg: "PATH", Doc: "aiperf on the nodes (default aiperf, from the PATH)"},
}

func slurmCommand() command {
	return command{
		minor: true, name: "slurm", usage: "print a batch script that sends one load from many nodes",
		help: `aiperf slurm render FILE prints a script for sbatch: the coordinator runs in the
batch step, a worker in each task. All nodes have to see the folder where sbatch
is typed: results are written below it, and a file with the workers' token.

  aiperf slurm render big.cue --total-workers 25 --time 1:00:00 > big.sh
  sbatch big.sh`,
		subs: []command{{
			name: "slurm render", usage: "print the batch script",
			help: `aiperf slurm render FILE prints a script for sbatch. Nothing is started.

  aiperf slurm render big.cue --total-workers 25 --time 1:00:00 > big.sh
  sbatch big.sh`,
			flags: slices.Concat(slurmFlags, kubeMeasure), settings: true, files: true,
			often: []section{
				{"Place", []string{"total-workers", "time", "cpus-per-task", "sbatch", "program", "name"}},
				{"Change the experiment", []string{"config", "url", "model", "set"}},
			},
			run: (*app).slurmRender,
		}},
		run: func(*app, *argv.Line) error { return nil }, // never reached: below asks for a word
	}
}

func (a *app) slurmRender(p *argv.Line) error {
	j := &slurm.Job{Time: p.Get("time"), Options: p.Values["sbatch"], Program: "aiperf"}
	if p.Has("program") {
		j.Program = p.Get("program")
	}
	if err := numberFlag(p, "total-workers", 10, 1, maxPods, &j.Workers); err != nil {
		return err
	}
	if err := numberFlag(p, "cpus-per-task", 1, 1, 1024, &j.CPUs); err != nil {
		return err
	}
	a.sharing = j.Workers
	file, asRun, err := kubeFile(p)
	if err != nil {
		return err
	}
	j.Command = []string{"profile"}
	if asRun {
		j.Command = []string{"run", file}
	} else if file != "" {
		j.Command = append(j.Command, "--config", file)
	}
	_, plan, err := a.expand(j.Command[0], file, p, runnable(runner.Data))
	if err != nil {
		return err
	}
	if err := runner.Divides(plan, j.Workers); err != nil {
		return err
	}
	if j.Name = p.Get("name"); j.Name == "" {
		j.Name = kubeName(plan, file, "")
	}
	words := placedWords(p, slices.Concat(slurmFlags, kubeMeasure), false)
	if err := a.noSecret(j.Command[0], words); err != nil {
		return err
	}
	j.Command = append(j.Command, words...)
	return j.Write(a.Out)
}

// placedWords are the words of a command line that go along with an experiment to where it
// is placed: own are the flags of the command, whole says that the file is not only one of
// several of a CUE package.
func placedWords(p *argv.Line, own []argv.Switch, whole bool) []string {
	return p.Typed(own, schema.Options(), func(name string) bool {
		switch name {
		case "config", "output-artifact-dir":
			return false
		case "expression", "inject", "package":
			return !whole
		}
		named := func(f argv.Switch) bool { return f.Name == name }
		return slices.ContainsFunc(kubeMeasure, named) || !slices.ContainsFunc(own, named)
	})
}

// noSecret refuses words that hold a secret: what they are written into is no place for one.
func (a *app) noSecret(command string, words []string) error {
	shown := argv.Masked(command, append([]string{"", ""}, words...), schema.Options())
	all := strings.Join(words, "\n")
	if strings.Contains(shown, secret.Mask) || strings.Contains(shown, secret.Gap) || a.hide.Own(all) != all {
		return diag.New("a flag holds a secret, and what is written here is not the place for one",
			fmt.Sprintf("write '${NAME}' in its place in a file, and give %s the variable NAME where it runs", command))
	}
	return nil
}
