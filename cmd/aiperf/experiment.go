package main

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Flags that several commands share.
var (
	setFlag    = switchFlag{Name: "set", Arg: "PATH=VALUE", Many: true, Doc: "set any value of the experiment, as in --set endpoint.timeout=30"}
	outputFlag = switchFlag{Name: "output", Short: "o", Arg: "FORMAT", Words: []string{"text", "json"}, Doc: "text (default) or json, on stdout"}
	lenient    = switchFlag{Name: "lenient", Doc: "warn about settings without effect instead of refusing them"}
	strict     = switchFlag{Name: "strict", Doc: "refuse settings without effect instead of warning"}
)

// load reads the experiment a command line describes: FILE or flags or both.
// What cannot be run is refused here, before a plan is made of it.
func (a *app) load(command, file string, p *parsed) (*schema.Document, error) {
	src := schema.Source{File: file, Assignments: p.assigns, Command: command, Tags: metrics.Tags(), RunTags: runTags()}
	doc, err := schema.Load(src)
	var missing *fs.PathError
	if errors.As(err, &missing) {
		return nil, fileError(missing)
	}
	if err != nil {
		return nil, err
	}
	a.warn(doc.Notes()...)
	if err := checkVerdictIDs(doc.Envelope()); err != nil {
		return nil, located(doc, err)
	}
	return doc, a.effects(command, doc, p)
}

// runTags are the metrics that no single request has.
func runTags() []string {
	return slices.DeleteFunc(metrics.Tags(), func(tag string) bool {
		m, _ := metrics.Lookup(tag)
		return m.PerRequest()
	})
}

// effects says what the document asks for and cannot have: an option without
// effect is never silent.
func (a *app) effects(command string, doc *schema.Document, p *parsed) error {
	refuse := command != "profile" && !p.has("lenient") || p.has("strict")
	if w := doc.Warnings(); len(w) > 0 {
		if refuse {
			return &usageError{strings.Join(w, "\naiperf: "), "--lenient turns this into a warning"}
		}
		a.warn(w...)
	}
	return nil
}

// supported refuses what is declared and not built yet.
func supported(doc *schema.Document) error {
	if es := doc.Unsupported(); len(es) > 0 {
		return es
	}
	return nil
}

func checkVerdictIDs(e schema.Experiment) error {
	ids := runner.CheckIDs()
	known := map[string]bool{}
	for _, id := range ids {
		known[id] = true
	}
	var bad schema.Errors
	for _, id := range slices.Sorted(maps.Keys(e.Verdict)) {
		if !known[id] {
			hint := "aiperf checks --list names them"
			if s := schema.Suggest(id, ids); s != "" {
				hint = "did you mean " + s + "?"
			}
			bad = append(bad, &schema.Error{Path: "verdict." + id, Message: "unknown check", Hint: hint})
		}
	}
	if len(bad) > 0 {
		return bad
	}
	return nil
}

// expand loads and expands in one step, for the commands that need a plan.
func (a *app) expand(command, file string, p *parsed) (*schema.Document, *sweep.Plan, error) {
	doc, err := a.load(command, file, p)
	if err != nil {
		return nil, nil, err
	}
	plan, err := sweep.Expand(doc)
	if err != nil {
		return nil, nil, located(doc, asUsage(err))
	}
	a.warn(plan.Warnings...)
	if err := plan.CompileGates(metrics.Tags()); err != nil {
		return nil, nil, located(doc, asUsage(err))
	}
	return doc, plan, nil
}

// asUsage makes a plain error of an early station a usage error.
func asUsage(err error) error {
	var es schema.Errors
	var use *usageError
	if err == nil || errors.As(err, &es) || errors.As(err, &use) {
		return err
	}
	var one *schema.Error
	if errors.As(err, &one) {
		return schema.Errors{one}
	}
	message, hint, _ := strings.Cut(err.Error(), "; hint: ")
	return &usageError{message, hint}
}

// fileError is the one line for a file that cannot be read.
func fileError(e *fs.PathError) error {
	hint := ""
	if errors.Is(e, fs.ErrNotExist) {
		hint = "aiperf config init > my.cue writes one to start from"
		if st, err := os.Stat(e.Path); err == nil && st.IsDir() {
			hint = "name a file"
		}
	}
	return &usageError{e.Path + ": " + e.Err.Error(), hint}
}

// onlyFile is the one positional argument of commands that take an experiment.
func onlyFile(p *parsed, usage string) (string, error) {
	switch {
	case len(p.words) > 1:
	case len(p.words) == 1 && strings.TrimSpace(p.words[0]) != "":
		return p.words[0], nil
	default:
		return "", &usageError{"which experiment?", usage}
	}
	return "", &usageError{"one experiment at a time, got " + strings.Join(p.words, " "), "write FILE before flags that take several values"}
}

// wantJSON reads --output.
func wantJSON(p *parsed) (bool, error) {
	switch p.get("output") {
	case "", "text":
		return false, nil
	case "json":
		return true, nil
	}
	return false, &usageError{"--output: " + p.get("output") + " is not one of text, json", ""}
}
