package stats

import "math"

// Drift is how positive values moved over repetitions, all groups together.
type Drift struct {
	Change float64 // from the first repetition to the last: 0.1 is 10 % more
	P      float64 // two-sided, of no movement; 1 where chance cannot be told from it
}

// TrialDrift fits a line to one number per trial: the mean, over the groups that
// have the trial, of how far its logarithm is from the group's own level,
//
//	z_t = mean over g of (ln v_gt − mean over t of ln v_gt)
//	b = Σ(t−t̄)(z_t−z̄) / Sxx,  Sxx = Σ(t−t̄)²
//	P from Student's t of b/√(RSS/(T−2)/Sxx) with T−2 degrees of freedom
//
// The groups of a trial share its arrivals and its moment: taken as independent
// they found a drift in 26 % of the plans of twelve groups without any. Values are
// by trial, NaN where a group has none; a group with one that is not positive and
// finite, or below three, is left out. Change is exp(b·(T−1)) − 1. NaN below three
// trials.
func TrialDrift(groups [][]float64) Drift {
	var sums, counts []float64
	for _, g := range groups {
		for i, d := range deviations(g) {
			for i >= len(sums) {
				sums, counts = append(sums, 0), append(counts, 0)
			}
			if !math.IsNaN(d) {
				sums[i], counts[i] = sums[i]+d, counts[i]+1
			}
		}
	}
	var t, z []float64
	for i := range sums {
		if counts[i] > 0 {
			t, z = append(t, float64(i)), append(z, sums[i]/counts[i])
		}
	}
	if len(t) < 3 {
		return Drift{math.NaN(), math.NaN()}
	}
	var sxy, sxx, syy float64
	mt, mz := Mean(t), Mean(z)
	for i := range t {
		dt, dz := t[i]-mt, z[i]-mz
		sxy, sxx, syy = sxy+dt*dz, sxx+dt*dt, syy+dz*dz
	}
	b := sxy / sxx
	d := Drift{Change: math.Expm1(b * (t[len(t)-1] - t[0])), P: 1}
	freedom := float64(len(t) - 2)
	if se := math.Sqrt(max(0, syy-b*sxy) / freedom / sxx); se > 0 {
		d.P = 2 * tTail(math.Abs(b)/se, freedom)
	} else if b != 0 {
		d.P = 0
	}
	return d
}

// deviations are the logarithms of a group's values from their mean, NaN where it
// has none; nil where it has too few, or one without a logarithm.
func deviations(values []float64) []float64 {
	out := make([]float64, len(values))
	sum, n := 0.0, 0.0
	for i, v := range values {
		switch {
		case math.IsNaN(v):
			out[i] = v
			continue
		case !(v > 0) || math.IsInf(v, 1):
			return nil
		}
		out[i] = math.Log(v)
		sum, n = sum+out[i], n+1
	}
	if n < 3 {
		return nil
	}
	for i := range out {
		out[i] -= sum / n
	}
	return out
}
