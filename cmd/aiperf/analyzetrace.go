package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset"
	recorded "aiperf.dev/aiperf/loadgen/dataset/trace"
)

var analyzeTraceCommand = command{
	minor: true, name: "analyze-trace", usage: "say how long a trace's requests are and how they share prefixes",
	help: `aiperf analyze-trace FILE reads recorded load and sends nothing.

  aiperf analyze-trace trace.jsonl
  aiperf analyze-trace trace.jsonl --block-size 64 --output-file analysis.json

It prints lengths, how much of the input an infinite prefix cache would know
(as the mean over requests and over all tokens), and what smaller caches would
know that forget what was used least recently.`,
	flags: []argv.Switch{
		{Name: "input-file", Arg: "FILE", Doc: "the trace, in place of a word"},
		{Name: "block-size", Arg: "TOKENS", Doc: "tokens of one hash (default: what the format says, 512 for mooncake)"},
		{Name: "output-file", Arg: "FILE", Doc: "write the analysis as JSON"},
		{Name: "format", Arg: "FORMAT", Doc: "what the file is; found by its records when left out"},
	},
	run: func(a *app, p *argv.Line) error {
		file, block, err := traceArguments(p, "aiperf analyze-trace FILE")
		if err != nil {
			return err
		}
		t, err := dataset.ReadTrace(file, p.Get("format"), block)
		if err != nil {
			return asUsage(err)
		}
		found := recorded.Analyze(t.Rows, t.Block)
		printAnalysis(a.Out, file, t, found)
		if out := p.Get("output-file"); out != "" {
			b, err := json.MarshalIndent(found, "", "  ")
			if err == nil {
				err = atomicfile.Write(out, append(b, '\n'))
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
			return "", 0, diag.New("--block-size: "+s+" is not a number of tokens", "16 for vLLM, 512 for mooncake traces")
		}
	}
	if _, err := os.Stat(file); err != nil {
		return "", 0, diag.New("no such file: "+file, "")
	}
	return file, block, nil
}

func printAnalysis(w io.Writer, file string, t *dataset.Trace, a *recorded.Analysis) {
	fmt.Fprintf(w, "%s: %s, blocks of %d tokens\n", file, t.Format, t.Block)
	fmt.Fprintf(w, "%s in %s", words.Count(a.Requests, "request"), words.Count(a.Sessions, "session"))
	if a.DurationSeconds > 0 {
		fmt.Fprintf(w, " over %s s, %s requests/s", words.Number(a.DurationSeconds), words.Number(float64(a.Requests)/a.DurationSeconds))
	}
	fmt.Fprintf(w, "\n\n%-22s %10s %10s %10s %10s %10s\n", "", "mean", "p25", "p50", "p75", "max")
	for _, row := range []struct {
		name string
		s    *recorded.Stats
		by   float64
	}{
		{"input tokens", a.ISL, 1},
		{"output tokens", a.OSL, 1},
		{"shared input tokens", a.ContextLength, 1},
		{"own input tokens", a.UniquePromptLen, 1},
		{"hit rate %", a.HitRate, 100},
	} {
		if row.s == nil {
			continue
		}
		fmt.Fprintf(w, "%-22s", row.name)
		for _, v := range []float64{row.s.Mean, row.s.P25, row.s.Median, row.s.P75, row.s.Max} {
			fmt.Fprintf(w, " %10s", words.Whole(int64(math.Round(v*row.by))))
		}
		fmt.Fprintln(w)
	}
	if a.HitRate == nil {
		fmt.Fprintln(w, "\nno hashes: nothing is known about shared prefixes")
		return
	}
	fmt.Fprintf(w, "\nAn infinite prefix cache knows %.1f %% of all input tokens (%.1f %% of a request's blocks on average).\n", 100*a.TokenHitRate, 100*a.CacheHitRate)
	fmt.Fprintf(w, "%s, %.1f %% of their appearances repeated; %s shared by several requests.\n",
		words.Count(a.UniquePrefixes, "different prefix"), 100*a.PrefixReuseRatio, words.Count(a.PrefixGroups, "first block"))
	var parts []string
	for _, c := range a.FiniteCacheCurves {
		parts = append(parts, fmt.Sprintf("%s tokens: %.1f %%", words.Whole(int64(c.Tokens)), 100*c.TokenHitRate))
	}
	fmt.Fprintf(w, "A cache that holds so much knows: %s\n", strings.Join(parts, " · "))
}

var synthesizeTraceCommand = command{
	minor: true, name: "synthesize-trace", usage: "write a changed trace: faster, longer prefixes, more of them",
	help: `aiperf synthesize-trace INPUT OUTPUT changes recorded load and writes it as a
mooncake trace. aiperf profile --input-file takes the same changes as
--synthesis-… flags and needs no file between.

  aiperf synthesize-trace prod.jsonl fast.jsonl --speedup-ratio 2
  aiperf synthesize-trace prod.jsonl long.jsonl --prefix-len-multiplier 1.5 --max-isl 8192`,
	flags: []argv.Switch{
		{Name: "block-size", Arg: "TOKENS", Doc: "tokens of one hash"},
		{Name: "speedup-ratio", Arg: "K", Doc: "times are divided by it"},
		{Name: "prefix-len-multiplier", Arg: "K", Doc: "factor on the length of shared prefixes"},
		{Name: "prefix-root-multiplier", Arg: "N", Doc: "trees that prefixes are spread over"},
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
		params, seed, err := synthesisOf(p)
		if err != nil {
			return err
		}
		t, err := dataset.ReadTrace(in, "", block)
		if err != nil {
			return asUsage(err)
		}
		params.BlockSize = t.Block
		rows, err := params.Apply(t.Rows, seedOf(seed))
		if err != nil {
			return asUsage(err)
		}
		if err := writeTrace(out, rows); err != nil {
			return err
		}
		before, after := recorded.Analyze(t.Rows, t.Block), recorded.Analyze(rows, t.Block)
		fmt.Fprintf(a.Out, "%s: %s, mean input %s tokens (was %s), hit rate %.1f %% of tokens (was %.1f %%)\n", out, words.Count(len(rows), "request"),
			words.Whole(int64(math.Round(after.AvgISL))), words.Whole(int64(math.Round(before.AvgISL))), 100*after.TokenHitRate, 100*before.TokenHitRate)
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
		line, err := dataset.Mooncake(&rows[i])
		if err != nil {
			return err
		}
		b = append(append(b, line...), '\n')
	}
	return atomicfile.Write(path, b)
}
