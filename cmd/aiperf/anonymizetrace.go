package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset"
	recorded "aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

var anonymizeTraceCommand = command{
	minor: true, name: "anonymize-trace", usage: "turn a chat log into a trace of lengths and hashes without its words",
	help: `aiperf anonymize-trace --input-file LOG --model MODEL writes a mooncake trace
that can be shared: times, token counts and which prefixes are equal, no text.

  aiperf anonymize-trace --input-file log.jsonl --model meta-llama/Llama-3.1-8B-Instruct

A line of the log is {"messages": […], "output": "…"} with an optional
"timestamp" (ms) and "session_id"; a session's later lines hold what is new.
MODEL is whose tokens are counted: a local tokenizer, or builtin.`,
	flags: []argv.Switch{
		{Name: "input-file", Arg: "FILE", Doc: "the chat log"},
		{Name: "model", Arg: "NAME", Doc: "model or tokenizer that counts"},
		{Name: "output-file", Arg: "FILE", Doc: "the trace (default <input>_anonymized.jsonl)"},
		{Name: "block-size", Arg: "TOKENS", Doc: "tokens of one hash (default 512)"},
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
		rows, err := dataset.Anonymize(file, tok, block, dataset.Plainly)
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
		fmt.Fprintf(a.Out, "%s: %s, mean input %s tokens, an infinite prefix cache knows %.1f %% of them\n", out, words.Count(len(rows), "request"),
			words.Whole(int64(found.AvgISL)), 100*found.TokenHitRate)
		return nil
	},
}

func seedOf(root int64) *rand.Rand { return seed.Stream(root, "synthesize") }
