package prove

import (
	"fmt"
	"math"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sweep/decide"
)

// A Change is one way in which the load of the experiment differs from the load as it was
// measured: a cell of its sweep, beside the unchanged one.
type Change struct {
	Name string // of the cell
	Doc  string
	dose decide.Key // what it changes: that it did is measured, and by how much
	kind string     // of that, in words
}

// unchanged is the cell that every change is compared with.
const unchanged = "as measured"

// Changes are those of the experiment, in the order of its cells. Each lessens one thing:
// a shorter prompt or answer is to be had from any server, and takes less time than the
// load itself. With half the load a server may still run as many requests as it can, and
// how fast tokens are with fewer would not be seen.
func Changes() []Change {
	return []Change{
		{"a quarter of the load", "a quarter as many requests at once", avg(metrics.EffectiveConcurrency), "requests in flight"},
		{"half the prompt", "prompts half as long, as many at once", avg(metrics.InputSequenceLength), "prompts"},
		{"half the answer", "answers half as long, as many at once", avg(metrics.OutputSequenceLength), "answers"},
	}
}

func avg(tag string) decide.Key { return decide.Key{Tag: tag, Stat: "avg"} }

// An Effect is what a change is expected to move: the exponent e of a time in what was
// changed, time ∝ change^e. Of a time that halves with the change it is 1, of one that
// stays it is 0. The number in flight is held, so that throughput is its reciprocal.
type Effect struct {
	Name   string
	Change string
	key    decide.Key
	about  string // the time, in words
	says   string // how it changed: by how much, less or more, is filled in
	words  [2]string
}

// Effects are all that are looked at.
func Effects() []Effect {
	latency, takes, less := avg(metrics.RequestLatency), "a request takes %s %s", [2]string{"less time", "more time"}
	return []Effect{
		{"wait_for_others", "a quarter of the load", latency, "latency", takes, less},
		{"slower_tokens", "a quarter of the load", avg(metrics.InterTokenLatency), "time between tokens", "the time between tokens is %s %s", [2]string{"shorter", "longer"}},
		{"prompt", "half the prompt", latency, "latency", takes, less},
		{"answer", "half the answer", latency, "latency", takes, less},
	}
}

// A Range is where a cause expects an exponent. Ranges of two causes overlap where either
// may be: what lies there speaks against neither.
type Range struct{ Low, High float64 }

var inf = math.Inf(1)

// said is a range as the documentation has it.
func (r Range) said() string {
	low, high := !math.IsInf(r.Low, -1), !math.IsInf(r.High, 1)
	switch {
	case low && high:
		return fmt.Sprintf("%g to %g", r.Low, r.High)
	case low:
		return fmt.Sprintf("≥ %g", r.Low)
	case high:
		return fmt.Sprintf("≤ %g", r.High)
	}
	return "any"
}

// Catalogue are the effects, and the causes with what they expect of them, for the
// documentation.
func Catalogue() (effects []string, rows [][]string) {
	for _, e := range Effects() {
		effects = append(effects, e.Change+": "+e.about)
	}
	for _, c := range Causes() {
		row := []string{"`" + c.Name + "`", c.Title}
		few, half, many := c.Expects(0), c.Expects(0.5), c.Expects(1)
		for i := range half {
			text := half[i].said()
			if few[i] != half[i] {
				text += fmt.Sprintf(" (%s where prompts are less than %g %% of the tokens)", few[i].said(), 100*rest)
			}
			if many[i] != half[i] {
				text += fmt.Sprintf(" (%s where answers are less than %g %%)", many[i].said(), 100*rest)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return effects, rows
}

// A Cause is one answer to the question why it was slow: a row of the catalogue.
type Cause struct {
	Name  string // as findings of aiperf diagnose are called
	Title string
	Says  string // the cause as a sentence without its full stop
	Next  string
	// Expects is where the exponents of Effects lie, in their order, of a load whose prompts
	// are that share of its tokens.
	Expects func(prompts float64) [4]Range
	bound   bool // it is a limit
}

// Bounds of ranges. An exponent of 0.15 is a tenth, when something is doubled, and a quarter, when there is four
// times as much of it.
const (
	little = 0.15 // at most so much of a time that does not depend on the change
	some   = 0.1  // at least so much of one that does
	rest   = 0.3  // share of the tokens from which on a part of them matters to a cache
)

// notBound is the cause that is none.
const notBound = "not_bound"

// Causes are the catalogue. They differ in how the time of a request, and that between its
// tokens, depends on the number of requests, the prompt and the answer:
//
//   - nothing: not on the number of requests;
//   - slots, and other places for a fixed number of requests: on the number; tokens come as
//     fast, for as many run; in proportion to the answer, which a place is held for;
//   - KV cache: on the number, and more than in proportion on lengths, which both the
//     time of a place and the number of places depend on;
//   - prompts: tokens come slower with more requests, for each prompt delays all answers;
//     in proportion to neither length alone;
//   - tokens: the same, without the prompt;
//   - front end: on the number and nothing else.
func Causes() []Cause {
	least := Range{some, inf}
	return []Cause{
		{
			Name: notBound, Title: "no limit at this load",
			Says: "nothing limits the server at this load: a request takes as long among a quarter as many",
			Next: "measure a higher load, or look at the time that a request takes alone",
			Expects: func(float64) [4]Range {
				return [4]Range{{-inf, little}, {-inf, little}, {-inf, inf}, {-inf, inf}}
			},
		},
		{
			Name: "admission", Title: "requests wait for a slot", bound: true,
			Says: "requests wait for a slot",
			Next: "let the server run more at once (vLLM --max-num-seqs, SGLang --max-running-requests), or send fewer requests at once",
			Expects: func(float64) [4]Range {
				return [4]Range{least, {-inf, little}, {-inf, 0.2}, {0.6, 1.15}}
			},
		},
		{
			Name: "kv_cache", Title: "the KV cache is full", bound: true,
			Says: "the KV cache is full: requests wait for room in it",
			Next: "give the KV cache more memory (vLLM --gpu-memory-utilization, SGLang --mem-fraction-static) or a smaller type, shorten prompts and answers, or send fewer requests at once",
			Expects: func(prompts float64) [4]Range {
				r := [4]Range{least, {-inf, inf}, {-inf, inf}, {0.9, inf}}
				if prompts >= rest {
					r[2].Low = little
				}
				if 1-prompts >= rest {
					r[3].Low = 1.05
				}
				return r
			},
		},
		{
			Name: "prefill", Title: "prompts take the server's time", bound: true,
			Says: "reading prompts takes the server's time",
			Next: "shorten the prompts or let them share prefixes, or read prompts on other GPUs than those that make tokens",
			Expects: func(float64) [4]Range {
				return [4]Range{least, least, least, {-inf, 0.9}}
			},
		},
		{
			Name: "decode", Title: "making tokens takes the server's time", bound: true,
			Says: "making tokens takes the server's time: each takes longer, the more requests there are",
			Next: "look at the GPU: memory bandwidth in use (DRAM active) and power say which part of it is the limit",
			Expects: func(float64) [4]Range {
				return [4]Range{least, least, {-inf, little}, {0.7, 1.15}}
			},
		},
		{
			Name: "front_end", Title: "something before the engine takes one request at a time", bound: true,
			Says: "something that handles few requests at once takes as long for a short request as for a long one: a front end, a router, a limit on the rate",
			Next: "look at the server's front end (tokenizer, HTTP, router, parsers of answers), and run more of it",
			Expects: func(float64) [4]Range {
				return [4]Range{least, {-inf, little}, {-inf, little}, {-inf, 0.25}}
			},
		},
	}
}
