package trace

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Sent is what became of one row in a replay. At is since the replay's zero; a
// length of 0 says that nobody counted.
type Sent struct {
	Row     int // its index in the trace
	At      time.Duration
	In, Out int64
	Known   int64 // input tokens that the server's prefix cache knew, −1 when it did not say
	Asked   int64 // input tokens by the server's count; 0 when it did not say: In is taken
	Follows bool  // it is a later turn of its session
	Early   bool  // sent before the turn that it follows was answered
	Paced   bool  // a pause was recorded before it, and it was due at Due
	Due     time.Duration
	Primes  bool // sent before anything is measured: the server's cache knows it, nothing else counts
}

// Fidelity says how close a replay came to its trace. Shares are from 0 to 1,
// 1 being exact; one that cannot be known is NaN.
type Fidelity struct {
	Rows, Missing int
	Middle        bool          // sessions were gone on from their middle: Rows are the requests sent
	LagP50        time.Duration // sent later than recorded
	LagP99        time.Duration
	Timed         int     // rows whose time was to be kept
	OnTime        float64 // of these, the share that was sent within the tolerance
	Dependencies  float64 // later turns that waited for the answer before them
	InputLength   float64 // 1 − |tokens sent − tokens recorded| / recorded, over the whole trace
	OutputLength  float64
	PrefixHit     float64 // the trace's token hit rate in the order sent, infinite cache
	Reached       float64 // the server's
	Score         float64 // the least of the shares, less the overlap that was missed (Overlap)
}

// Compare holds what was sent against rows; block is the size of a block in
// tokens, tolerance the lag that still counts as on time. It sorts sent by
// time.
func Compare(rows []Row, sent []Sent, block int, tolerance time.Duration) Fidelity {
	nan := math.NaN()
	f := Fidelity{
		Rows: len(rows), Missing: len(rows) - len(sent), Score: 1, OnTime: nan, Dependencies: nan,
		InputLength: nan, OutputLength: nan, PrefixHit: nan, Reached: nan,
	}
	slices.SortStableFunc(sent, func(a, b Sent) int { return cmp.Compare(a.At, b.At) })
	var lags []float64
	var in, out gap
	var follow, kept, onTime, known, asked float64
	for _, s := range sent {
		r := &rows[s.Row]
		if s.Primes {
			continue
		}
		if r.Timed || s.Paced {
			lag := s.At - r.At
			if s.Paced {
				lag = s.At - s.Due
			}
			lags = append(lags, float64(lag))
			if lag <= tolerance && lag >= -tolerance {
				onTime++
			}
		}
		in.add(s.In, r.In)
		out.add(s.Out, r.Out)
		if s.Known >= 0 && s.In > 0 {
			known, asked = known+float64(s.Known), asked+float64(max(s.Asked, s.In))
		}
		if s.Follows {
			follow++
			if !s.Early {
				kept++
			}
		}
	}
	share := func(to *float64, of, all float64) {
		if all > 0 {
			*to = max(0, of/all)
			f.Score = min(f.Score, *to)
		}
	}
	share(&f.OnTime, onTime, float64(len(lags)))
	share(&f.Dependencies, kept, follow)
	share(&f.InputLength, in.wanted-in.off, in.wanted)
	share(&f.OutputLength, out.wanted-out.off, out.wanted)
	f.PrefixHit = infinite(rows, sent, block)
	if asked > 0 {
		f.Reached = known / asked
	}
	if f.Timed = len(lags); f.Timed > 0 {
		slices.Sort(lags)
		f.LagP50, f.LagP99 = time.Duration(quantile(lags, 0.5)), time.Duration(quantile(lags, 0.99))
	}
	if f.Rows > 0 {
		f.Score = min(f.Score, float64(len(sent))/float64(f.Rows))
	}
	f.Score *= f.Overlap()
	return f
}

// Overlap is the share of the input that the server's cache knew as the trace
// says, or did not know: 1 where one of them does not say. It scales the score, so
// that a missed overlap is seen beside a worse share, too.
func (f *Fidelity) Overlap() float64 {
	if math.IsNaN(f.Reached) || math.IsNaN(f.PrefixHit) {
		return 1
	}
	return 1 - math.Abs(f.Reached-f.PrefixHit)
}

// gap sums how far lengths are from those recorded, in tokens.
type gap struct{ off, wanted float64 }

func (g *gap) add(got, recorded int64) {
	if got > 0 && recorded > 0 {
		g.off, g.wanted = g.off+math.Abs(float64(got-recorded)), g.wanted+float64(recorded)
	}
}

// infinite is the token hit rate of a cache that forgets nothing over the rows
// that were sent, in their order. Of a block that stands for fewer tokens in one
// row than in another, as many are known as were seen. The last token of a prompt
// is never known: a server computes it to answer.
func infinite(rows []Row, sent []Sent, block int) float64 {
	var seen Names
	var held []int64 // by number in seen: the most tokens that it stood for
	var known, total float64
	for _, s := range sent {
		r := &rows[s.Row]
		if s.In == 0 || r.In == 0 {
			continue
		}
		at, hit, leading := uint64(0), int64(0), true
		for k, b := range r.Blocks {
			at = chain(at, b)
			n, tokens := seen.Of(at), r.Tokens(k, block)
			if int(n) == len(held) {
				held = append(held, 0)
			}
			if leading {
				hit += min(tokens, held[n])
			}
			leading = leading && held[n] >= tokens
			held[n] = max(held[n], tokens)
		}
		if s.Primes {
			continue
		}
		known, total = known+float64(min(hit, r.In-1)), total+float64(r.In)
	}
	if total == 0 {
		return math.NaN()
	}
	return known / total
}
