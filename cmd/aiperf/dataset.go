package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/gclimit"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/chatlog"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/dataset/public"
	recorded "aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/sinks/report/preview"
)

var datasetCommand = command{
	minor: true, name: "dataset", usage: "look into a dataset file and send nothing",
	help: `aiperf dataset inspect FILE says what a file or folder holds: its format and
why, conversations, turns, lengths, time, shared prefixes, the first request.

  aiperf dataset inspect prompts.jsonl
  aiperf dataset inspect trace.jsonl --tokenizer Qwen/Qwen3-8B --why
  aiperf dataset formats                    all formats, a line each
  aiperf dataset public                     published sets and their licences
  aiperf dataset make FILE -o OUT.jsonl     what an experiment would send`,
	subs: []command{datasetMakeCommand},
	words: func(before []string) []string {
		if len(before) > 0 {
			return nil
		}
		return []string{"inspect", "formats", "public", "make"}
	},
	flags: []argv.Switch{
		{Name: "format", Arg: "FORMAT", Doc: "format of the file; without it, the records show it"},
		{Name: "tokenizer", Arg: "NAME", Doc: "tokenizer that counts lengths (default builtin)"},
		{Name: "why", Doc: "show why each other format was rejected"},
	},
	run: func(a *app, p *argv.Line) error {
		switch {
		case len(p.Words) == 1 && p.Words[0] == "formats":
			for _, f := range format.Catalogue() {
				fmt.Fprintf(a.Out, "%-38s %s\n", f.Name, f.Doc)
			}
			return nil
		case len(p.Words) == 1 && p.Words[0] == "public":
			listPublic(a.Out)
			return nil
		case len(p.Words) == 2 && p.Words[0] == "inspect":
			return inspect(a.issue, a.Out, p.Words[1], p)
		}
		return diag.New("dataset: inspect what?", "aiperf dataset inspect FILE, or aiperf dataset formats")
	},
}

var datasetMakeCommand = command{
	name: "dataset make", usage: "write the conversations of an experiment as a file",
	help: `aiperf dataset make [FILE] -o OUT.jsonl writes the conversations that the first
run of an experiment draws from, synthetic or read, as a multi_turn file, a line
each. It reads back to the same texts, turns, delays and output lengths.

  aiperf dataset make sweep.cue -o prompts.jsonl
  aiperf dataset make -m demo -u mock: --isl 512 --osl 64 --num-dataset-entries 1000 -o prompts.jsonl`,
	flags: []argv.Switch{
		setFlag, exprFlag, tagFlag, pkgFlag, modFlag, lenient,
		{Name: "output", Short: "o", Arg: "FILE", Doc: "the file to write"},
		{Name: "overwrite", Doc: "replace FILE if it exists"},
		allowPlugins,
	},
	settings: true,
	run:      (*app).datasetMake,
}

func (a *app) datasetMake(p *argv.Line) error {
	out := p.Get("output")
	if out == "" || len(p.Words) > 1 {
		return diag.New("dataset make: from what, and where to?", "aiperf dataset make FILE -o OUT.jsonl")
	}
	if _, err := os.Lstat(out); err == nil && !p.Has("overwrite") {
		return diag.New(out+": exists already", "another name, or --overwrite")
	}
	command, file := "profile", ""
	if len(p.Words) == 1 {
		command, file = "run", p.Words[0]
	}
	doc, plan, err := a.expand(command, file, p)
	if err == nil {
		err = supported(doc)
	}
	if err == nil {
		err = runner.Inputs(doc, plan, file)
	}
	if err != nil {
		return err
	}
	set, err := runner.Conversations(a.hosting(p.Has("allow-hooks")), file, plan.RunOf(plan.Cells[0], 0))
	if err != nil {
		return asUsage(err)
	}
	f, err := atomicfile.Create(out)
	if err != nil {
		return err
	}
	defer f.Abort()
	turns := 0
	for i := range set.Len() { // one at a time: a large set makes each on the spot
		c := set.At(i)
		line, err := format.Line(c)
		if err != nil {
			return asUsage(err)
		}
		turns += len(c.Turns)
		if _, err := f.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	if err := f.Commit(); err != nil {
		return err
	}
	if len(plan.Cells) > 1 {
		a.note("the first of " + words.Count(len(plan.Cells), "cell") + " is written: " + plan.Cells[0].Short())
	}
	for _, line := range slices.Concat(set.Doubts(), set.Warnings()) {
		a.note(line)
	}
	fmt.Fprintf(a.Out, "%s: %s, %s\n", out, words.Count(set.Len(), "conversation"), words.Count(turns, "turn"))
	return nil
}

// listPublic prints the published sets: name, what a record becomes, place,
// licence, and whether it is on this machine.
func listPublic(w io.Writer) {
	for _, s := range public.Catalogue() {
		at := cmp.Or(s.Repo, s.Address, "named by --hf-weka-dataset")
		if s.Subset != "" {
			at += " (" + s.Subset + ")"
		}
		state := ""
		if _, err := s.Find(""); err == nil {
			state = ", here"
		} else if s.Gated {
			state = ", gated"
		}
		fmt.Fprintf(w, "%-54s %s\n    %s, licence: %s%s\n", s.Name, s.Title, at, cmp.Or(s.License, "not stated"), state)
	}
}

func inspect(ctx context.Context, w io.Writer, path string, p *argv.Line) error {
	if _, err := os.Stat(path); err != nil {
		return diag.New("no such file: "+path, "")
	}
	found := format.Found{Format: p.Get("format"), Why: "--format sets it"}
	if found.Format == "" {
		var err error
		if found, err = format.Detect(path); err != nil {
			return asUsage(err)
		}
	}
	tok, err := tokenizer.Open(cmp.Or(p.Get("tokenizer"), "builtin"))
	if err != nil {
		return asUsage(err)
	}
	set, err := dataset.OpenSeeds(ctx, schema.Dataset{
		Type: fields.DatasetTypeTaking("path").Name, Path: path,
		Format: found.Format,
	}, tok, dataset.Seeds{}, dataset.Wrapping{}, "profiling")
	if err != nil {
		return asUsage(err)
	}
	fmt.Fprintf(w, "%s: %s (%s)\n", path, found.Format, found.Why)
	if p.Has("why") {
		for _, no := range found.Not {
			if !no.Alike {
				fmt.Fprintf(w, "  not %s: %s\n", no.Format, no.Why)
			}
		}
	}
	return preview.Dataset(ctx, w, path, found.Format, set, tok)
}

var analyzeTraceCommand = command{
	minor: true, name: "analyze-trace", usage: "say how long a trace's requests are and how they share prefixes",
	help: `aiperf analyze-trace FILE reads recorded load and sends nothing.

  aiperf analyze-trace trace.jsonl
  aiperf analyze-trace trace.jsonl --block-size 64 --output-file analysis.json

It prints lengths, the share of the input that an infinite prefix cache would
hold (the mean over requests, and over all tokens), and the share that smaller
caches would hold when they drop what was used least recently.`,
	flags: []argv.Switch{
		{Name: "input-file", Arg: "FILE", Doc: "the trace; the same as naming it without a flag"},
		{Name: "block-size", Arg: "TOKENS", Doc: "tokens per hash id (default: the format's, 512 for mooncake)"},
		{Name: "output-file", Arg: "FILE", Doc: "write the analysis as JSON"},
		{Name: "format", Arg: "FORMAT", Doc: "format of the file; without it, the records show it"},
	},
	run: func(a *app, p *argv.Line) error {
		file, block, err := traceArguments(p, "aiperf analyze-trace FILE")
		if err != nil {
			return err
		}
		defer gclimit.Writing()() // a trace is long lists of numbers
		t, err := format.ReadTrace(a.issue, file, p.Get("format"), block)
		if err != nil {
			return asUsage(err)
		}
		found := recorded.Analyze(t.Rows, t.Block)
		preview.Trace(a.Out, file, t, found)
		if out := p.Get("output-file"); out != "" {
			b, err := json.MarshalIndent(found, "", "  ")
			if err == nil {
				err = atomicfile.Through(out, append(b, '\n'))
			}
			return err
		}
		return nil
	},
}

// traceArguments are the file and the block size, 0 when it is not said.
func traceArguments(p *argv.Line, usage string) (file string, block int, err error) {
	if file = p.Get("input-file"); file == "" {
		if file, err = onlyFile(p, usage); err != nil {
			return "", 0, diag.New("which trace?", usage)
		}
	}
	if s := p.Get("block-size"); s != "" {
		if block, err = strconv.Atoi(s); err != nil || block < 1 {
			return "", 0, diag.New("--block-size: "+s+" is not a number of tokens",
				"16 for vLLM, 512 for mooncake traces")
		}
	}
	if _, err := os.Stat(file); err != nil {
		return "", 0, diag.New("no such file: "+file, "")
	}
	return file, block, nil
}

var synthesizeTraceCommand = command{
	minor: true, name: "synthesize-trace", usage: "write a changed trace: faster, longer prefixes, more of them",
	help: `aiperf synthesize-trace INPUT OUTPUT changes recorded load and writes it as a
mooncake trace. aiperf profile --input-file takes the same changes as
--synthesis-… flags, without a file in between.

  aiperf synthesize-trace prod.jsonl fast.jsonl --speedup-ratio 2
  aiperf synthesize-trace prod.jsonl long.jsonl --prefix-len-multiplier 1.5`,
	flags: []argv.Switch{
		{Name: "block-size", Arg: "TOKENS", Doc: "tokens per hash id"},
		{Name: "speedup-ratio", Arg: "K", Doc: "play it this many times faster"},
		{Name: "prefix-len-multiplier", Arg: "K", Doc: "factor on the length of shared prefixes"},
		{Name: "prefix-root-multiplier", Arg: "N", Doc: "number of prefix trees over which the trace is spread"},
		{Name: "prompt-len-multiplier", Arg: "K", Doc: "factor on the length of what follows the prefix"},
		{Name: "output-len-multiplier", Arg: "K", Doc: "factor on output lengths"},
		{Name: "max-isl", Arg: "TOKENS", Doc: "leave out requests with longer inputs"},
		{Name: "max-osl", Arg: "TOKENS", Doc: "cut longer outputs"},
		{Name: "random-seed", Arg: "N", Doc: "seed of the choice of trees (default 0)"},
	},
	run: func(a *app, p *argv.Line) error {
		if len(p.Words) != 2 {
			return diag.New("which trace, and where to?", "aiperf synthesize-trace INPUT OUTPUT")
		}
		in, out := p.Words[0], p.Words[1]
		p.Words = p.Words[:1]
		_, block, err := traceArguments(p, "aiperf synthesize-trace INPUT OUTPUT")
		if err != nil {
			return err
		}
		if sameFile(in, out) {
			return diag.New(out+": is the trace itself", "write to another file")
		}
		params, root, err := synthesisOf(p)
		if err != nil {
			return err
		}
		t, err := format.ReadTrace(a.issue, in, "", block)
		if err != nil {
			return asUsage(err)
		}
		params.BlockSize = t.Block
		rows, err := params.Apply(t.Rows, seed.Stream(root, "synthesize"))
		if err != nil {
			return asUsage(err)
		}
		if len(rows) == 0 {
			return diag.New(fmt.Sprintf("%s: no request has at most %d input tokens", in, params.MaxISL),
				"a larger --max-isl; aiperf analyze-trace shows the lengths")
		}
		if err := writeTrace(out, rows); err != nil {
			return err
		}
		before, after := recorded.Analyze(t.Rows, t.Block), recorded.Analyze(rows, t.Block)
		fmt.Fprintf(a.Out, "%s: %s, mean input %s tokens (was %s), hit rate %.1f %% of tokens (was %.1f %%)\n", out,
			words.Count(len(rows), "request"),
			words.Whole(int64(math.Round(after.AvgISL))), words.Whole(int64(math.Round(before.AvgISL))),
			100*after.TokenHitRate, 100*before.TokenHitRate)
		return nil
	},
}

// synthesisOf reads the numbers of synthesize-trace.
func synthesisOf(p *argv.Line) (params recorded.Params, seed int64, err error) {
	var roots, isl, osl, random, output float64
	for _, f := range []struct {
		name  string
		to    *float64
		least float64
	}{
		{"speedup-ratio", &params.Speedup, 1e-9},
		{"prefix-len-multiplier", &params.PrefixLen, 1e-9},
		{"prompt-len-multiplier", &params.PromptLen, 1e-9},
		{"prefix-root-multiplier", &roots, 1},
		{"max-isl", &isl, 1},
		{"max-osl", &osl, 1},
		{"random-seed", &random, 0},
		{"output-len-multiplier", &output, 0},
	} {
		if s := p.Get(f.name); s != "" {
			if *f.to, err = strconv.ParseFloat(s, 64); err != nil || !(*f.to >= f.least && *f.to < 1e9) {
				return params, 0, diag.New(fmt.Sprintf("--%s: %s is not a number from %g", f.name, s, f.least), "")
			}
		}
	}
	if p.Has("output-len-multiplier") {
		params.OutputLen = &output
	}
	params.Roots, params.MaxISL, params.MaxOSL = int(roots), int64(isl), int64(osl)
	return params, int64(random), nil
}

func writeTrace(path string, rows []recorded.Row) error {
	var b []byte
	for i := range rows {
		line, err := format.Mooncake(&rows[i])
		if err != nil {
			return err
		}
		b = append(append(b, line...), '\n')
	}
	return atomicfile.Through(path, b)
}

var anonymizeTraceCommand = command{
	minor: true, name: "anonymize-trace", usage: "turn a chat log into a trace of lengths and hashes without its words",
	help: `aiperf anonymize-trace --input-file LOG --model MODEL writes a mooncake trace
that can be shared: times, token counts and which prefixes are equal, no text.

  aiperf anonymize-trace --input-file log.jsonl --model Qwen/Qwen3-0.6B

A line of the log is {"messages": […], "output": "…"} with an optional
"timestamp" (ms) and "session_id"; a session's later lines hold what is new.
MODEL is whose tokens are counted: a local tokenizer, or builtin.`,
	flags: []argv.Switch{
		{Name: "input-file", Arg: "FILE", Doc: "the chat log"},
		{Name: "model", Arg: "NAME", Doc: "model or tokenizer that counts"},
		{Name: "output-file", Arg: "FILE", Doc: "the trace (default <input>_anonymized.jsonl)"},
		{Name: "block-size", Arg: "TOKENS", Doc: "tokens per hash id (default 512)"},
	},
	run: func(a *app, p *argv.Line) error {
		file, block, err := traceArguments(p, "aiperf anonymize-trace --input-file LOG --model MODEL")
		if err != nil {
			return err
		}
		if block == 0 {
			block = 512
		}
		if p.Get("model") == "" {
			return diag.New("whose tokens?", "--model NAME, or --model builtin to count by o200k_base")
		}
		tok, err := tokenizer.Open(p.Get("model"))
		if err != nil {
			return asUsage(err)
		}
		rows, err := chatlog.Anonymize(a.issue, file, tok, block, chatlog.Plainly)
		if err != nil {
			return asUsage(err)
		}
		out := p.Get("output-file")
		if out == "" {
			out = strings.TrimSuffix(file, filepath.Ext(file)) + "_anonymized.jsonl"
		}
		if err := writeTrace(out, rows); err != nil {
			return err
		}
		found := recorded.Analyze(rows, block)
		fmt.Fprintf(a.Out, "%s: %s, mean input %s tokens, an infinite prefix cache knows %.1f %% of them\n", out,
			words.Count(len(rows), "request"),
			words.Whole(int64(found.AvgISL)), 100*found.TokenHitRate)
		return nil
	},
}

// checkTrace is AIPerf's way to ask whether a file is a sound mooncake trace.
func checkTrace(a *app, files []string) error {
	if len(files) != 1 {
		return diag.New("validate: mooncake-trace: which file?",
			"aiperf validate mooncake-trace FILE, or aiperf dataset inspect FILE for any format")
	}
	if _, err := os.Stat(files[0]); err != nil {
		return diag.New("no such file: "+files[0], "")
	}
	t, err := format.ReadTrace(a.issue, files[0], "mooncake_trace", 0)
	if err != nil {
		return asUsage(err)
	}
	fmt.Fprintf(a.Out, "%s: valid; %s\n", files[0], words.Count(len(t.Rows), "request"))
	for _, n := range t.Notes {
		fmt.Fprintf(a.Out, "note: %s\n", words.Line(n))
	}
	return nil
}
