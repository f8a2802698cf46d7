package runner

import (
	"fmt"
	"math"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/stats"
)

var never = math.NaN()

// The least that some checks need in order to speak. Below it they are absent:
// one stumble of the machine would be a large share of little.
const (
	// fewestFollowUps is of requests that followed an answer, for their mean.
	fewestFollowUps = 20
	// shortestShare is of time, for a share of the CPU: starting is not measuring.
	shortestShare = 200 * time.Millisecond
	// widestSlack is what Little's law may leave open, as a share of the requests
	// in flight: half means that less than two answers fit into the window.
	widestSlack = 0.5
)

// checks is the catalogue of what is asked of every run. To add one, add a
// literal and a test that flips it.
var checks = []Check{
	{
		ID: "dispatch_lateness", Unit: "ms", Doc: "p99 of sent − max(intended, admitted): requests that left later than they were due, by the client's fault",
		Read: perPhase(func(p *PhaseEvidence) (Reading, bool) {
			if len(p.Lateness) == 0 {
				return Reading{}, false
			}
			basis := first(median(p.TTFT), median(p.Latency))
			warn := max(1, 0.01*basis)
			if p.Result.Rate > 0 {
				warn = max(warn, 0.1*1e3/p.Result.Rate)
			}
			v := stats.Quantile(p.Lateness, 0.99)
			words := fmt.Sprintf("requests left up to %s late (p99)", ms(v))
			switch {
			case len(p.TTFT) > 0:
				words += ", against a median TTFT of " + ms(basis)
			case len(p.Latency) > 0:
				words += ", against a median latency of " + ms(basis)
			}
			return Reading{
				Value: v, Warn: warn, Fail: max(10, 0.05*basis),
				Detail: words,
				Try:    "a quieter machine, fewer requests per second, or fewer streams",
			}, true
		}),
	},
	{
		ID: "offered_rate", Unit: "ratio", Doc: "how far the rate sent is from the rate asked for, where no cap was binding",
		Read: perPhase(offeredRate),
	},
	{
		ID: "admission_wait", Unit: "ratio", Doc: "share of arrivals by the clock that waited more than 1 ms for a slot, or, as turns of users, for the answer before them: that made it a closed loop",
		Read: perPhase(admissionWait),
	},
	{
		ID: "turnaround", Unit: "ratio", Doc: "closed loop: mean time from an answer to the next request, against the mean latency",
		Read: perPhase(func(p *PhaseEvidence) (Reading, bool) {
			if !p.Result.Closed || p.Result.Capped != "" || p.followUps < fewestFollowUps {
				return Reading{}, false // where a second limit makes requests wait, nobody can tell that from a client that does
			}
			v := p.turnaround / p.turnaroundOver
			return Reading{
				Value: v, Warn: 0.01, Fail: 0.05,
				Detail: fmt.Sprintf("the client paused for %s of a latency between requests", percent(v)),
				Try:    "a quieter machine or fewer streams; very short answers need a lower concurrency",
			}, true
		}),
	},
	{
		ID: "concurrency_held", Unit: "ratio", Doc: "closed loop: share of the time with at least 95 % of the concurrency in flight",
		Read: perPhase(func(p *PhaseEvidence) (Reading, bool) {
			v := p.Result.Gauge.HeldShare
			if p.Result.Target == 0 || p.Result.Capped == "prefill" || math.IsNaN(v) {
				return Reading{}, false
			}
			return Reading{
				Value: v, Warn: 0.9, Fail: 0.5, Below: true,
				Detail: fmt.Sprintf("concurrency %d was held for %s of the time", p.Result.Target, percent(v)),
				Try:    "more requests per run, so that the ramp and the drain weigh less",
			}, true
		}),
	},
	{
		ID: "client_cpu", Unit: "ratio", Doc: "CPU used by this process against the cores it may use, in the worst second",
		Read: func(e *Evidence) []Reading {
			v := e.Host.CPUWorst
			if math.IsNaN(v) || e.Host.Wall < shortestShare {
				return nil
			}
			return []Reading{{
				Value: v, Warn: 0.7, Fail: 0.9,
				Detail: fmt.Sprintf("the client used %s of %s", percent(v), plural(int64(e.Host.Cores), "core")),
				So:     "; its own queueing is in these latencies",
				Try:    "fewer streams per machine, a larger machine, or tables.chunks: false",
			}}
		},
	},
	{
		ID: "go_sched", Unit: "ms", Doc: "p99 of the time a goroutine waited for a core, and the longest stop for garbage collection",
		Read: func(e *Evidence) []Reading {
			return finite(
				Reading{Value: e.Host.SchedP99, Warn: 1, Fail: 10, Detail: "goroutines waited " + ms(e.Host.SchedP99) + " for a core (p99)", Try: "fewer streams, or a machine with less else to do"},
				Reading{Value: e.Host.GCLongest, Warn: 5, Fail: 50, Detail: "garbage collection stopped the program for " + ms(e.Host.GCLongest), Try: "fewer streams, or more memory"})
		},
	},
	{
		ID: "hiccup", Unit: "ms", Doc: "a thread that sleeps 1 ms at a time: p99.9 and longest lateness, share of time lost",
		Read: func(e *Evidence) []Reading {
			h := e.Host.Hiccup
			if h.N == 0 {
				return nil
			}
			lost := h.Lost * min(1, e.Host.Wall.Seconds()) // of a second at least: a short run is no excuse for one stumble to be a large share
			try := "a machine that does nothing else"
			return finite(
				Reading{Value: h.P999, Warn: 5, Fail: never, Detail: "one wake-up in a thousand came " + ms(h.P999) + " late", Try: try},
				Reading{Value: h.Longest, Warn: never, Fail: 100, Detail: "the machine stood still for " + ms(h.Longest), Try: try},
				Reading{Value: lost, Unit: "ratio", Warn: 0.005, Fail: 0.03, Detail: "the machine took away " + percent(h.Lost) + " of the time from a sleeping thread", Try: try})
		},
	},
	{
		ID: "throttling", Unit: "ratio", Doc: "share of cgroup periods throttled, of the machine's time stolen by other guests, of its cores' time that threads of this process waited for one",
		Read: func(e *Evidence) []Reading {
			delay := max(0, e.Host.RunDelay) / float64(max(e.Host.Cores, 1))
			so, try := ": something shares them", "a machine that does nothing else, and serves nothing itself"
			if e.BuiltIn {
				so, try = ": the built-in server runs on the same ones", "a lower load, or for numbers that count a server on another machine"
			}
			return finite(
				// Waiting threads are a cause; what it did is told by dispatch_lateness,
				// turnaround, receive_lag and go_sched, which fail where it did harm.
				Reading{Value: delay, Warn: 0.01, Fail: never, Detail: "threads waited for a core for " + percent(delay) + " of the cores' time", So: so, Try: try},
				Reading{Value: e.Host.Throttled, Warn: 0.01, Fail: 0.05, Detail: percent(e.Host.Throttled) + " of the cgroup's periods were throttled", Try: "raise the CPU limit of the container"},
				Reading{Value: e.Host.Steal, Warn: 0.01, Fail: 0.05, Detail: percent(e.Host.Steal) + " of the machine's time went to other guests", Try: "a machine that is not shared"})
		},
	},
	{
		ID: "receive_lag", Unit: "ratio", Doc: "p99 of application stamp − kernel stamp, against the median ITL",
		Read: receiveLag,
	},
	{
		ID: "coalesced", Unit: "ratio", Doc: "share of content events that shared a read with another, so that their gap is zero by construction",
		Read: perPhase(func(p *PhaseEvidence) (Reading, bool) {
			if p.Chunks == 0 {
				return Reading{}, false
			}
			v := float64(p.Coalesced) / float64(p.Chunks)
			return Reading{
				Value: v, Warn: 0.05, Fail: never,
				Detail: percent(v) + " of the chunks came together with another",
				So:     ": single gaps mean little, ITL per request holds",
				Try:    "nothing, if the server sends several tokens at once; else a quieter machine",
			}, true
		}),
	},
	{
		ID: "littles_law", Unit: "ratio", Doc: "requests in flight by the gauge against throughput × time in the system, over the steady window",
		Read: perPhase(func(p *PhaseEvidence) (Reading, bool) {
			diff, slack, ok := p.littles()
			if !ok || slack > widestSlack {
				return Reading{}, false
			}
			return Reading{
				Value: diff, Warn: 0.02 + slack, Fail: 0.1 + slack,
				Detail: fmt.Sprintf("in flight and throughput × latency differ by %s", percent(diff)),
				Try:    "more requests per run; if it stays, report it as a bug",
			}, true
		}),
	},
	{
		ID: "flow_balance", Unit: "requests", Doc: "requests issued less those that ended well, failed or were cancelled, and less those recorded: must be 0",
		Read: perPhase(func(p *PhaseEvidence) (Reading, bool) {
			v := math.Abs(float64(p.Result.Issued - p.Result.OK - p.Result.Failed - p.Result.CancelledCount))
			v = max(v, math.Abs(float64(p.Result.Issued-p.OK-p.Failed-p.Cancelled)))
			return Reading{Value: v, Warn: never, Fail: 0, Detail: plural(int64(v), "request") + " not accounted for", Try: "report it as a bug"}, true
		}),
	},
	{
		ID: "errors", Unit: "ratio", Doc: "failed / attempted; failures of the client's own making weigh more",
		Read: perPhase(func(p *PhaseEvidence) (Reading, bool) {
			n := float64(p.OK + p.Failed)
			if n == 0 {
				return Reading{}, false
			}
			v := float64(p.Failed) / n
			fail := 0.05
			if float64(p.ClientFaults)/n > 0.001 {
				fail = 0.001
			}
			words := fmt.Sprintf("%d of %s failed", p.Failed, plural(int64(n), "request"))
			if p.Failed > 0 {
				words += ", first: " + brief(p.FirstError)
			}
			return Reading{
				Value: v, Warn: 0.001, Fail: fail, Detail: words,
				Try: "look at error_message in the requests table",
			}, true
		}),
	},
	{
		ID: "tokens", Unit: "ratio", Doc: "median difference between the server's and the client's count of output tokens; whether the model's own tokenizer counted",
		Read: tokens,
	},
	{
		ID: "osl_honoured", Unit: "ratio", Doc: "share of answers whose length is off the asked one by more than 5 % (at most 50 tokens)",
		Read: perPhase(func(p *PhaseEvidence) (Reading, bool) {
			if p.Asked == 0 {
				return Reading{}, false
			}
			v := float64(p.OffTarget) / float64(p.Asked)
			return Reading{
				Value: v, Warn: 0.05, Fail: 0.5,
				Detail: percent(v) + " of the answers are not as long as asked for",
				So:     ": cells of different OSL are not comparable",
				Try:    "ask the server to ignore its end mark: extra: {ignore_eos: true}, min_tokens",
			}, true
		}),
	},
	{
		ID: "prefix_cache", Unit: "ratio", Doc: "share of prompt tokens the server took from its prefix cache",
		Read: perPhase(func(p *PhaseEvidence) (Reading, bool) {
			if p.Prompt == 0 {
				return Reading{}, false
			}
			v := float64(p.Cached) / float64(p.Prompt)
			return Reading{
				Value: v, Warn: 0.05, Fail: never,
				Detail: percent(v) + " of the prompt tokens came from the server's prefix cache",
				So:     ": TTFT is better than for new prompts",
				Try:    "more dataset entries, or another seed per trial (multi_run.vary_seed_per_trial); if a warm cache is wanted, declare it: verdict: {prefix_cache: {warn: 1}}",
			}, true
		}),
	},
	{
		ID: "warmup", Unit: "ratio", Doc: "share of the phase before latency settled (MSER-5); 1 when it never did",
		Read: perPhase(warmup),
	},
	{
		ID: "stationary", Unit: "ratio", Doc: "trend of the latency over the run: rank correlation of batch means with time, and the change they amount to",
		Read: perPhase(stationary),
	},
	{
		ID: "tail_samples", Unit: "requests", Doc: "effective number of answers, against the least that certifies each percentile; below it the percentile is marked",
		Read: perPhase(tailSamples),
	},
	{
		ID: "clock", Unit: "ms", Doc: "largest jump of the wall clock against the monotonic clock; stamps that run backwards",
		Read: func(e *Evidence) []Reading {
			r := []Reading{wallClock(e)}
			for _, p := range e.Phases {
				r = append(r, Reading{Value: float64(p.Backwards), Unit: "requests", Warn: never, Fail: 0, Detail: plural(p.Backwards, "request") + " with stamps that run backwards", Try: "report it as a bug"})
			}
			return finite(r...)
		},
	},
	{
		ID: "identity", Unit: "level", Doc: "models and Server header that the server shows at the start and at the end: 0 the same, 1 changed, 2 another model",
		Read: func(e *Evidence) []Reading {
			if e.Identity == nil {
				return nil
			}
			level, words := e.Identity.compare()
			return []Reading{{Value: level, Warn: 0, Fail: 1, Detail: words, Try: "find out who restarted or replaced the server, then run again"}}
		},
	},
	{
		ID: "headroom", Unit: "ratio", Doc: "requests and chunks this machine can handle by a trial against the built-in server, over those planned",
		Read: func(e *Evidence) []Reading {
			return finite(Reading{
				Value: e.Headroom, Warn: 2, Fail: 1, Below: true,
				Detail: fmt.Sprintf("this machine can drive %.3g times the planned load", e.Headroom),
				Try:    "a lower rate, shorter answers, or a machine with more cores",
			})
		},
	},
	{
		ID: "sink", Unit: "records", Doc: "records the engine emitted less records in the journal: must be 0",
		Read: func(e *Evidence) []Reading {
			lost := float64(e.Emitted - e.Journaled)
			if e.SinkError != "" {
				lost = max(lost, 1)
			}
			return []Reading{{Value: lost, Warn: never, Fail: 0, Detail: strings.TrimSpace(plural(int64(lost), "record") + " lost " + e.SinkError), Try: "free disk space, then run with --resume"}}
		},
	},
}
