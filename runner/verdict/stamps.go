package verdict

import (
	"fmt"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
)

// stampError compares each supported percentile of what rests on one stamp with
// what stamps are late by: at the median by the mean at least, for a lateness
// that is independent of a spread latency moves its median by the mean. Each
// touches itself; what lies between two stamps is held against the time from the
// first content to the last. Kernel stamps are exact up to shared reads, which
// coalesced has.
func stampError(e *Evidence) []Reading {
	if e.StampError.N == 0 {
		return nil
	}
	return perPhases(func(p *PhaseEvidence) []Reading {
		out := append(e.StampError.beside("time to first token", p.TTFT, firstToken),
			e.StampError.beside("request latency", p.Latency, wholeAnswer)...)
		name, x, touched := "time to first token", p.TTFT, firstToken
		if len(x) == 0 {
			name, x, touched = "request latency", p.Latency, wholeAnswer
		}
		if r, ok := p.paused(name, x, e.Host.Hiccup.Longest); ok {
			r.Touches = statsOf(means, touched)
			out = append(out, r)
		}
		return append(out, e.StampError.betweenTokens(p)...)
	})(e)
}

const stampTry = "a direct HTTP/1.1 connection on Linux, whose stamps are the kernel's; else fewer streams or a quieter machine"

// late is what stamps are late by at the judged percentiles.
func (s StampError) late() [len(percentiles)]float64 {
	return [...]float64{max(s.P50, s.Mean), s.P90, s.P99}
}

// beside holds what stamps are late by against the percentiles of what rests on
// one of them.
func (s StampError) beside(name string, x []float64, touched []string) (out []Reading) {
	for i, late := range s.late() {
		c := percentiles[i]
		number := stats.Quantile(x, c.q)
		if !stats.Certified(c.q, float64(len(x))) || !(number > 0) {
			continue
		}
		r := harmOf(late, number)
		r.Detail = fmt.Sprintf("arrival stamps are %s late, which makes the %s %s (%s) read %s too high",
			words.Millis(late), c.name, name, words.Millis(number), words.Percent(late/number))
		if r.Try, r.Touches = stampTry, c.of(touched...); i == 0 {
			r.Touches = append(r.Touches, statsOf(means, touched)...)
		}
		out = append(out, r)
	}
	return out
}

// betweenTokens does the same for times between tokens: over a whole answer two
// stamps are late at most, and single gaps are marked, for the number holds where
// they do not.
func (s StampError) betweenTokens(p *PhaseEvidence) (out []Reading) {
	for i, late := range s.late() {
		c, decode := percentiles[i], median(p.Latency)-median(p.TTFT)
		if !(decode > 0) || !stats.Certified(c.q, float64(len(p.ITL))) {
			continue
		}
		r := harmOf(late, decode)
		r.Detail = fmt.Sprintf("arrival stamps are %s late, which makes the %s ITL wrong by up to %s",
			words.Millis(late), c.name, words.Percent(late/decode))
		r.Try, r.Touches = stampTry, append(c.of(perToken...),
			statsOf(c.turned, []string{metrics.OutputTokenThroughputPerUser})...)
		if r.crossed() > Valid {
			out = append(out, r)
		}
	}
	if gap := median(p.ITL); gap > 0 {
		r := harmOf(s.P99, gap)
		r.Mild, r.Fail, r.Touches = true, never, []string{metrics.InterChunkLatency, metrics.TimeToSecondToken}
		r.Detail = fmt.Sprintf("arrival stamps are up to %s late (p99), and tokens are %s apart (median): do not rely on single gaps",
			words.Millis(s.P99), words.Millis(gap))
		if r.Try = stampTry; r.crossed() > Valid {
			out = append(out, r)
		}
	}
	return out
}

// mostShared is the share of gaps that may be known only as bounds before their
// distribution is marked.
const mostShared = 0.05

// coalesced is about gaps. Events that came in one read are known to lie between
// two times: where that is a whole answer, its inter token latency is only
// bounded, and with it the percentiles. Single gaps are marked, no more: the
// verdict is not about them.
func coalesced(p *PhaseEvidence) []Reading {
	if p.Chunks == 0 {
		return nil
	}
	const try = "a quieter machine; where the server sends several tokens at once, nothing helps"
	share := float64(p.Coalesced) / float64(p.Chunks)
	out := []Reading{{
		Value: share, Warn: mostShared, Fail: never, Mild: true,
		Touches: []string{metrics.InterChunkLatency, metrics.TimeToSecondToken},
		Detail: words.Percent(share) +
			" of the chunks arrived together with another: times between single chunks are uncertain, the ITL of a request is right",
		Try: try,
	}}
	out = append(out, p.readLate()...)
	itl := &p.ends[itlEnds]
	for _, c := range percentiles {
		low, high := stats.Quantile(itl.low, c.q), stats.Quantile(itl.high, c.q)
		if !stats.Certified(c.q, float64(len(itl.high))) || !(high > 0) {
			continue
		}
		r := harmOf(high-low, high)
		r.Touches = append(c.of(perToken...), statsOf(c.turned, []string{metrics.OutputTokenThroughputPerUser})...)
		r.bounds(metrics.InterTokenLatency, c.name, stats.Quantile(p.ITL, c.q), low, high)
		r.Detail = fmt.Sprintf("tokens arrived together: ITL %s is only known to be %s", c.name, between(low, high))
		r.Try = try
		if r.crossed() > Valid {
			out = append(out, r)
		}
	}
	if low, high := stats.Mean(itl.low), stats.Mean(itl.high); len(itl.high) > 0 && high > 0 {
		r := harmOf(high-low, high)
		r.Touches = statsOf(means, append([]string{metrics.OutputTokenThroughputPerUser}, perToken...))
		r.bounds(metrics.InterTokenLatency, "avg", stats.Mean(p.ITL), low, high)
		r.Detail = fmt.Sprintf("tokens arrived together: the mean ITL is only known to be %s", between(low, high))
		if r.Try, r.Mild, r.Fail = try, true, never; r.crossed() > Valid {
			out = append(out, r)
		}
	}
	return out
}

// bounds says that a number which is reported as value lies between two others.
func (r *Reading) bounds(tag, stat string, value, low, high float64) {
	if value > 0 && low <= value && value <= high {
		if r.Ranges == nil {
			r.Ranges = validity.Ranges{}
		}
		r.Ranges[tag+"."+stat] = validity.Range{Less: 1 - low/value, More: high/value - 1}
	}
}

// between is a range of times, the unit once where both have it: "4.17 to 5.82 ms".
func between(low, high float64) string {
	from, to := words.Millis(low), words.Millis(high)
	if value, unit, ok := strings.Cut(from, " "); ok && strings.HasSuffix(to, " "+unit) {
		from = value
	}
	return from + " to " + to
}

// readLate is about answers that began while this program stood still: their first
// tokens were read together with later ones, by whose stamp they are dated. So a time
// to first token is only known to lie between the two.
func (p *PhaseEvidence) readLate() (out []Reading) {
	const try = "a quieter machine"
	add := func(r Reading, low, high float64, name string, touches []string) {
		r.Detail = fmt.Sprintf("the client was paused while answers began, so %s TTFT is only known to be %s", name,
			between(low, high))
		r.Try, r.Touches = try, touches
		if r.crossed() > Valid {
			out = append(out, r)
		}
	}
	for _, c := range percentiles {
		low, high := stats.Quantile(p.TTFTRunning, c.q), stats.Quantile(p.TTFT, c.q)
		if !(high > 0) {
			continue
		}
		r := harmOf(high-low, high)
		if r.Mild = !stats.Certified(c.q, float64(len(p.TTFT))); r.Mild {
			r.Fail = never
		}
		r.bounds(metrics.TimeToFirstToken, c.name, high, low, high)
		add(r, low, high, c.name, c.of(firstToken...))
		if r.crossed() > Valid {
			r.Fail, r.Ranges = never, p.limits.ranges()
			add(r, low, high, c.name, good)
		}
	}
	if low, high := stats.Mean(p.TTFTRunning), stats.Mean(p.TTFT); high > 0 {
		r := harmOf(high-low, high)
		r.Mild, r.Fail = true, never
		r.bounds(metrics.TimeToFirstToken, "avg", high, low, high)
		add(r, low, high, "mean", statsOf(means, firstToken))
	}
	return out
}
