package mockserver

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// moments of a series: mean, coefficient of variation, and the correlation of
// the logarithms of neighbours.
func moments(list []float64) (mean, cv, lag1 float64) {
	n := float64(len(list))
	var sum, squares, logs float64
	for _, x := range list {
		sum += x
		squares += x * x
		logs += math.Log(x)
	}
	mean, logs = sum/n, logs/n
	var own, cross float64
	for i, x := range list {
		d := math.Log(x) - logs
		own += d * d
		if i > 0 {
			cross += d * (math.Log(list[i-1]) - logs)
		}
	}
	return mean, math.Sqrt(squares/n-mean*mean) / mean, cross / own
}

// 20,000 requests: the factors on their times have the mean, the spread and
// the memory that was asked for. The tolerances are five standard errors.
func TestLevels(t *testing.T) {
	t.Parallel()
	const n = 20000
	for _, c := range []Config{
		{Shape: LogNormal, Spread: 0.3, Seed: 1},
		{Shape: LogNormal, Spread: 0.3, Memory: 0.7, Seed: 2},
		{Shape: LogNormal, Spread: 0.3, Memory: -0.5, Seed: 3},
		{Shape: Uniform, Spread: 0.3, Seed: 4},
		{Shape: Exponential, Spread: 1, Seed: 5},
	} {
		var l levels
		list := make([]float64, n)
		for i := range list {
			_, list[i] = l.draw(&c)
		}
		mean, cv, lag1 := moments(list)
		inflated := c.Spread * math.Sqrt((1+c.Memory)/(1-c.Memory)/n)
		if math.Abs(mean-1) > 5*inflated || math.Abs(cv/c.Spread-1) > 0.1 || math.Abs(lag1-c.Memory) > 5/math.Sqrt(n) {
			t.Errorf("%+v: mean %.4f, cv %.4f, lag-1 correlation %.4f; want 1, %g, %g", c, mean, cv, lag1, c.Spread,
				c.Memory)
		}
	}
}

// Lengths and times depend on the seed and on the order of arrival alone.
func TestTimesAreReproducible(t *testing.T) {
	t.Parallel()
	lengths := func(seed int) (out []int) {
		b := start(t, fmt.Sprintf("ttft=0s&osl=40&osl_cv=0.5&cv=0.2&ar=0.5&seed=%d", seed))
		for range 40 {
			b.post("/v1/completions", `{"prompt":"a"}`)
		}
		for _, e := range b.stop() {
			out = append(out, e.OutTokens)
		}
		return out
	}
	first, again, other := lengths(1), lengths(1), lengths(2)
	if !slices.Equal(first, again) || slices.Equal(first, other) {
		t.Errorf("lengths of seeds 1, 1, 2:\n%v\n%v\n%v", first, again, other)
	}
	if low, high := slices.Min(first), slices.Max(first); low > 30 || high < 50 {
		t.Errorf("lengths from %d to %d; want them spread around 40", low, high)
	}
	b := start(t, "ttft=0s&osl=40&osl_cv=0.5")
	b.post("/v1/completions", `{"prompt":"a","max_tokens":7}`)
	if e := b.stop()[0]; e.OutTokens != 7 {
		t.Errorf("%d tokens where the request asks for 7", e.OutTokens)
	}
}

func TestLengthsHaveTheirMean(t *testing.T) {
	t.Parallel()
	const n = 10000
	c := Config{OSL: 100, OSLSpread: 0.3}
	rng, sum := rand.New(rand.NewPCG(1, 2)), 0
	for range n {
		sum += c.length(rng)
	}
	if mean := float64(sum) / n; math.Abs(mean-100) > 5*30/math.Sqrt(n) {
		t.Errorf("mean length %.2f, want 100", mean)
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	const sec = int64(time.Second)
	s := &scheduler{server: &Server{cfg: Config{Slowdown: 1.5, SlowFrom: 2 * time.Second, Drift: 0.1}}, first: 10 * sec}
	for at, want := range map[int64]float64{10 * sec: 1, 11 * sec: 1.1, 12 * sec: 1.8, 20 * sec: 3} {
		if got := s.pace(at); math.Abs(got-want) > 1e-12 {
			t.Errorf("pace %d s after the first request = %g, want %g", at/sec-10, got, want)
		}
	}
	s.server.cfg.Drift = -1
	if got := s.pace(30 * sec); got != 1.5*least {
		t.Errorf("pace of a server that gets ever faster = %g, want %g", got, 1.5*least)
	}
}

// Two workers: whatever comes at once, a request begins only when the one two
// places before it has taken its 2 ms, and the log says so.
func TestWorkersSaturate(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=2ms&osl=1&workers=2")
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() { b.post("/v1/completions", `{"prompt":"a"}`) })
	}
	wg.Wait()
	log := b.stop()
	slices.SortFunc(log, func(x, y Entry) int { return int(x.Start - y.Start) })
	for i, e := range log {
		if e.Start < e.Recv || e.First < e.Start+int64(2*time.Millisecond) {
			t.Errorf("request %d: received %d, begun %d, answered %d", e.N, e.Recv, e.Start, e.First)
		}
		if i >= 2 && e.Start < log[i-2].Start+int64(2*time.Millisecond) {
			t.Errorf("request %d began %d ns after the one two before it", i, e.Start-log[i-2].Start)
		}
	}
}

// A worker, one place in line: of six requests at once at least one is refused,
// and those that are not get their answer.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=20ms&osl=1&workers=1&queue=1")
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[int]int{}
	for range 6 {
		wg.Go(func() {
			a := b.post("/v1/completions", `{"prompt":"a"}`)
			mu.Lock()
			defer mu.Unlock()
			got[a.status]++
			if a.status == 503 && a.header.Get("Retry-After") != "1" {
				t.Errorf("503 with Retry-After %q", a.header.Get("Retry-After"))
			}
		})
	}
	wg.Wait()
	b.stop()
	if got[200] == 0 || got[200]+got[503] != 6 {
		t.Errorf("statuses %v; want 200 and 503 only", got)
	}
}

// 10 a second: 10 at once are let in, then one every 100 ms.
func TestBucket(t *testing.T) {
	t.Parallel()
	var b bucket
	const ms = int64(time.Millisecond)
	let := func(at int64) bool { ok, _ := b.admit(10, at); return ok }
	for i := range 10 {
		if !let(0) {
			t.Fatalf("request %d of a burst of 10 is refused", i)
		}
	}
	if ok, wait := b.admit(10, 30*ms); ok || wait != 70*time.Millisecond {
		t.Errorf("after the burst: let in %v, to wait %v; want 70 ms", ok, wait)
	}
	if !let(100*ms) || let(150*ms) || !let(200*ms) {
		t.Error("one request every 100 ms is not let in")
	}
	n := 0
	for at := 10 * int64(time.Second); at < 20*int64(time.Second); at += ms {
		if let(at) {
			n++
		}
	}
	if n < 108 || n > 110 { // 10 s of 10 a second after a pause that saved 10
		t.Errorf("%d requests of 1,000 a second let in within 10 s, want about 109", n)
	}
}

func TestNotReady(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=0s&ready=1h&models_ready=1h")
	for _, a := range []answer{b.get("/v1/models"), b.get("/health"), b.post("/v1/completions", `{"prompt":"a"}`)} {
		if a.status != 503 || a.header.Get("Retry-After") == "" {
			t.Errorf("%d %v %s; want 503 with Retry-After", a.status, a.header, a.body)
		}
	}
	b.stop()
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=0s&rate_limit=0.001")
	first, second := b.post("/v1/completions", `{"prompt":"a"}`), b.post("/v1/completions", `{"prompt":"a"}`)
	b.stop()
	if first.status != 200 || second.status != 429 || len(second.header.Get("Retry-After")) != 4 { // near 1,000 s
		t.Errorf("%d, then %d, Retry-After %q; want 200, 429, about 1000", first.status,
			second.status, second.header.Get("Retry-After"))
	}
}
