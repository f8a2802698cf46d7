package stats

// What the tests compare with SciPy by itself and the package keeps inside.
var (
	BetaQuantile    = betaQuantile
	ClopperPearson  = clopperPearson
	Garwood         = garwood
	KolmogorovSF    = kolmogorovSF
	NormalCDF       = normalCDF
	Autocorrelation = autocorrelation
)

// autocorrelation is ρ(0) … ρ(maxLag) of a series, as Series sees it: by sums up to
// directLags, and by the transform beyond.
func autocorrelation(x []float64, maxLag int) []float64 {
	maxLag = min(maxLag, len(x)-1)
	var s Series
	s.centre(Mean(x), x)
	rho := make([]float64, maxLag+1)
	rho[0] = 1
	if s.total == 0 {
		return rho
	}
	if maxLag > directLags {
		s.transform()
	}
	for k := 1; k <= maxLag; k++ {
		rho[k] = s.at(k)
	}
	return rho
}
