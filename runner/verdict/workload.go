package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
)

// workloads ask whether the server, or the load, did something else than was
// asked. They never make a run INVALID: its numbers are right, of another thing.
var workloads = []Check{
	{
		ID: validity.Errors, Limits: "DEGRADED above 0.001",
		Try:  "the server's log; the table requests has each error_message",
		Kind: Workload, Unit: "ratio", Touches: []string{answers}, Reads: "how requests ended",
		Doc:  "share of requests that failed at the server",
		Read: perPhase(errorShare),
	},
	{
		ID: "censored", Limits: "DEGRADED above 0.02",
		Try:  "a grace period longer than the longest answer (--benchmark-grace-period), or a longer run",
		Kind: Workload, Unit: "ratio", Touches: append(firstToken, wholeAnswer...),
		Reads: "ages of requests that the end of the phase cut off",
		Doc:   "how wrong a percentile can be because requests were cut off: the range between counting them at their age and as never answered",
		Read:  perPhases(censored),
	},
	{
		ID: "admission_wait", Limits: "DEGRADED above 0.01",
		Try:  "raise concurrency, or use the latencies from schedule",
		Kind: Workload, Unit: "ratio", Of: openLoops, Touches: slices.Concat(rates, outcomes, firstToken, wholeAnswer),
		Reads: "admitted and intended stamps",
		Doc:   "share of due requests that waited more than 1 ms for a slot (turns of users: for the answer before them), as in a closed loop",
		Read:  perPhase(admissionWait),
	},
	{
		ID: "workers_alike", Limits: "DEGRADED above 0.1, and above what chance explains",
		Try:  "check that worker's machine and its network path to the server",
		Kind: Workload, Unit: "ratio", Touches: append(firstToken, wholeAnswer...), Reads: "latencies by worker",
		Doc:  "with several workers: by how much the median latency of one differs from that of all",
		Read: perPhase(workersAlike),
	},
	{
		ID: "workers_together", Limits: "DEGRADED above 10 ms",
		Try:  "workers nearer to the coordinator, or on machines that are less busy",
		Kind: Workload, Unit: "ms", Touches: rates, Reads: "the clocks of workers, and when they began",
		Doc:  "with several workers: how far apart they may have begun a phase, by what is known of their clocks",
		Read: workersTogether,
	},
	{
		ID: "workers_lost", Limits: "DEGRADED above 0",
		Try:  "on_worker_loss: abort sends such a run again, by as many workers as were asked for",
		Kind: Workload, Unit: "ratio", Touches: slices.Concat(rates, outcomes, firstToken, wholeAnswer),
		Reads: "when the last sign of each worker came",
		Doc:   "with several workers and on_worker_loss: continue: the share of them that was lost while the run went on",
		Read:  workersLost,
	},
	{
		ID: validity.Backlog, Limits: "DEGRADED above 0.095, and above what chance explains", Try: keepUpTry,
		Kind: Workload, Unit: "ratio", Of: openLoops, Touches: overloaded,
		Reads: "when requests were due and when they ended",
		Doc:   "open loop at a constant rate: share of requests that were waiting when the last one was due, beyond what the early answers explain; over trials the mean decides",
		Read:  perPhase(backlog),
	},
	{
		ID: validity.Stable, Try: stableTry,
		Limits: "DEGRADED above 0.1, or what stability.percentage says, and below 3 windows with answers",
		Kind:   Workload, Unit: "ratio", Of: untilStable, Touches: slices.Concat(rates, firstToken, wholeAnswer, perToken),
		Reads: "throughput and mean latency of the windows of the load",
		Doc:   "a load that ends when it is stable (stability): by how much the last three windows differ, in throughput or in mean latency, whichever is more",
		Read:  perPhase(stability),
	},
	{
		ID: "tokens", Limits: "DEGRADED above 0",
		Try:  "name the model's tokenizer (--tokenizer), or --tokenizer builtin to accept it",
		Kind: Workload, Unit: "level", Touches: tokenCounts, Reads: "the tokenizer, and whether the server counts",
		Doc:  "1 if tokens were counted neither with the model's tokenizer nor by the server",
		Read: tokens,
	},
	{
		ID: validity.OSLHonoured, Limits: "DEGRADED above 0.05",
		Try:  "make the server ignore its end token: extra: {ignore_eos: true}, or min_tokens",
		Kind: Workload, Unit: "ratio", Touches: append(tokenCounts, wholeAnswer...),
		Reads: "the server's own counts of output tokens",
		Doc:   "share of answers whose length, by the server's count, differs from the requested one by more than 5 % (at most 50 tokens)",
		Read:  oslHonoured,
	},
	{
		ID: "streamed", Limits: "DEGRADED above 0",
		Try:  "leave out --streaming, or find what keeps the server from streaming (a proxy that buffers, stream: false in the body)",
		Kind: Workload, Unit: "ratio", Of: streams, Touches: append(firstToken, gaps...),
		Reads: "whether an answer came as a stream",
		Doc:   "share of answers that came in one piece although streaming was requested; their time to first token is that of the whole answer",
		Read:  streamed,
	},
	{
		ID: "held_open", Limits: "DEGRADED above 0.1",
		Try:  "find what keeps the answers open: the server, or a proxy in front of it",
		Kind: Workload, Unit: "ratio", Of: closedLoops, Touches: rates,
		Reads: "when the last content came and when the answer ended",
		Doc:   "closed loop: how long answers were kept open after their last content, as a share of the mean latency: their slots wait for the end",
		Read:  perPhase(heldOpen),
	},
	{
		ID: "resent", Limits: "DEGRADED above 0.01",
		Try:  "--connection-reuse-strategy never, or a longer keep-alive timeout of the server",
		Kind: Workload, Unit: "ratio", Touches: all, Reads: "requests that were sent once more",
		Doc:  "share of requests that were sent again, because the server closed the connection after it had received them; it may have worked on them twice",
		Read: perPhase(resentShare),
	},
	{
		ID: "prefix_cache", Limits: "DEGRADED above 0.05",
		Try:  "more dataset entries, or cache_bust for prompts from a file",
		Kind: Workload, Unit: "ratio", Touches: firstToken,
		Reads: "the server's own counts of tokens and of cached ones",
		Doc:   "share of prompt tokens that the server took from its prefix cache, where none was asked for; the chat template and a system prompt, which any prompt shares, and the earlier turns of a conversation with their answers are left out",
		Read:  prefixCache,
	},
	{
		ID: "cache_hits", Limits: "DEGRADED above 0.05",
		Try:  "more entries, or a server whose cache is on and large enough",
		Kind: Workload, Unit: "ratio", Touches: firstToken,
		Reads: "the server's own counts of cached tokens, and the prefixes that the data set declares",
		Doc:   "difference between the share of prompt tokens from the server's prefix cache and the declared share (prefix_prompts: hit_rate, or a pool)",
		Read:  cacheHits,
	},
	{
		ID: "dimensions", Limits: "DEGRADED above 0",
		Try:  "ask each server which model it has; if the lengths are wanted, declare it: verdict: {dimensions: {warn: 1}}",
		Kind: Workload, Unit: "ratio", Touches: all, Reads: "the lengths of the vectors in the answers",
		Doc:  "share of answers whose vectors differ in length from most others; one model gives one length",
		Read: perPhase(dimensions),
	},
	{
		ID: "identity", Limits: "DEGRADED above 0",
		Try:  "find out who restarted or replaced the server, then run again",
		Kind: Workload, Unit: "level", Touches: all,
		Reads: "what the server lists before and after, and the model named in each answer",
		Doc:   "models and Server header at the start and at the end, and the model that answers name: 0 the same, 1 changed, 2 another model",
		Read:  identity,
	},
}

// censored compares two bounds of each percentile: what was cut off took as long
// as it had lasted, or for ever. The truth lies between them. Each touches itself,
// and any of them the mean.
func censored(p *PhaseEvidence) []Reading {
	if p.Cut == 0 {
		if p.OK == 0 {
			return nil
		}
		return []Reading{{Warn: harmDoubted, Fail: never, Detail: "no request was cut off by the end of the phase"}}
	}
	touched := slices.Concat(firstToken, wholeAnswer)
	share := float64(p.Cut) / float64(p.OK+p.Cut)
	low := merged(p.Latency, p.Ages)
	out := []Reading{{ // tokens were counted as they came; how much of a request that was is not known
		Value: share, Warn: harmDoubted, Fail: never, Touches: []string{metrics.RequestThroughput},
		Detail: fmt.Sprintf("%d of %s were cut off by the end of the phase", p.Cut, words.Count(p.OK+p.Cut, "request")),
		So:     ": the request rate leaves out what was done for them",
		Try:    "a grace period longer than the longest answer (--benchmark-grace-period), or a longer run",
	}}
	for _, c := range percentiles {
		// the place among the answered ones when the others never end
		plain, at := stats.Quantile(p.Latency, c.q), c.q/(1-share)
		bottom, top := stats.Quantile(low, c.q), math.Inf(1)
		if at <= 1 {
			top = stats.Quantile(p.Latency, at)
		}
		r := Reading{
			Value: 1, Warn: harmDoubted, Fail: never, Touches: append(c.of(touched...), statsOf(means, touched)...),
			Detail: fmt.Sprintf("%d of %s were cut off by the end of the phase", p.Cut,
				words.Count(p.OK+p.Cut, "request")),
			Try: "a grace period longer than the longest answer (--benchmark-grace-period), or a longer run",
		}
		if top > 0 && !math.IsInf(top, 1) {
			r.Value = max(0, top-min(bottom, plain)) / top
		}
		if math.IsInf(top, 1) {
			r.So = atLeast(c.name, bottom, plain)
		} else {
			r.So = fmt.Sprintf(": request latency %s lies between %s and %s", c.name, words.Millis(min(bottom, plain)),
				words.Millis(top))
		}
		out = append(out, r)
	}
	return out
}

// fewestCached is of prompts of either kind, for the median of their times.
const fewestCached = 5

// cacheEffect says what the cache did to the time to first token, where there
// are prompts with it and without it to tell.
func (p *PhaseEvidence) cacheEffect() string {
	if len(p.TTFTCached) < fewestCached || len(p.TTFTNew) < fewestCached {
		return ": TTFT is better than for new prompts"
	}
	return fmt.Sprintf(": TTFT p50 is %s for prompts that were cached by half and more, and %s for the others",
		words.Millis(median(p.TTFTCached)), words.Millis(median(p.TTFTNew)))
}

// atLeast says what is known of a percentile that has no upper bound.
func atLeast(name string, bottom, plain float64) string {
	known := max(bottom, plain)
	switch { // max of a NaN is NaN
	case math.IsNaN(bottom):
		known = plain
	case math.IsNaN(plain):
		known = bottom
	}
	if math.IsNaN(known) {
		return fmt.Sprintf(": request latency %s is unknown, because no answer came", name)
	}
	least := words.Millis(known)
	if was := words.Millis(plain); was != least && !math.IsNaN(plain) {
		return fmt.Sprintf(": request latency %s is at least %s (%s for answered requests)", name, least, was)
	}
	return fmt.Sprintf(": request latency %s is at least %s", name, least)
}

// merged is two sorted lists as one.
func merged(a, b []float64) []float64 {
	out := append(append(make([]float64, 0, len(a)+len(b)), a...), b...)
	stats.Sort(out)
	return out
}

// admissionWait is about arrivals that the clock says: in a closed loop a
// request waits for nothing else than the answer before it.
func admissionWait(p *PhaseEvidence) (Reading, bool) {
	if p.Result.Closed || p.admitted == 0 {
		return Reading{}, false
	}
	skipped := p.Result.Skipped["on_cap"]
	v := min(1, float64(p.waited+skipped+p.Result.HeldUp)/float64(max(p.admitted+skipped, 1)))
	r := Reading{
		Value: v, Warn: 0.01, Fail: never,
		Detail: words.Percent(v) + " of the due requests waited for a slot, or found none",
		So:     ": this part behaved as a closed loop",
		Try:    "raise concurrency, or use the latencies from schedule",
	}
	if p.Result.HeldUp > 0 {
		r.Detail = words.Percent(v) + " of the requests were due before the answer to the turn before them, or waited for a slot"
		r.Try = "more users at this rate: each then has more time for a turn (users ÷ rate)"
	}
	return r, true
}

// tokens: the server's count is evidence, and so is that of the model's own
// tokenizer. That texts tokenize to another number than was sent is no doubt.
func tokens(e *Evidence) []Reading {
	for _, p := range e.Phases {
		if e.ServerTokens && p.OK > 0 && p.Counted == 0 {
			return []Reading{{
				Value: 1, Warn: 0, Fail: never,
				Detail: "the server counts no tokens: its answers have no usage, so lengths, ITL and token throughput are missing",
				Try:    "leave out --use-server-token-count, or ask the server for usage (stream_options)",
			}}
		}
	}
	if e.TokenSource == "" {
		return nil
	}
	for _, p := range e.Phases {
		if p.OK == 0 || p.Counted == p.OK {
			continue
		}
		return []Reading{{
			Value: 1, Warn: 0, Fail: never, Detail: e.TokenSource,
			Try: "name the model's tokenizer (--tokenizer), or --tokenizer builtin to accept it",
		}}
	}
	return []Reading{{Value: 0, Warn: 0, Fail: never, Detail: "the server counts the tokens"}}
}

func oslHonoured(e *Evidence) []Reading {
	return perPhase(func(p *PhaseEvidence) (Reading, bool) {
		if p.Asked == 0 {
			return Reading{}, false
		}
		v := float64(p.OffTarget) / float64(p.Asked)
		r := Reading{
			Value: v, Warn: 0.05, Fail: 0.5,
			Detail: words.Percent(v) + " of the answers do not have the requested length",
			So:     ": cells of different OSL are not comparable",
			Try:    "make the server ignore its end token: extra: {ignore_eos: true}, or min_tokens",
		}
		if e.IgnoresEnd {
			r.Try = "the server ignores ignore_eos and min_tokens: compare cells by the length of the answers"
		}
		return r, true
	})(e)
}

// dimensions is about answers one by one: vectors of several lengths in one
// answer are a failed request.
func dimensions(p *PhaseEvidence) (Reading, bool) {
	if len(p.Dimensions) == 0 {
		return Reading{}, false
	}
	lengths := slices.Sorted(maps.Keys(p.Dimensions))
	slices.SortStableFunc(lengths, func(a, b int64) int { return cmp.Compare(p.Dimensions[b], p.Dimensions[a]) })
	var parts []string
	all, most := int64(0), p.Dimensions[lengths[0]]
	for _, n := range lengths {
		all += p.Dimensions[n]
		parts = append(parts, fmt.Sprintf("%s in %s", words.Count(n, "number"), words.Count(p.Dimensions[n], "answer")))
	}
	other := 1 - float64(most)/float64(all)
	return Reading{
		Value: other, Warn: 0, Fail: never,
		Detail: words.Percent(other) + " of the vectors differ in length from the others: " + strings.Join(parts, ", "),
		So:     "; several models answered, or one that was asked for several lengths",
		Try:    "ask each server which model it has; if the lengths are wanted, declare it: verdict: {dimensions: {warn: 1}}",
	}, true
}

func prefixCache(e *Evidence) []Reading {
	return perPhase(func(p *PhaseEvidence) (Reading, bool) {
		if p.Prompt == 0 || e.Shared {
			return Reading{}, false
		}
		v, beside := float64(p.Unasked)/float64(p.Prompt), ""
		if explained := p.Cached - p.Unasked; explained > 0 {
			beside = fmt.Sprintf(", beside the %s that conversations have in common with their earlier turns and with a system prompt",
				words.Percent(float64(explained)/float64(p.Prompt)))
		}
		return Reading{
			Value: v, Warn: 0.05, Fail: never,
			Detail: words.Percent(v) + " of the prompt tokens came from the server's prefix cache" + beside,
			So:     p.cacheEffect(),
			Try:    "more dataset entries, or cache_bust for prompts from a file; if a warm cache is wanted, declare it: verdict: {prefix_cache: {warn: 1}}",
		}, true
	})(e)
}

// streamed looks for answers in one piece where a stream was asked for.
func streamed(e *Evidence) []Reading {
	if !e.Streaming {
		return nil
	}
	return perPhase(func(p *PhaseEvidence) (Reading, bool) {
		r := Reading{
			Value: float64(p.whole) / float64(max(p.OK, 1)), Warn: 0,
			Fail: never, Detail: "every answer came as a stream",
		}
		if p.whole > 0 {
			r.Detail = fmt.Sprintf("the server did not stream: %d of %s came in one piece", p.whole,
				words.Count(p.OK, "answer"))
			r.So = ": their time to first token is that of the whole answer"
			r.Try = "leave out --streaming, or find what keeps the server from streaming (a proxy that buffers, stream: false in the body)"
		}
		return r, p.OK > 0
	})(e)
}

// heldOpen is about answers that end long after their last content. In a closed loop
// the next request waits for the end, so a server that is slow to say it gets less
// than was asked; nothing waits for it in an open one.
func heldOpen(p *PhaseEvidence) (Reading, bool) {
	if !p.Result.Closed || p.followUps == 0 || !(p.latency > 0) {
		return Reading{}, false
	}
	v := p.heldOpen / p.latency
	r := Reading{Value: v, Warn: 0.1, Fail: never, Detail: "answers ended soon after their last content"}
	if v > r.Warn {
		r.Detail = fmt.Sprintf("the server ended its answers %s after their last content on average, %s of a latency",
			words.Millis(p.heldOpen/float64(p.OK)), words.Percent(v))
		r.So = ": until then they keep their slots, and are in flight"
		r.Try = "find what keeps the answers open: the server, or a proxy in front of it"
	}
	return r, true
}

// resentShare is about requests that a server got twice.
func resentShare(p *PhaseEvidence) (Reading, bool) {
	n := p.OK + p.Failed
	if p.resentRead == 0 {
		return Reading{Warn: 0.01, Fail: never, Detail: "no request that the server had received was sent again"}, n > 0
	}
	return Reading{
		Value: float64(p.resentRead) / float64(max(n, 1)), Warn: 0.01, Fail: never,
		Detail: fmt.Sprintf("%d of %s were sent again, because the server closed the connection instead of answering",
			p.resentRead, words.Count(n, "request")),
		So:  ": it may have worked on them twice",
		Try: "--connection-reuse-strategy never, or a longer keep-alive timeout of the server",
	}, true
}
