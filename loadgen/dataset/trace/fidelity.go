package trace

import (
	"math"
	"time"
)

// Sent is what became of one row in a replay. Times are since the replay's
// zero; a length of 0 says that nobody counted.
type Sent struct {
	Row     int // its index in the trace
	At      time.Duration
	In, Out int64
	Known   int64 // input tokens that the server's prefix cache knew, −1 when it did not say
	Follows bool  // it is a later turn of its session
	Early   bool  // sent before the turn that it follows was answered
}

// Fidelity says how close a replay came to its trace. Shares are from 0 to 1,
// 1 being exact; one that cannot be known is NaN.
type Fidelity struct {
	Rows, Missing int
	LagP50        time.Duration // sent later than recorded, first row of each side at zero
	LagP99        time.Duration
	Dependencies  float64 // turns that waited for the answer before them
	InputLength   float64 // 1 − |tokens sent − tokens recorded| / recorded, over the whole trace
	OutputLength  float64
	PrefixHit     float64 // the trace's token hit rate, infinite cache
	Reached       float64 // the server's
	Score         float64 // the least of the shares, timeliness included
}

// Compare holds what was sent against rows; block is the size of a block in
// tokens, tolerance the lag that still counts as on time.
func Compare(rows []Row, sent []Sent, block int, tolerance time.Duration) Fidelity {
	f := Fidelity{Rows: len(rows), Missing: len(rows) - len(sent), Reached: math.NaN(), OutputLength: math.NaN(), InputLength: math.NaN()}
	var lags []float64
	var in, wantIn, out, wantOut, known, asked, follow, kept float64
	onTime := 0
	for _, s := range sent {
		r := &rows[s.Row]
		if r.Timed {
			lag := s.At - r.At
			lags = append(lags, float64(lag))
			if lag <= tolerance && lag >= -tolerance {
				onTime++
			}
		}
		if s.In > 0 {
			in, wantIn = in+math.Abs(float64(s.In-r.In)), wantIn+float64(r.In)
		}
		if s.Out > 0 && r.Out > 0 {
			out, wantOut = out+math.Abs(float64(s.Out-r.Out)), wantOut+float64(r.Out)
		}
		if s.Known >= 0 && s.In > 0 {
			known, asked = known+float64(s.Known), asked+float64(s.In)
		}
		if s.Follows {
			follow++
			if !s.Early {
				kept++
			}
		}
	}
	f.Score = 1
	share := func(to *float64, v float64) {
		*to = v
		f.Score = min(f.Score, v)
	}
	if wantIn > 0 {
		share(&f.InputLength, max(0, 1-in/wantIn))
	}
	if wantOut > 0 {
		share(&f.OutputLength, max(0, 1-out/wantOut))
	}
	f.Dependencies = 1
	if follow > 0 {
		share(&f.Dependencies, kept/follow)
	}
	f.PrefixHit = infinite(rows, block)
	if asked > 0 {
		f.Reached = known / asked
		f.Score = min(f.Score, 1-math.Abs(f.Reached-f.PrefixHit))
	}
	if st := describe(lags); st != nil {
		f.LagP50, f.LagP99 = time.Duration(st.Median), time.Duration(quantile(lags, 0.99))
		f.Score = min(f.Score, float64(onTime)/float64(len(lags)))
	}
	if f.Rows > 0 {
		f.Score = min(f.Score, float64(len(sent))/float64(f.Rows))
	}
	return f
}

// infinite is the token hit rate of a cache that forgets nothing.
func infinite(rows []Row, block int) float64 {
	seen := map[uint64]bool{}
	var known, total float64
	for i := range rows {
		at, hit, leading := uint64(0), 0, true
		for _, b := range rows[i].Blocks {
			at = chain(at, b)
			if leading = leading && seen[at]; leading {
				hit++
			}
			seen[at] = true
		}
		known, total = known+math.Min(float64(hit*block), float64(rows[i].In)), total+float64(rows[i].In)
	}
	if total == 0 {
		return 0
	}
	return known / total
}
