package stats

import "math"

// Drift is how positive values moved over repetitions, all groups together.
type Drift struct {
	Change float64 // from the first repetition to the last: 0.1 is 10 % more
	P      float64 // two-sided, of no movement; 1 where chance cannot be told from it
}

// CommonDrift fits one slope b to the logarithms of several groups, each with a
// level of its own and its values in order of time:
//
//	y_gt = a_g + b·t,  b = Σ(t−t̄_g)(y_gt−ȳ_g) / Sxx,  Sxx = Σ(t−t̄_g)²
//	P from Student's t of b/√(RSS/(N−G−1)/Sxx) with N−G−1 degrees of freedom
//
// Change is exp(b·(T−1)) − 1, T the length of the longest group. Groups below
// three values, or with one that is not positive and finite, are left out; NaN
// if none is left.
func CommonDrift(groups [][]float64) Drift {
	var sxy, sxx, syy float64
	freedom, longest := -1, 0
	for _, g := range groups {
		y, ok := logarithms(g)
		if !ok || len(y) < 3 {
			continue
		}
		t, my := float64(len(y)-1)/2, Mean(y)
		for i, v := range y {
			dt, dy := float64(i)-t, v-my
			sxy, sxx, syy = sxy+dt*dy, sxx+dt*dt, syy+dy*dy
		}
		freedom, longest = freedom+len(y)-1, max(longest, len(y))
	}
	if longest == 0 {
		return Drift{math.NaN(), math.NaN()}
	}
	b := sxy / sxx
	d := Drift{Change: math.Expm1(b * float64(longest-1)), P: 1}
	rest := max(0, syy-b*sxy)
	if se := math.Sqrt(rest / float64(freedom) / sxx); se > 0 {
		d.P = 2 * tTail(math.Abs(b)/se, float64(freedom))
	} else if b != 0 {
		d.P = 0
	}
	return d
}

func logarithms(values []float64) ([]float64, bool) {
	out := make([]float64, len(values))
	for i, v := range values {
		if !(v > 0) || math.IsInf(v, 1) {
			return nil, false
		}
		out[i] = math.Log(v)
	}
	return out, true
}
