package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/compat"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/schema"
)

var convertCommand = command{
	name: "config convert", usage: "make a file of a command line, or CUE of YAML",
	help: `aiperf config convert FILE|COMMAND prints an experiment that does the same.

  aiperf config convert profile -m demo --concurrency 1,2,4 > my.cue
  aiperf config convert --from-flags -m demo --request-rate 5 --to yaml
  aiperf config convert aiperf.yaml > my.cue                comments are kept
  aiperf config convert aiperf.yaml --isl 512 -o my.cue     flags over the file
  aiperf config convert team -e experiments.nightly > nightly.cue
  aiperf config convert genai-perf profile -m demo --session-concurrency 4
  aiperf config convert genai_perf_config.yaml

Only what was given is written, each value with the flag it comes from. Secrets are
written as ${NAME}, to be exported.`,
	flags:    convertFlags,
	settings: true,
	raw:      (*app).convert,
}

var convertFlags = []argv.Switch{
	{Name: "to", Arg: "FORMAT", Words: []string{"cue", "yaml"}, Doc: "cue (default) or yaml"},
	{Name: "output", Short: "o", Arg: "FILE", Doc: "write FILE, which must not exist yet"},
	{Name: "from-flags", Doc: "the words after it are flags of profile"},
	{Name: "config", Short: "f", Arg: "FILE", Doc: "file whose values the flags change, as in profile"},
	setFlag,
}

// convert reads what stands in front of the flags: a file, a command of ours,
// or one of GenAI-Perf's.
func (a *app) convert(c command, words []string) error {
	own, words, err := splitOwn(words)
	if err != nil {
		return err
	}
	if len(words) > 0 && words[0] == "aiperf" {
		words = words[1:]
	}
	var notes []string
	command := "config"
	switch {
	case len(words) == 0:
		return diag.New("config convert: convert what?", "aiperf config convert FILE, or profile FLAGS")
	case words[0] == "genai-perf":
		command = "profile"
		if words, notes, err = compat.GenAIWords(words[1:]); err != nil {
			return err
		}
	case words[0] == "profile" || words[0] == "--from-flags":
		command, words = "profile", words[1:]
	case words[0] == "run":
		words = words[1:]
	}
	p, err := argv.Parse(words, append(slices.Clone(convertFlags), measureFlags...), c.accepted())
	if err != nil {
		return err
	}
	file, err := convertedFile(command, p)
	if err != nil {
		return err
	}
	if file != "" {
		given, more, err := compat.ReadGenAI(file)
		if err != nil {
			return err
		}
		if given != nil { // GenAI-Perf's file is a command line in another spelling
			q, err := argv.Parse(given, nil, c.accepted())
			if err != nil {
				return err
			}
			p.Assigns, file, command = append(q.Assigns, p.Assigns...), "", "profile"
			notes = append(notes, more...)
		}
	}
	if err := a.environment(p); err != nil {
		return err
	}
	doc, err := schema.Load(schema.Source{
		File: file, Select: a.selection(p), Assignments: p.Assigns, Command: command,
		Tags: metrics.Tags(), Look: lookAt, Inline: format.DetectInline,
	})
	var missing *fs.PathError
	if errors.As(err, &missing) {
		return fileError(missing)
	}
	if err != nil {
		return err
	}
	a.warn(doc.Warnings()...)
	text, secrets, err := converted(doc, file, own["to"], p)
	if err != nil {
		return err
	}
	for _, s := range secrets {
		notes = append(notes, s+" is a secret: it is not written, export it instead")
	}
	a.warn(notes...)
	return a.writeNew(own["output"], text)
}

// convertedFile is the file that is converted, "" when there are flags only.
func convertedFile(command string, p *argv.Line) (string, error) {
	file := p.Get("config")
	if len(p.Words) == 0 {
		return file, nil
	}
	if len(p.Words) > 1 || file != "" || command == "profile" {
		return "", diag.New("config convert: unexpected "+p.Words[len(p.Words)-1], "one file, or profile FLAGS")
	}
	return p.Words[0], nil
}

// splitOwn splits --to and --output from words, wherever they stand: the rest
// may be in another program's language.
func splitOwn(words []string) (map[string]string, []string, error) {
	own, rest := map[string]string{"to": "cue"}, []string{}
	for i := 0; i < len(words); i++ {
		name, value, glued := strings.Cut(words[i], "=")
		key := map[string]string{"--to": "to", "--output": "output", "-o": "output"}[name]
		if key == "" {
			rest = append(rest, words[i])
			continue
		}
		if !glued {
			if i++; i == len(words) {
				return nil, nil, diag.New(name+" needs a value", "")
			}
			value = words[i]
		}
		own[key] = value
	}
	if to := own["to"]; to != "cue" && to != "yaml" {
		return nil, nil, diag.New("--to: "+to+" is not one of cue, yaml", "")
	}
	return own, rest, nil
}

// converted is the experiment as text. A file that nothing is laid over becomes
// CUE line by line, with its comments; anything else is written from the tree that
// loading gives.
func converted(doc *schema.Document, file, to string, p *argv.Line) (text []byte, secrets []string, err error) {
	whole := len(p.Assigns)+len(p.Values["inject"]) == 0 && p.Get("expression") == "" && p.Get("package") == ""
	switch {
	case to != "cue" || file == "" || !whole || isDir(file):
		return compat.Write(doc.Said(), to)
	case strings.EqualFold(filepath.Ext(file), ".cue"):
		return compat.CUEToCUE(doc.Source())
	}
	return compat.YAMLToCUE(doc.Source())
}

var migrateCommand = command{
	name: "config migrate", usage: "bring a file to this program's version of the schema",
	help: `aiperf config migrate FILE rewrites a file of an older schemaVersion.

  aiperf config migrate nightly.yaml
  aiperf config migrate nightly.yaml -o new.yaml    FILE stays as it is

Every change is printed with its line; comments and the rest stay as they are. What
has no new form is said, and nothing is written. AIPerf itself reads "2.0" only.`,
	flags: []argv.Switch{{Name: "output", Short: "o", Arg: "FILE", Doc: "write FILE, which must not exist yet"}},
	run:   (*app).configMigrate,
}

func (a *app) configMigrate(p *argv.Line) error {
	file, err := onlyFile(p, "aiperf config migrate FILE")
	if err != nil {
		return err
	}
	text, changes, err := schema.Migrate(file)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		fmt.Fprintf(a.Out, "%s: nothing to change\n", file)
		return nil
	}
	if out := p.Get("output"); out != "" {
		err = a.writeNew(out, text)
	} else {
		err = written(rewrite(file, text))
	}
	if err != nil {
		return err
	}
	for _, c := range changes {
		fmt.Fprintln(a.Out, c)
	}
	return nil
}

// rewrite replaces the text of a file, or of the one that it links to, and
// leaves its permissions alone.
func rewrite(file string, text []byte) error {
	path, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := f.Chmod(info.Mode().Perm()); err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Commit()
}
