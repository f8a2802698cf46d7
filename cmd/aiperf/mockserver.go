package main

import (
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/mockserver"
)

var mockServerCommand = command{
	minor: true, name: "mock-server", usage: "run the built-in inference server on its own",
	help: `aiperf mock-server is a truthful stand-in for an inference server, on loopback.

  aiperf mock-server --port 8000 --log truth.jsonl ttft=40ms itl=5ms
  aiperf mock-server 'mock:?step=5ms&batch=16&prefill=0.02ms'    load-dependent

It speaks every endpoint type (aiperf plugins endpoint) but grpc, whose methods
are yours, and logs the true time of every token. The same words work in a URL:
-u 'mock:?ttft=40ms'.

--words lists all of them: random times, faults, limits.`,
	flags: []argv.Switch{
		{Name: "port", Arg: "PORT", Doc: "port on 127.0.0.1; 0 (default) takes a free one"},
		{Name: "log", Arg: "FILE", Doc: "write one JSON line per request, with the true times"},
		{Name: "seed", Arg: "N", Doc: "seed of jitter and errors"},
		{Name: "words", Doc: "list what can be said of it, and end"},
		{Name: "parent", Arg: "PID", Doc: "exit when this process ends"},
	},
	refused: asWord,
	run: func(a *app, p *argv.Line) error {
		if p.Has("words") {
			names, docs := mockserver.Keys()
			for i, name := range names {
				printTwo(a.Out, name, docs[i])
			}
			return nil
		}
		return mockserver.Serve(a.issue, mockArgs(p), a.In, a.Out)
	},
}

// asWord helps who writes one of the server's words as a flag: --workers 4.
func asWord(err error) {
	e, _ := err.(*diag.Error)
	if e == nil {
		return
	}
	name, unknown := strings.CutSuffix(strings.TrimPrefix(e.Message, "--"), ": unknown flag")
	if name == "slots" { // of other servers
		name = "workers"
	}
	if keys, _ := mockserver.Keys(); unknown && slices.Contains(keys, name) {
		e.Hint = "it is a word, without dashes: aiperf mock-server " + name + "=…; --words lists all"
	}
}

// mockArgs hands the parsed command line on in its plain form.
func mockArgs(p *argv.Line) []string {
	var args []string
	for _, name := range []string{"port", "log", "seed", "parent"} {
		if p.Has(name) {
			args = append(args, "--"+name, p.Get(name))
		}
	}
	return append(args, p.Words...)
}
