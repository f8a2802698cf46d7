package stats_test

import (
	"fmt"
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

// Reference values: scipy 1.17.1, scipy.stats.norm.ppf.
func TestNormalQuantile(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]float64{
		{1e-10, -6.361340902404056},
		{0.001, -3.090232306167813},
		{0.02425, -1.972961051311885},
		{0.3, -0.5244005127080409},
		{0.5, 0},
		{0.975, 1.959963984540054},
		{0.995, 2.5758293035489004},
		{0.9995, 3.2905267314919255},
		{0, math.Inf(-1)},
		{1, math.Inf(1)},
		{1.5, math.NaN()},
	} {
		if got := stats.NormalQuantile(c[0]); got != c[1] {
			near(t, fmt.Sprintf("NormalQuantile(%g)", c[0]), got, c[1], 1e-13)
		}
	}
	near(t, "NormalCDF(1.96)", stats.NormalCDF(1.959963984540054), 0.975, 1e-15)
}

// Reference values: scipy 1.17.1, scipy.stats.t.ppf.
func TestTQuantile(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]float64{
		{0.975, 1, 12.706204736174694},
		{0.975, 2, 4.302652729749462},
		{0.975, 3, 3.1824463052837078},
		{0.975, 4, 2.7764451051977934},
		{0.975, 9, 2.262157162798205},
		{0.975, 29, 2.045229642132703},
		{0.975, 1000, 1.9623390808264083},
		{0.975, 2.5, 3.5746548420036817},
		{0.95, 5, 2.0150483733330233},
		{0.995, 1, 63.656741162871526},
		{0.6, 1, 0.32491969623290634},
		{0.6, 1000, 0.25341451583949876},
		{0.9995, 1, 636.6192487687897},
		{0.9995, 2, 31.599054576445365},
		{0.9995, 100, 3.390491311164263},
		{0.01, 1, -31.82051595377396},
		{0.0001, 2, -70.70007107496428},
		{0.0001, 1000, -3.7328516045753686},
		{0.5, 7, 0},
		{0.5, -1, math.NaN()},
		{2, 3, math.NaN()},
	} {
		near(t, fmt.Sprintf("TQuantile(%g, %g)", c[0], c[1]), stats.TQuantile(c[0], c[1]), c[2], 1e-11)
	}
	if got := stats.TQuantile(1, 3); !math.IsInf(got, 1) {
		t.Errorf("TQuantile(1, 3) = %v, want +Inf", got)
	}
}

// Reference values: scipy 1.17.1, scipy.stats.t.cdf.
func TestTCDF(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]float64{
		{-5, 1, 0.0628329581890012},
		{-5, 2, 0.018874775675311862},
		{-5, 30, 1.16483427335039e-05},
		{-5, 1000, 3.3836281823243174e-07},
		{-1, 4, 0.18695048315002943},
		{0, 9, 0.5},
		{0.3, 1, 0.5927735790777423},
		{0.3, 1000, 0.617880247916378},
		{2, 4, 0.9419417382415922},
		{12.7, 1, 0.9749878361553279},
		{80, 2, 0.9999218933057799},
		{80, 30, 1},
	} {
		got := stats.TCDF(c[0], c[1])
		if math.Abs(got-c[2]) > 1e-9*c[2] {
			t.Errorf("TCDF(%g, %g) = %.17g, want %.17g", c[0], c[1], got, c[2])
		}
	}
}

// Reference values: scipy 1.17.1, chi2.ppf(α/2, 2n)/2 and chi2.ppf(1−α/2, 2n+2)/2.
func TestGarwood(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n               float64
		level, low, hih float64
	}{
		{0, .95, 0, 3.6888794541139354},
		{0, .999, 0, 7.600902459542192},
		{1, .95, 0.025317807984289897, 5.571643390938898},
		{1, .999, 0.0005001250416822987, 9.998677497623925},
		{5, .95, 1.623486390118421, 11.66833207932267},
		{10, .999, 2.6990331060328105, 25.255559379266145},
		{100, .95, 81.36399125092315, 121.62679379242638},
		{10000, .999, 9674.219632619846, 10333.348428605635},
		{1000000, .999, 996712.748773537, 1003294.8045814902},
	} {
		low, high := stats.Garwood(c.n, c.level)
		near(t, fmt.Sprintf("low of %g at %g", c.n, c.level), low, c.low, 1e-9)
		near(t, fmt.Sprintf("high of %g at %g", c.n, c.level), high, c.hih, 1e-9)
	}
	if low, _ := stats.Garwood(-1, .95); !math.IsNaN(low) {
		t.Errorf("a negative count has the interval from %v", low)
	}
}
