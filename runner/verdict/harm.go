package verdict

import (
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
)

var never = math.NaN()

// The least that some checks need in order to speak. Below it they are absent:
// one stumble of the machine would be a large share of little.
const (
	// fewestFollowUps is of requests that followed an answer, for their mean.
	fewestFollowUps = 20
	// mostForeign is how many characters of a server's words stand in a finding;
	// errors in run.json has all of them.
	mostForeign = 120
)

// harms ask by how much a number that is reported is wrong through us.
var harms = []Check{
	{
		ID: validity.Lateness, Limits: "DEGRADED above 2 % of it and 50 µs, INVALID above 10 % and 1 ms; for rates DEGRADED above 0.02, INVALID above 0.1",
		Try:  "a quieter machine, fewer requests per second, or fewer streams",
		Kind: Harm, Unit: "ratio", Of: openLoops, Touches: slices.Concat(fromIntended, good, rates),
		Reads: "sent, intended and admitted stamps",
		Doc:   "open loop and replay: by how much late sending makes a percentile of the latencies from schedule too high, and rates too low, as a share",
		Read:  perPhases(dispatchLateness),
	},
	{
		ID: "offered_rate", Limits: "DEGRADED above 0.02, INVALID above 0.1",
		Try:  "more concurrency, a lower rate, or read it as the server's limit",
		Kind: Harm, Unit: "ratio", Of: openLoops, Touches: all, Reads: "the schedule's own count of what was due",
		Doc:  "share of scheduled requests that were never sent",
		Read: perPhases(offeredRate),
	},
	{
		ID: "turnaround", Limits: "DEGRADED above 0.02, INVALID above 0.1",
		Try:  "a quieter machine or fewer streams; very short answers need a lower concurrency",
		Kind: Harm, Unit: "ratio", Of: closedLoops, Touches: slices.Concat(rates, inFlight, fromIntended),
		Reads: "sent and intended stamps of follow-ups",
		Doc:   "closed loop: mean time from an answer to the next request (without opening a connection), as a share of the mean latency",
		Read:  perPhase(turnaround),
	},
	{
		ID: "concurrency_held", Limits: "DEGRADED below 0.98, INVALID below 0.9",
		Try:  "a quieter machine, fewer streams, or conversations with shorter pauses",
		Kind: Harm, Unit: "ratio", Of: closedLoops, Touches: append(rates, inFlight...),
		Reads: "the gauge of requests in flight",
		Doc:   "closed loop: requests in flight as a share of the requested concurrency, averaged over time from first reaching it to the last send",
		Read:  perPhase(concurrencyHeld),
	},
	{
		ID: "stamp_error", Limits: "DEGRADED above 2 % of it and 50 µs, INVALID above 10 % and 1 ms",
		Try:  "a direct HTTP/1.1 connection on Linux, whose stamps are the kernel's; else fewer streams or a quieter machine",
		Kind: Harm, Unit: "ratio", Touches: slices.Concat(firstToken, wholeAnswer, gaps),
		Reads: "echoes through the same readers, where stamps are the program's own",
		Doc:   "how late this program's arrival stamps were at a percentile, as a share of that percentile of the time to first token",
		Read:  stampError,
	},
	{
		ID: "coalesced", Limits: "DEGRADED above 2 % of it and 50 µs, INVALID above 10 % and 1 ms; gaps are marked above a share of 0.05",
		Try:  "a quieter machine; where the server sends several tokens at once, nothing helps",
		Kind: Harm, Unit: "ratio", Of: streams, Reads: "both ends of the stamps of shared reads",
		Doc:  "tokens arrived together: width of the range in which a percentile of the ITL lies, as a share of it; else the share of chunks that arrived together, which marks the times between chunks",
		Read: perPhases(coalesced),
	},
	{
		ID: "littles_law", Limits: "DEGRADED above 0.02, INVALID above 0.1", Try: "report it as a bug",
		Kind: Harm, Unit: "ratio", Touches: all, Whole: true,
		Reads: "the engine's sum of times in flight and the records'",
		Doc:   "difference between the time in flight summed by the engine and by the records; more than rounding is a bug of this program",
		Read:  perPhase(littlesLaw),
	},
	{
		ID: "flow_balance", Limits: "INVALID above 0", Try: "report it as a bug",
		Kind: Harm, Unit: "requests", Touches: all, Whole: true, Reads: "the engine's counts and the records'",
		Doc:  "requests, sent or due, that are missing in the counts of outcomes or in the records; must be 0",
		Read: perPhase(flowBalance),
	},
	{
		ID: "sink", Limits: "INVALID above 0", Try: "free disk space, then run with --resume",
		Kind: Harm, Unit: "records", Touches: all, Reads: "the engine's and the journal's counts of records",
		Doc:  "records that were not written to the journal; must be 0",
		Read: sink,
	},
	{
		ID: "clock", Limits: "DEGRADED above 10 ms; INVALID when stamps run backwards",
		Try:  "nothing: durations use the monotonic clock; start times are off",
		Kind: Harm, Unit: "ms", Touches: all, Reads: "both clocks of the host, and stamps of one request in order",
		Doc:  "largest jump of the wall clock; requests whose stamps run backwards",
		Read: clock,
	},
	{
		ID: "client_errors", Limits: "DEGRADED above 0, INVALID above 0.001",
		Try:  "look at error_message in the requests table: descriptors (ulimit -n), ports, name resolution",
		Kind: Harm, Unit: "ratio", Touches: all, Reads: "how requests ended",
		Doc:  "share of requests that failed because of this program or its machine (descriptors, ports, name resolution)",
		Read: perPhase(clientErrors),
	},
}

// judged is a percentile that is held against the truth, with the statistics that
// stand and fall with it: those between two judged ones belong to both.
type judged struct {
	name          string
	q             float64
	stats, turned []string // turned are those of a metric that is small where this one is large
}

// percentiles are those that are judged.
var percentiles = [...]judged{
	{
		"p50", 0.5,
		[]string{"min", "p1", "p5", "p10", "p25", "p50", "p75"},
		[]string{"p25", "p50", "p75", "p90", "p95", "p99", "p999", "max"},
	},
	{"p90", 0.9, []string{"p75", "p90", "p95"}, []string{"p5", "p10", "p25"}},
	{"p99", 0.99, []string{"p95", "p99", "p999", "max"}, []string{"min", "p1", "p5"}},
}

// of are its statistics of some metrics.
func (j judged) of(tags ...string) []string { return statsOf(j.stats, tags) }

// means are what rests on the values themselves.
var means = []string{"avg", "std", "sum"}

func statsOf(stats, tags []string) (out []string) {
	for _, tag := range tags {
		for _, s := range stats {
			out = append(out, tag+"."+s)
		}
	}
	return out
}

// dispatchLateness compares each supported percentile of the latencies from
// intended with the same without what we were late: percentile(x) −
// percentile(x − lateness). Each touches itself. The mean, and a percentile of too few
// values, are marked by their own lateness, and move no verdict: one late request of few
// is all of it. The share of good requests runs from the same time, so it is doubtful
// with any of them.
func dispatchLateness(p *PhaseEvidence) (out []Reading) {
	if p.Result.Closed {
		return nil // what follows an answer late is turnaround's
	}
	const try = "a quieter machine, fewer requests per second, or fewer streams"
	// the rates are those of a longer time
	if late, sending := p.lastSent-p.lastFree, p.lastSent-p.Result.Start; late > 0 {
		r := Reading{
			Value: float64(late) / float64(sending), Warn: harmDoubted, Fail: harmShown, Touches: rates,
			Try: try,
		}
		r.Detail = fmt.Sprintf("the last request was sent %s late, so throughput reads %s too low",
			words.Millis(float64(late)/1e6), words.Percent(r.Value))
		if r.Mild = p.arrivals < fewestFollowUps; r.Mild { // one stumble is a large share of them
			r.Fail = never
		}
		if !r.Mild || r.crossed() > Valid {
			out = append(out, r)
		}
	}
	for _, m := range []struct {
		name, tag string
		is, would []float64
	}{
		{"TTFT", metrics.TimeToFirstTokenFromIntended, p.TTFTIntended, p.TTFTPunctual},
		{"request latency", metrics.RequestLatencyFromIntended, p.LatencyIntended, p.LatencyPunctual},
	} {
		for _, c := range percentiles {
			is := stats.Quantile(m.is, c.q)
			if !(is > 0) {
				continue
			}
			r := harmOf(math.Abs(is-stats.Quantile(m.would, c.q)), is)
			if r.Mild = !stats.Certified(c.q, float64(len(m.is))); r.Mild {
				r.Fail = never
			}
			r.Detail = fmt.Sprintf("late sending adds %s to the %s %s from schedule (%s of %s)",
				words.Millis(r.Value*is), c.name, m.name, words.Percent(r.Value), words.Millis(is))
			r.Try, r.Touches = try, c.of(m.tag)
			if !r.Mild || r.crossed() > Valid {
				out = append(out, r)
			}
			if r.crossed() > Valid {
				r.Fail, r.Touches = never, good
				out = append(out, r)
			}
		}
		if is := stats.Mean(m.is); len(m.is) > 0 && is > 0 {
			r := harmOf(math.Abs(is-stats.Mean(m.would)), is)
			r.Detail = fmt.Sprintf("late sending adds %s to the mean %s from schedule (%s of %s)",
				words.Millis(r.Value*is), m.name, words.Percent(r.Value), words.Millis(is))
			if r.Try, r.Touches, r.Mild, r.Fail = try, statsOf(means, []string{m.tag}), true,
				never; r.crossed() > Valid {
				out = append(out, r)
			}
		}
	}
	return out
}

// offeredRate is about what the schedule wanted: its offsets are known exactly,
// so chance plays no part. A cap that the experiment set is its own doing; what was
// not sent because this program had stood still is not.
func offeredRate(p *PhaseEvidence) (out []Reading) {
	if p.Result.Due == 0 {
		return nil
	}
	const try = "more concurrency, a lower rate, or read it as the server's limit"
	lost := func(n int64, words string) Reading {
		return Reading{
			Value: float64(n) / float64(p.Result.Due), Warn: harmDoubted, Fail: harmShown,
			Detail: words, So: ": " + p.lessLoad(n), Try: try,
		}
	}
	due := words.Count(p.Result.Due, "request")
	all := lost(p.Result.Unsent, fmt.Sprintf("%d of %s that were due were never sent", p.Result.Unsent, due))
	if p.Result.Skipped["on_cap"] > 0 || p.Result.Skipped["stopped"] > 0 {
		all.Fail, all.Told = never, true // a cap held them back, as asked
	}
	out = append(out, all)
	if n := p.Result.Skipped[clientLate]; n > 0 {
		r := lost(n, fmt.Sprintf("%d of %s that were due were never sent because the client was paused", n, due))
		r.Try = "a quieter machine"
		out = append(out, r)
	}
	return out
}

// lessLoad says how much of the load was sent where n requests of the schedule were not.
func (p *PhaseEvidence) lessLoad(n int64) string {
	said := "the client sent less load than requested"
	if p.Result.Rate > 0 {
		share := 1 - float64(n)/float64(p.Result.Due)
		said += fmt.Sprintf(": %s of %s requests/s", words.Number(share*p.Result.Rate), words.Number(p.Result.Rate))
	}
	return said
}

func turnaround(p *PhaseEvidence) (Reading, bool) {
	if !p.Result.Closed || p.Result.Capped != "" || !(p.turnaroundOver > 0) {
		// where a second limit makes requests wait, nobody can tell that from a client that does
		return Reading{}, false
	}
	v := p.turnaround / p.turnaroundOver
	r := Reading{
		Value: v, Warn: harmDoubted, Fail: harmShown,
		Detail: fmt.Sprintf("without gaps in this client, throughput would be up to %s higher", words.Percent(v)),
		Try:    "a quieter machine or fewer streams; very short answers need a lower concurrency",
	}
	// one stumble is a large share of them: where the client stood still, it marks the rates
	if p.followUps < fewestFollowUps {
		r.Mild, r.Fail = true, never
		return r, r.crossed() > Valid && p.longestGap >= standstill
	}
	return r, true
}

// standstill is how long, in ms, a client does nothing that has stood still; less is the
// price of a request.
const standstill = 1

func concurrencyHeld(p *PhaseEvidence) (Reading, bool) {
	v := p.Result.Gauge.HeldRatio
	if p.Result.Target == 0 || p.Result.Capped == "prefill" || p.followUps < fewestFollowUps || math.IsNaN(v) {
		return Reading{}, false
	}
	return Reading{
		Value: v, Warn: 1 - harmDoubted, Fail: 1 - harmShown, Below: true,
		Detail: fmt.Sprintf("%s of the requested concurrency was in flight on average", words.Percent(v)),
		So:     ": throughput is that of a smaller load",
		Try:    "a quieter machine, fewer streams, or conversations with shorter pauses",
	}, true
}

// pauseLeast is how long, in ms, this program stood still before its stamps are asked
// about it. Echoes see what keeps it from reading, and are read by itself: while it
// is stopped, or its machine is, there are none.
const pauseLeast = 100

// paused is how much later the mean of the answers may be because the program stood
// still: what was in flight then, all of it at most, is dated when it went on. It is
// a bound, so it makes doubtful and never invalid.
func (p *PhaseEvidence) paused(name string, x []float64, longest float64) (Reading, bool) {
	mean := stats.Mean(x)
	if !(longest >= pauseLeast) || p.OK == 0 || !(mean > 0) {
		return Reading{}, false
	}
	late := longest * float64(p.Result.Gauge.Max) / float64(p.OK)
	r := harmOf(late, mean)
	r.Fail = never
	r.Detail = fmt.Sprintf("the client was paused for %s, so the mean %s (%s) may read %s too high",
		words.Millis(longest), name, words.Millis(mean), words.Millis(late))
	r.Try = "run it again on a machine that does not sleep or stop the program"
	return r, true
}

// littlesLaw: the time in flight, summed over all requests, by the engine and by
// the records. Both come from the same stamps, so this is bookkeeping; it cannot
// find wrong stamps.
func littlesLaw(p *PhaseEvidence) (Reading, bool) {
	by := float64(p.Result.Gauge.Residence)
	if !(by > 0) {
		return Reading{}, false
	}
	v := math.Abs(by-p.residence) / by
	return Reading{
		Value: v, Warn: harmDoubted, Fail: harmShown,
		Detail: fmt.Sprintf("the engine and the records differ by %s in the time in flight%s", words.Percent(v),
			map[bool]string{true: ", a bug of this program"}[v > harmDoubted]),
		Try: "report it as a bug",
	}, true
}

func flowBalance(p *PhaseEvidence) (Reading, bool) {
	v := math.Abs(float64(p.Result.Issued - p.Result.OK - p.Result.Failed - p.Result.CancelledCount - p.Result.Cut))
	v = max(v, math.Abs(float64(p.Result.Issued-p.In(record.WasSent))), math.Abs(float64(p.Result.Unsent-p.Unsent)))
	return Reading{
		Value: v, Warn: never, Fail: 0, Detail: words.Count(int64(v), "request") + " not accounted for",
		Try: "report it as a bug",
	}, true
}

func sink(e *Evidence) []Reading {
	lost := e.lost()
	detail := words.Count(lost, "record") + " lost"
	if e.SinkError != "" {
		detail += ": " + words.Line(e.SinkError)
	}
	return []Reading{{
		Value: float64(lost), Warn: never, Fail: 0, Detail: detail, Told: true,
		Try: "free disk space, then run with --resume",
	}}
}

// lost counts the records that are not in the journal. A journal that broke lacks
// one at least.
func (e *Evidence) lost() int64 {
	n := e.Emitted - e.Journaled
	if e.SinkError != "" {
		n = max(n, 1)
	}
	return max(n, 0)
}

// RecordsLost says how many records could not be written and why, "" for none.
func (e *Evidence) RecordsLost() string {
	if e.lost() == 0 {
		return ""
	}
	return sink(e)[0].Detail
}

func clock(e *Evidence) []Reading {
	r := []Reading{wallClock(e)}
	for _, p := range e.Phases {
		r = append(r, Reading{
			Value: float64(p.Backwards), Unit: "requests", Warn: never, Fail: 0,
			Detail: words.Count(p.Backwards, "request") + " with stamps that run backwards", Try: "report it as a bug",
		})
	}
	return finite(r...)
}

// wallClock is the larger of what host and transport saw the wall clock jump by.
func wallClock(e *Evidence) Reading {
	v := e.Host.WallJump
	if e.ClockJumps > 0 {
		v = max(v, e.ClockJump)
	}
	said := "the wall clock jumped by " + words.Millis(v)
	if e.ClockJumps > 0 {
		said += fmt.Sprintf(" (%s above 10 µs)", words.Count(e.ClockJumps, "jump"))
	}
	if e.Host.Clock != "" {
		said += "; clock source " + e.Host.Clock
	}
	r := Reading{
		Value: v, Warn: 10, Fail: never, Detail: said, Touches: []string{},
		Try: "nothing: durations use the monotonic clock; start times are off",
	}
	if e.ClockJumps > 0 && e.Stamps == "kernel" { // kernel stamps are by the wall clock
		r.Touches = slices.Concat(firstToken, wholeAnswer, gaps)
	}
	return r
}

func clientErrors(p *PhaseEvidence) (Reading, bool) {
	n := p.OK + p.Failed
	if n == 0 {
		return Reading{}, false
	}
	r := Reading{
		Value: float64(p.ClientFaults) / float64(n), Warn: 0, Fail: 0.001, Told: true,
		Detail: fmt.Sprintf("%d of %s failed because of this program or its machine", p.ClientFaults,
			words.Count(n, "request")),
		Try: "look at error_message in the requests table: descriptors (ulimit -n), ports, name resolution",
	}
	if p.Unmade {
		r.Try = "correct what requests are made of: the data, the template or the extra inputs"
	}
	if p.FirstFault != "" {
		r.Detail += ", first: " + words.Clip(p.FirstFault, mostForeign)
	}
	return r, true
}

// perPhase applies read to every profiling phase it fits.
func perPhase(read func(*PhaseEvidence) (Reading, bool)) func(*Evidence) []Reading {
	return func(e *Evidence) []Reading {
		var out []Reading
		for _, p := range e.Phases {
			if r, ok := read(p); ok {
				out = append(out, r)
			}
		}
		return out
	}
}

// perPhases is the same for a check of several readings.
func perPhases(read func(*PhaseEvidence) []Reading) func(*Evidence) []Reading {
	return func(e *Evidence) (out []Reading) {
		for _, p := range e.Phases {
			out = append(out, read(p)...)
		}
		return out
	}
}

func finite(rs ...Reading) []Reading {
	var out []Reading
	for _, r := range rs {
		if !math.IsNaN(r.Value) {
			out = append(out, r)
		}
	}
	return out
}

func median(sorted []float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return stats.Quantile(sorted, 0.5)
}
