package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/compat"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// expanded is the plan of an experiment, written to a file in the folder.
func (q *quickly) expanded(name string, text []byte) (*sweep.Plan, *schema.Document, error) {
	file := filepath.Join(q.dir, name+".yaml")
	if err := atomicfile.Write(file, text); err != nil {
		return nil, nil, written(err)
	}
	doc, plan, err := q.expand("run", file, q.p, runnable(runner.Inputs))
	return plan, doc, err
}

// look carries out an experiment without a screen, and says so once nothing is refused. The file goes,
// its results have a copy.
func (q *quickly) look(name string, text []byte, says ...string) (*runner.Result, error) {
	plan, doc, err := q.expanded(name, text)
	if err != nil {
		q.tidy(name)
		return nil, err
	}
	if strings.HasPrefix(name, "first") && len(plan.Axes) > 0 {
		q.tidy(name)
		return nil, diag.New(plan.Axes[0].Origin.Where+": has several values, and quick asks about one", "give one of them")
	}
	opt, err := q.options("run", filepath.Join(q.dir, name+".yaml"), doc, plan, q.p)
	if err != nil {
		return nil, err
	}
	opt.Dir, opt.Latest, opt.Page, opt.CommandLine = filepath.Join(q.dir, name), "", false, quickTyped()
	opt.Say = func(line string) { q.note(line) }
	for _, line := range says {
		q.note(line)
	}
	res, err := runner.Run(q.issue, q.hard, plan, opt)
	q.tidy(name)
	if err != nil {
		return nil, measureError(err)
	}
	if res.Interrupted {
		return nil, exit(diag.Interrupted)
	}
	return res, nil
}

// tidy removes the file of a look, and the folder where nothing else is in it.
func (q *quickly) tidy(name string) {
	_ = os.Remove(filepath.Join(q.dir, name+".yaml"))
	if os.Remove(q.dir) == nil && strings.HasPrefix(q.dir, "results"+string(filepath.Separator)) {
		_ = os.Remove("results")
	}
}

// prepared is an experiment that is written for people, and ready to be carried out.
type prepared struct {
	file string
	doc  *schema.Document
	plan *sweep.Plan
	opt  runner.Options
}

// kept writes an experiment in CUE, with what it is above it, and reads it as anybody would
// who has it. Secrets are not in it: they are taken from text.
func (q *quickly) kept(name, what string, text []byte) (*prepared, error) {
	_, doc, err := q.expanded(name, text)
	if err != nil {
		q.tidy(name)
		return nil, err
	}
	cue, _, err := compat.Write(doc.Said(), "cue")
	if err != nil {
		return nil, err
	}
	k := &prepared{file: filepath.Join(q.dir, name+".cue")}
	head := fmt.Sprintf("// %s\n//\n//\taiperf run %s\n", what, k.file)
	if err := errors.Join(atomicfile.Write(k.file, append([]byte(head), cue...)),
		os.Remove(filepath.Join(q.dir, name+".yaml"))); err != nil {
		return nil, written(err)
	}
	hidden := compat.Secrets(doc.Said())
	q.env = func(name string) (string, bool) {
		if v, ok := hidden[name]; ok {
			return v, true
		}
		return os.LookupEnv(name)
	}
	plain := *q.p
	plain.Assigns = nil
	if k.doc, k.plan, err = q.expand("run", k.file, &plain, runnable(runner.Inputs)); err != nil {
		return nil, err
	}
	k.opt, err = q.options("run", k.file, k.doc, k.plan, &plain)
	k.opt.CommandLine = quickTyped()
	return k, err
}

// quickTyped is the command as it was typed, for what is kept with its results.
func quickTyped() string { return argv.Masked("quick", os.Args, schema.Options()) }
