package mode

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/schema"
)

const msec = time.Millisecond

func millis(v ...float64) (d []time.Duration) {
	for _, x := range v {
		d = append(d, time.Duration(math.Round(x*1e6)))
	}
	return d
}

func ptr[T any](v T) *T { return &v }

func TestScheduleByHand(t *testing.T) {
	t.Parallel()
	ramp := func(s float64, shape string) *schema.Ramp {
		return &schema.Ramp{Duration: schema.Duration(s), Strategy: shape}
	}
	for _, c := range []struct {
		name  string
		phase schema.Phase
		want  []time.Duration
	}{
		{"constant", schema.Phase{Type: "constant", Rate: 400}, millis(2.5, 5, 7.5, 10)},
		{"constant, no drift", schema.Phase{Type: "constant", Rate: 3}, []time.Duration{333333333, 666666667, 1e9, 1333333333}},
		{"constant, bounded", schema.Phase{Type: "constant", Rate: 400, Requests: 2}, millis(2.5, 5)},
		{"constant, until its duration", schema.Phase{Type: "constant", Rate: 400, Duration: schema.Seconds(0.0075)}, millis(2.5, 5)},
		{"burst", schema.Phase{Type: "concurrency", Concurrency: 3}, millis(0, 0, 0)},
		{"burst without limits", schema.Phase{Type: "concurrency"}, millis(0)},
		{"burst, linear ramp", schema.Phase{Type: "concurrency", Concurrency: 4, ConcurrencyRamp: ramp(3, "linear")}, millis(0, 1000, 2000, 3000)},
		{
			"burst, exponential ramp",
			schema.Phase{Type: "concurrency", Concurrency: 5, ConcurrencyRamp: ramp(4, "exponential")},
			millis(0, 2000, 2828.427125, 3464.101615),
		},
		// 10/s over 0.4 s: 2.5/s, then from 0.1 s on 4.375, 6.25, 8.125 and 10/s.
		// Λ(0.1..0.4) = 0.25, 0.6875, 1.3125, 2.125.
		{
			"constant, linear rate ramp",
			schema.Phase{Type: "constant", Rate: 10, RateRamp: ramp(0.4, "linear")},
			millis(250, 384.615385, 487.5, 587.5),
		},
	} {
		got := offsets(t, c.phase, 1, 4)
		if !cmp.Equal(got, c.want) {
			t.Errorf("%s: Schedule = %v, want %v", c.name, got, c.want)
		}
	}
}

// Every row of the catalogue has a schedule of its own here: a new mode fails
// until its case stands below. What is drawn is a function of the seed, so it
// comes again with it and not with another; the others are counted by hand.
func TestEveryModeHasItsSchedule(t *testing.T) {
	t.Parallel()
	for _, m := range Catalogue() {
		c, ok := map[string]struct {
			phase schema.Phase
			set   *dataset.Set
			want  []time.Duration
		}{
			"concurrency":    {schema.Phase{Type: "concurrency", Concurrency: 3}, nil, millis(0, 0, 0)},
			"constant":       {schema.Phase{Type: "constant", Rate: 400}, nil, millis(2.5, 5, 7.5)},
			"poisson":        {schema.Phase{Name: "p", Type: "poisson", Rate: 10}, nil, nil},
			"gamma":          {schema.Phase{Name: "p", Type: "gamma", Rate: 10, Smoothness: 2}, nil, nil},
			"rate_series":    {schema.Phase{Name: "p", Type: "poisson", RateSeries: []schema.RatePoint{{TimeS: 0, QPS: 10}, {TimeS: 10, QPS: 20}}}, nil, nil},
			"fixed_schedule": {schema.Phase{Type: "fixed_schedule"}, stamps(t, 1000, 500, 2000), millis(500, 1000, 2000)},
			"agentic_replay": {schema.Phase{Type: "agentic_replay", Concurrency: 3}, stamps(t, 1000, 500, 2000), millis(0, 0, 0)},
			"user_centric":   {schema.Phase{Name: "p", Type: "user_centric", Users: 4, Rate: 2}, datasettest.Conversations(t, 4, 4, 4), millis(0, 500, 1000)},
		}[m.Name]
		if !ok {
			t.Errorf("%s: no schedule of it is tested", m.Name)
			continue
		}
		if got, err := Of(&c.phase); err != nil || got.Name != m.Name {
			t.Errorf("%s: the case is one of %v, %v", m.Name, got, err)
		}
		got, err := Schedule(&c.phase, 7, 3, c.set)
		if c.want == nil { // drawn: the same again, and in order
			c.want, _ = Schedule(&c.phase, 7, 3, c.set)
			if other, _ := Schedule(&c.phase, 8, 3, c.set); cmp.Equal(got, other) ||
				!slices.IsSorted(got) || len(got) != 3 || got[0] <= 0 {
				t.Errorf("%s: %v of one seed, %v of another", m.Name, got, other)
			}
		}
		if err != nil || !cmp.Equal(got, c.want) {
			t.Errorf("%s: Schedule = %v, %v, want %v", m.Name, got, err, c.want)
		}
	}
}

// The rate ramp's figures again, from Λ: operational time i is due where the
// integral of the rate reaches i.
func TestRateRampIntegral(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"linear", "exponential", "poisson"} {
		p := schema.Phase{Name: "p", Type: "constant", Rate: 50, RateRamp: &schema.Ramp{Duration: 3, Strategy: shape}}
		ref, err := newPace(&p, 7)
		if err != nil {
			t.Fatal(err)
		}
		first, last := ref.knots[0], ref.knots[len(ref.knots)-1]
		if math.Abs(first.rate-50*0.1/3) > 1e-9 || math.Abs(last.rate-50) > 1e-9 || math.Abs(last.at-3) > 1e-9 {
			t.Errorf("%s: from %v/s to %v/s at %v s, want from %v to 50 at 3", shape, first.rate, last.rate, last.at,
				50*0.1/3)
		}
		for i, at := range offsets(t, p, 7, 300) {
			var sum float64
			for k, kn := range ref.knots {
				end := at.Seconds()
				if k+1 < len(ref.knots) {
					end = min(end, ref.knots[k+1].at)
				}
				if end > kn.at {
					sum += (end - kn.at) * kn.rate
				}
			}
			if math.Abs(sum-float64(i+1)) > 1e-6 {
				t.Fatalf("%s: arrival %d at %v, where the integral of the rate is %v", shape, i+1, at, sum)
			}
		}
	}
}

func TestScheduleOfTrace(t *testing.T) {
	t.Parallel()
	set := stamps(t, 1000, 500, 2000, 2500, 4000)
	for _, c := range []struct {
		name  string
		phase schema.Phase
		want  []time.Duration
	}{
		{"from zero", schema.Phase{}, millis(500, 1000, 2000, 2500, 4000)},
		{"auto offset", schema.Phase{AutoOffset: ptr(true)}, millis(0, 500, 1500, 2000, 3500)},
		{"window, ends included", schema.Phase{StartOffset: ptr(int64(1000)), EndOffset: ptr(int64(2500))}, millis(0, 1000, 1500)},
		{"window and auto offset", schema.Phase{AutoOffset: ptr(true), EndOffset: ptr(int64(1000))}, millis(0, 500)},
	} {
		c.phase.Type = "fixed_schedule"
		got, err := Schedule(&c.phase, 1, 10, set)
		if err != nil || !cmp.Equal(got, c.want) {
			t.Errorf("%s: Schedule = %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	_, err := Schedule(&schema.Phase{Name: "p", Type: "fixed_schedule", StartOffset: ptr(int64(9000))}, 1, 10, set)
	if err == nil {
		t.Error("an empty window is no error")
	}
}

// trace is a set of single turns with these time stamps in ms.
func stamps(t *testing.T, stamps ...int) *dataset.Set {
	t.Helper()
	var records []any
	for _, at := range stamps {
		records = append(records, map[string]any{"text": "a", "timestamp": at})
	}
	return datasettest.Inline(t, "single_turn", records)
}

// Four users at 2/s, conversations of 4 turns: L = 3, gap = 2 s, stagger 0.5 s.
// a = 12, 9, 6, 3 for i = 0..3: turns left 0, 1, 2, 3; slots −, 3, 2, 1.
// User 1 has one turn at 1.5 s; its successor starts at 3.5 s. User 2 sends at
// 1 s and 3 s, user 3 at 0.5, 2.5 and 4.5 s, the fresh one at 0, 2, 4 and 6 s.
// So one turn is due every 0.5 s from the first moment on.
func TestScheduleOfUsersByHand(t *testing.T) {
	t.Parallel()
	p := schema.Phase{Name: "p", Type: "user_centric", Users: 4, Rate: 2}
	set := datasettest.Conversations(t, 4, 4, 4)
	got, err := Schedule(&p, 1, 20, set)
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range got {
		if want := time.Duration(i) * 500 * msec; at != want {
			t.Fatalf("turn %d is due at %v, want %v: %v", i, at, want, got)
		}
	}
	u, err := newUsers(&p, 1, set)
	if err != nil {
		t.Fatal(err)
	}
	type start struct {
		At    time.Duration
		Turns int
	}
	var starts []start
	for range 7 {
		at, _, turns := u.start()
		starts = append(starts, start{at, turns})
	}
	want := []start{
		{0, 4},
		{500 * msec, 3},
		{1000 * msec, 2},
		{1500 * msec, 1},
		{3500 * msec, 4},
		{5000 * msec, 4},
		{6500 * msec, 4},
	}
	if diff := cmp.Diff(want, starts); diff != "" {
		t.Errorf("users (-want +got):\n%s", diff)
	}
}

// With a common divisor of N and L the slots come from the coprime step; they
// must still be distinct.
func TestStartSlotsAreDistinct(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 30; n++ {
		for l := 1; l <= 30; l++ {
			seen := map[int]bool{}
			for i := range n {
				s := startSlot(n, l, i)
				if s < 1 || s > n || seen[s] {
					t.Fatalf("N=%d L=%d: user %d starts in slot %d, taken or out of range", n, l, i, s)
				}
				seen[s] = true
			}
		}
	}
	for n, want := range map[int]int{1: 1, 2: 1, 3: 2, 4: 3, 6: 5, 15: 2, 30: 7} {
		if got := coprimeStep(n); got != want {
			t.Errorf("coprimeStep(%d) = %d, want %d", n, got, want)
		}
	}
}

// gammaCDF is the regularised lower incomplete gamma function, by its series.
func gammaCDF(k, x float64) float64 {
	if x <= 0 {
		return 0
	}
	term := 1 / k
	sum := term
	for n := 1; n < 10_000 && term > sum*1e-15; n++ {
		term *= x / (k + float64(n))
		sum += term
	}
	lg, _ := math.Lgamma(k)
	return sum * math.Exp(k*math.Log(x)-x-lg)
}

func TestGapsAreDistributedAsAsked(t *testing.T) {
	t.Parallel()
	const n, rate = 20_000, 500.0
	for _, c := range []struct {
		name  string
		phase schema.Phase
		cdf   func(gap float64) float64 // gap in mean gaps
	}{
		{"poisson", schema.Phase{Type: "poisson"}, func(x float64) float64 { return 1 - math.Exp(-x) }},
		{"gamma 1", schema.Phase{Type: "gamma"}, func(x float64) float64 { return 1 - math.Exp(-x) }},
		{"gamma 0.3", schema.Phase{Type: "gamma", Smoothness: 0.3}, func(x float64) float64 { return gammaCDF(0.3, 0.3*x) }},
		{"gamma 4", schema.Phase{Type: "gamma", Smoothness: 4}, func(x float64) float64 { return gammaCDF(4, 4*x) }},
	} {
		c.phase.Name, c.phase.Rate = c.name, rate
		due := offsets(t, c.phase, 2024, n)
		gaps := make([]float64, n)
		last := time.Duration(0)
		for i, at := range due {
			gaps[i] = (at - last).Seconds() * rate
			last = at
		}
		slices.Sort(gaps)
		// The seed is fixed, so this either always holds or never.
		if ks := stats.KS1(gaps, c.cdf); ks.P < 0.01 {
			t.Errorf("%s: KS %+v, of which the law asked for makes one in a hundred", c.name, ks)
		}
	}
}

// Arrivals of a varying rate become uniform when time is measured in expected
// arrivals: 100/s rising to 300/s over 10 s, then falling to 0 at 20 s.
func TestSeriesFollowsItsRate(t *testing.T) {
	t.Parallel()
	p := schema.Phase{Name: "p", Type: "poisson", RateSeries: []schema.RatePoint{
		{TimeS: 0, QPS: 100},
		{TimeS: 10, QPS: 300},
		{TimeS: 20, QPS: 0},
	}}
	got := offsets(t, p, 5, 100_000)
	// ∫ = 2,000 + 1,500; four standard deviations are 237.
	if len(got) < 3500-237 || len(got) > 3500+237 {
		t.Errorf("%d arrivals, want about 3,500", len(got))
	}
	expected := func(at float64) float64 {
		if at < 10 {
			return 100*at + 10*at*at
		}
		u := at - 10
		return 2000 + 300*u - 15*u*u
	}
	u := make([]float64, len(got))
	for i, at := range got {
		u[i] = expected(at.Seconds()) / 3500
	}
	if ks := stats.KS1(u, func(x float64) float64 { return x }); ks.P < 0.01 {
		t.Errorf("KS %+v, of which the rate asked for makes one in a hundred", ks)
	}
}

// A silence takes no work, however long it is and however high the rate around
// it: nothing would come of 10¹¹ candidates.
func TestSeriesAfterASilence(t *testing.T) {
	t.Parallel()
	p := schema.Phase{Name: "p", Type: "poisson", RateSeries: []schema.RatePoint{
		{TimeS: 10, QPS: 0}, {TimeS: 1e5, QPS: 0}, {TimeS: 1e5 + 1, QPS: 1e6}, {TimeS: 1e5 + 2, QPS: 0},
	}}
	got := offsets(t, p, 1, 2_000_000)
	// 500,000 while it climbs, as many while it falls; four standard deviations are 4,000.
	if len(got) < 996_000 || len(got) > 1_004_000 {
		t.Fatalf("%d arrivals, want about 1,000,000", len(got))
	}
	if first, last := got[0].Seconds(), got[len(got)-1].Seconds(); first < 1e5 || last > 1e5+2 {
		t.Errorf("from %v to %v s, want within 100,000 and 100,002", first, last)
	}
	if early := offsets(t, schema.Phase{
		Name: "p", Type: "poisson",
		RateSeries: []schema.RatePoint{{TimeS: 10, QPS: 500}, {TimeS: 11, QPS: 0}},
	}, 1,
		10_000); len(early) < 4950 || len(early) > 5550 {
		t.Errorf("%d arrivals, want about 5,250: 500/s before the first point", len(early))
	}
}

func TestScheduleIsAFunctionOfSeedAndPhase(t *testing.T) {
	t.Parallel()
	p := schema.Phase{Name: "p", Type: "gamma", Rate: 10, Smoothness: 0.5}
	a, b := offsets(t, p, 1, 50), offsets(t, p, 1, 20)
	if !cmp.Equal(a[:20], b) {
		t.Error("the first 20 offsets depend on how many are asked for")
	}
	if cmp.Equal(a, offsets(t, p, 2, 50)) {
		t.Error("another seed gives the same offsets")
	}
	q := p
	q.Name = "other"
	if cmp.Equal(a, offsets(t, q, 1, 50)) {
		t.Error("another phase gives the same offsets")
	}
}

// Arrival i is a draw of its own: the same trial at twice the rate has the same
// schedule at half the scale, also along a ramp and a series.
func TestArrivalsArePairedAcrossRates(t *testing.T) {
	t.Parallel()
	for _, p := range []schema.Phase{
		{Name: "p", Type: "poisson", Rate: 10},
		{Name: "p", Type: "gamma", Rate: 10, Smoothness: 0.4},
		{Name: "p", Type: "gamma", Rate: 10, Smoothness: 3},
	} {
		slow := offsets(t, p, 5, 200)
		p.Rate *= 2
		for i, at := range offsets(t, p, 5, 200) {
			if d := slow[i] - 2*at; d < -2 || d > 2 {
				t.Fatalf("%s: arrival %d at %v and %v", p.Type, i, slow[i], at)
			}
		}
	}
	steady := offsets(t, schema.Phase{Name: "p", Type: "poisson", Rate: 10}, 5, 200)
	flat := offsets(t, schema.Phase{
		Name: "p", Type: "poisson",
		RateSeries: []schema.RatePoint{{TimeS: 0, QPS: 10}, {TimeS: 7, QPS: 10}},
	}, 5, 200)
	if !cmp.Equal(steady, flat) {
		t.Error("a level series is not the schedule of its rate")
	}
}

func TestSettingsThatCannotBeScheduled(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]schema.Phase{
		"rate 0":              {Type: "constant"},
		"rate NaN":            {Type: "poisson", Rate: math.NaN()},
		"unknown type":        {Type: "waves", Rate: 1},
		"negative smoothness": {Type: "gamma", Rate: 1, Smoothness: -1},
		"users without rate":  {Type: "user_centric", Users: 2},
		"series of nothing":   {Type: "poisson", RateSeries: []schema.RatePoint{{TimeS: 0}, {TimeS: 1}}},
		"series backwards":    {Type: "poisson", RateSeries: []schema.RatePoint{{TimeS: 1, QPS: 1}, {TimeS: 1, QPS: 2}}},
		"trace without stamp": {Type: "fixed_schedule"},
	} {
		if got, err := Schedule(&p, 1, 3, datasettest.Conversations(t, 1)); err == nil {
			t.Errorf("%s: got %v and no error", name, got)
		}
	}
}
