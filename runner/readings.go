package runner

import (
	"fmt"
	"math"

	"aiperf.dev/aiperf/internal/stats"
)

// admissionWait is about arrivals that the clock says: in a closed loop a
// request waits for nothing else than the answer before it.
func admissionWait(p *PhaseEvidence) (Reading, bool) {
	if p.Result.Closed || len(p.Wait) == 0 {
		return Reading{}, false
	}
	v := waited(p)
	r := Reading{
		Value: v, Warn: 0.01, Fail: never,
		Detail: percent(v) + " of the arrivals waited for a slot, or found none",
		So:     ": this part behaved as a closed loop",
		Try:    "raise concurrency, or read the from-intended latencies",
	}
	if p.Result.HeldUp > 0 {
		r.Detail = percent(v) + " of the requests were due before the answer to the turn before them, or waited for a slot"
		r.Try = "more users at this rate: each then has more time for a turn (users ÷ rate)"
	}
	return r, true
}

// offeredRate: abs(sent/(rate·T) − 1), T from the phase's start to its last
// send. Random arrivals are in doubt only where rate·T lies outside the 99.9 %
// interval of the count that was sent; for gaps of another spread than
// Poisson's the interval is that of n/dispersion events of that many each.
func offeredRate(p *PhaseEvidence) (Reading, bool) {
	if p.Result.Rate == 0 || waited(p) > 0.01 || len(p.lives) < 2 {
		return Reading{}, false
	}
	last := int64(0)
	for _, r := range p.lives {
		last = max(last, r.sent)
	}
	expected := p.Result.Rate * float64(last-p.Result.Start) / 1e9
	n := float64(len(p.lives))
	r := Reading{
		Value:  math.Abs(n/expected - 1),
		Detail: fmt.Sprintf("%s requests per second were sent, %s asked for", plain(p.Result.Rate*n/expected), plain(p.Result.Rate)), Try: "a lower rate, or a quieter machine",
	}
	if p.Result.Random {
		r.Warn = chance(n, expected, max(p.Result.Dispersion, 1e-3))
		r.Fail = max(0.05, r.Warn)
		return r, true
	}
	edge := 1 / n // the last interval belongs to the count or not
	r.Warn, r.Fail = 0.01+edge, 0.05+edge
	return r, true
}

// chance is the largest abs(n/expected − 1), on the side of n, at which expected
// still lies inside the 99.9 % interval around n.
func chance(n, expected, dispersion float64) float64 {
	low, high := stats.PoissonInterval(int64(math.Round(n/dispersion)), 0.999)
	if n > expected {
		return n/(low*dispersion) - 1
	}
	return 1 - n/(high*dispersion)
}

// receiveLag compares the lag of the program's reads with an ITL. Stamps of the
// kernel do not lag with it: then it can spoil the sending of follow-ups, which
// turnaround measures, and put chunks into one read, which coalesced counts, but
// no latency. Only stamps of the program itself become INVALID by it.
func receiveLag(e *Evidence) []Reading {
	var out []Reading
	for _, p := range e.Phases {
		if len(p.ReceiveLag) == 0 || len(p.ITL) == 0 || median(p.ITL) <= 0 {
			continue
		}
		lag := stats.Quantile(p.ReceiveLag, 0.99)
		v := lag / median(p.ITL)
		r := Reading{
			Value: v, Warn: 0.1, Fail: 0.5,
			Detail: fmt.Sprintf("the program read bytes up to %s after the kernel had them (p99), %s of an ITL", ms(lag), percent(v)),
			Try:    "fewer streams, or a quieter machine",
		}
		if e.Stamps == "kernel" {
			r.Fail = never
			r.So = "; arrival stamps are the kernel's and do not lag"
		}
		out = append(out, r)
	}
	return out
}

// wallClock is the larger of what host and transport saw the wall clock jump by.
func wallClock(e *Evidence) Reading {
	v := e.Host.WallJump
	if e.ClockJumps > 0 {
		v = max(v, e.ClockJump)
	}
	words := "the wall clock jumped by " + ms(v)
	if e.ClockJumps > 0 {
		words += fmt.Sprintf(" (%s above 10 µs)", plural(e.ClockJumps, "jump"))
	}
	if e.Host.Clock != "" {
		words += "; clock source " + e.Host.Clock
	}
	return Reading{Value: v, Warn: 10, Fail: never, Detail: words, Try: "nothing: spans use the monotonic clock; start times are off"}
}

func tokens(e *Evidence) []Reading {
	var out []Reading
	for _, p := range e.Phases {
		if len(p.TokenDiff) > 0 && !e.ServerTokens {
			v := median(p.TokenDiff)
			out = append(out, Reading{
				Value: v, Warn: 0.02, Fail: 0.1,
				Detail: fmt.Sprintf("the server's count of output tokens differs from the client's by %s (median)", percent(v)),
				Try:    "name the model's tokenizer (--tokenizer), or --use-server-token-count",
			})
		}
	}
	if e.TokenSource != "" && !e.ServerTokens {
		out = append(out, Reading{Value: 1, Warn: 0, Fail: never, Detail: e.TokenSource, Try: "name the model's tokenizer (--tokenizer), or --tokenizer builtin to accept it"})
	}
	return out
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

// waited is the share of arrivals that waited more than 1 ms for a slot, were
// skipped because there was none, or were held up by an answer.
func waited(p *PhaseEvidence) float64 {
	skipped := int(p.Result.Skipped["on_cap"])
	n := skipped + int(p.Result.HeldUp)
	for _, w := range p.Wait {
		if w > 1 {
			n++
		}
	}
	return min(1, float64(n)/float64(max(len(p.Wait)+skipped, 1)))
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

func first(a, b float64) float64 {
	if !math.IsNaN(a) {
		return a
	}
	if !math.IsNaN(b) {
		return b
	}
	return 0
}
