package verdict

import (
	"fmt"
	"math"
	"time"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
)

// shortestShare is of time, for a share of the CPU: starting is not measuring.
const shortestShare = 200 * time.Millisecond

// causes are what would explain harm. By themselves they say nothing about the
// numbers: a busy machine whose numbers are right is VALID.
var causes = []Check{
	{
		ID: "client_cpu", Limits: "noted above 0.7",
		Try:  "fewer streams per machine, a larger machine, or tables.chunks: false",
		Kind: Cause, Unit: "ratio", Reads: "the host",
		Doc: "share of its cores that this program used, in the worst second",
		Read: func(e *Evidence) []Reading {
			v := e.Host.CPUWorst
			if math.IsNaN(v) || e.Host.Wall < shortestShare {
				return nil
			}
			return []Reading{{
				Value: v, Warn: 0.7, Fail: 0.9,
				Detail: fmt.Sprintf("the client used %s of %s in its busiest second",
					words.Percent(v), words.Count(int64(e.Host.Cores), "core")),
				Try: "fewer streams per machine, a larger machine, or tables.chunks: false",
			}}
		},
	},
	{
		ID: "go_sched", Limits: "noted above 1 ms", Try: "fewer streams, or a machine that is less busy",
		Kind: Cause, Unit: "ms", Reads: "the Go runtime",
		Doc: "p99 of the time a goroutine waited for a core",
		Read: func(e *Evidence) []Reading {
			return finite(Reading{
				Value: e.Host.SchedP99, Warn: 1, Fail: 10, Detail: "goroutines waited " +
					words.Millis(e.Host.SchedP99) + " for a core (p99)",
				Try: "fewer streams, or a machine that is less busy",
			})
		},
	},
	{
		ID: "gc", Limits: "noted above 5 ms", Try: "fewer streams, or more memory",
		Kind: Cause, Unit: "ms", Reads: "the Go runtime",
		Doc: "longest pause for garbage collection",
		Read: func(e *Evidence) []Reading {
			return finite(Reading{
				Value: e.Host.GCLongest, Warn: 5, Fail: 50, Detail: "garbage collection stopped the program for " +
					words.Millis(e.Host.GCLongest),
				Try: "fewer streams, or more memory",
			})
		},
	},
	{
		ID: "hiccup", Limits: "noted above 5 ms (p99.9), a standstill of 100 ms, or 0.005 of the time",
		Try:  "a machine that does nothing else",
		Kind: Cause, Unit: "ms", Reads: "naps of 5 ms",
		Doc: "how late this program woke from short sleeps (p99.9 and longest), and the share of time lost",
		Read: func(e *Evidence) []Reading {
			h := e.Host.Hiccup
			if h.N == 0 {
				return nil
			}
			lost, of := h.Lost, "the time"
			if s := e.Host.Wall.Seconds(); s < 1 { // in a short run one stumble would be a large share
				lost, of = lost*s, "a second"
			}
			try := "a machine that does nothing else"
			return finite(
				Reading{
					Value: h.P999, Warn: 5, Fail: never,
					Detail: "one in a thousand wake-ups was " + words.Millis(h.P999) + " late", Try: try,
				},
				Reading{
					Value: h.Longest, Warn: never, Fail: 100,
					Detail: "the machine stood still for " + words.Millis(h.Longest), Try: try,
				},
				Reading{
					Value: lost, Unit: "ratio", Warn: 0.005, Fail: 0.03,
					Detail: "scheduling delay took " + words.Percent(lost) + " of " + of, Try: try,
				})
		},
	},
	{
		ID: "throttling", Limits: "noted above 0.01", Try: "raise the CPU limit of the container",
		Kind: Cause, Unit: "ratio", Reads: "the cgroup",
		Doc: "share of the cgroup's periods in which the CPU limit stopped this program",
		Read: func(e *Evidence) []Reading {
			return finite(Reading{
				Value: e.Host.Throttled, Warn: 0.01, Fail: 0.05, Detail: words.Percent(e.Host.Throttled) +
					" of the cgroup's periods were cut short by the CPU limit",
				Try: "raise the CPU limit of the container",
			})
		},
	},
	{
		ID: "run_delay", Limits: "noted above 0.01", Try: "a machine that does nothing else, or a lower load",
		Kind: Cause, Unit: "ratio", Reads: "the kernel's run queues",
		Doc: "scheduling delay: share of its cores' time in which threads of this program waited for a core",
		Read: func(e *Evidence) []Reading {
			delay := max(0, e.Host.RunDelay) / float64(max(e.Host.Cores, 1))
			so, try := "something shares it", "a machine that does nothing else, and serves nothing itself"
			if e.BuiltIn {
				so, try = "the built-in server shares it",
					"a lower load, or for numbers that count a server on another machine"
			}
			return finite(Reading{
				Value: delay, Warn: 0.01, Fail: never,
				Detail: "the CPU was full (" + words.Percent(delay) + " of the time waiting): " + so, Try: try,
			})
		},
	},
	{
		ID: "steal", Limits: "noted above 0.01", Try: "a machine that is not shared",
		Kind: Cause, Unit: "ratio", Reads: "the kernel's count of the machine's time",
		Doc: "share of the machine's time that went to other virtual machines",
		Read: func(e *Evidence) []Reading {
			return finite(Reading{
				Value: e.Host.Steal, Warn: 0.01, Fail: never,
				Detail: words.Percent(e.Host.Steal) + " of the machine's time went to other virtual machines",
				Try:    "a machine that is not shared",
			})
		},
	},
	{
		ID: "receive_lag", Limits: "noted above 0.1", Try: "fewer streams, or a quieter machine",
		Kind: Cause, Unit: "ratio", Reads: "kernel stamps and the program's own",
		Doc:  "p99 of the delay between the kernel's stamp and the program's own, as a share of the median ITL",
		Read: perPhase(receiveLag),
	},
	{
		ID: "headroom", Limits: "noted below 2", Try: "a lower rate, shorter answers, a machine with more cores, or several machines (--workers)",
		Kind: Cause, Unit: "ratio", Reads: "a trial against the built-in server before the plan",
		Doc: "load that this machine can drive, divided by the planned load",
		Read: func(e *Evidence) []Reading {
			return finite(Reading{
				Value: e.Headroom, Warn: 2, Fail: 1, Below: true,
				Detail: fmt.Sprintf("this machine can drive %.3g times the planned load", e.Headroom),
				Try:    "a lower rate, shorter answers, a machine with more cores, or several machines (--workers)",
			})
		},
	},
}

// receiveLag compares the lag of the program's reads with an ITL. What it did is
// told by stamp_error, turnaround and coalesced.
func receiveLag(p *PhaseEvidence) (Reading, bool) {
	itl := median(p.ITL)
	if len(p.ReceiveLag) == 0 || !(itl > 0) {
		return Reading{}, false
	}
	lag := stats.Quantile(p.ReceiveLag, 0.99)
	return Reading{
		Value: lag / itl, Warn: 0.1, Fail: never,
		Detail: fmt.Sprintf("the client read bytes up to %s late (p99), %s an ITL", words.Millis(lag), times(lag/itl)),
		Try:    "fewer streams, or a quieter machine",
	}, true
}

// times is how large one value is beside another: "10 times", "32 % of".
func times(ratio float64) string {
	switch {
	case ratio < 1.5:
		return words.Percent(ratio) + " of"
	case ratio < 10:
		return words.Decimals(ratio, 1) + " times"
	}
	return words.Grouped(math.Round(ratio)) + " times"
}
