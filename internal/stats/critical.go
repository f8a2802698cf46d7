package stats

import "math"

// t975 is Student's t at 97.5 % for 1 to 30 degrees of freedom: nearly every
// interval asks for one of these, and a plan has a million of them. The test
// computes them anew.
var t975 = [...]float64{
	12.706204736174694, 4.302652729749462, 3.1824463052837078, 2.7764451051977934, 2.5705818356363146,
	2.4469118511449786,
	2.364624251592784, 2.306004135204166, 2.262157162798205, 2.228138851986274, 2.200985160091639, 2.1788128296672284,
	2.1603686564627913, 2.144786687917804, 2.131449545559776, 2.1199052992212546, 2.1098155778333156,
	2.1009220402410382,
	2.0930240544083087, 2.085963447265864, 2.0796138447276795, 2.0738730679040254, 2.0686576104190486,
	2.0638985616280245,
	2.0595385527532972, 2.0555294386428735, 2.0518305164802846, 2.0484071417952454, 2.045229642132703,
	2.0422724563012378,
}

// tCritical is t(1−(1−level)/2, df).
func tCritical(level float64, df int) float64 {
	if level == 0.95 && df >= 1 && df <= len(t975) {
		return t975[df-1]
	}
	return TQuantile(1-(1-level)/2, float64(df))
}

// clusterFactor is (t(1−α/2, n−1) / z(1−α/2))²: how much less a design effect
// that was estimated from n trials is worth than a known one.
func clusterFactor(level float64, n int) float64 {
	r := tCritical(level, n-1) / NormalQuantile(1-(1-level)/2)
	return r * r
}

func validLevel(level float64) bool { return level > 0 && level < 1 && !math.IsNaN(level) }

// RelativeWidth is t(0.975, n−1)/√n: how wide a 95 % interval over n trials is,
// in standard deviations of one.
func RelativeWidth(n int) float64 { return tCritical(0.95, n-1) / math.Sqrt(float64(n)) }
