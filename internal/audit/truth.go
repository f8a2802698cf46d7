package audit

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/stats"
)

// Truth is what the server's log says of the measured requests, in the order of arrival.
type Truth []mockserver.Entry

// ReadTruth reads a log, and leaves out the requests that come before the measured ones.
func ReadTruth(path string, warmup int) (Truth, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all Truth
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		var e mockserver.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if strings.HasSuffix(e.Path, "/completions") {
			all = append(all, e)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	slices.SortStableFunc(all, func(a, b mockserver.Entry) int { return cmp.Compare(a.N, b.N) })
	return all[min(warmup, len(all)):], nil
}

// good says whether an answer came whole.
func good(e *mockserver.Entry) bool { return e.Status == 200 && e.Fault == "" && !e.Aborted }

// of are a value of the requests that were answered, sorted; those without one are left out.
func (t Truth) of(value func(e *mockserver.Entry) float64) []float64 {
	var out []float64
	for i := range t {
		if v := value(&t[i]); good(&t[i]) && !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

const nsPerMS = 1e6

// Values of a request; times in ms, from when the server had read it to when it had handed the
// token to the kernel.
func ttft(e *mockserver.Entry) float64    { return float64(e.First-e.Recv) / nsPerMS }
func latency(e *mockserver.Entry) float64 { return float64(e.Last-e.Recv) / nsPerMS }
func input(e *mockserver.Entry) float64   { return float64(e.InTokens) }
func output(e *mockserver.Entry) float64  { return float64(e.OutTokens) }

func itl(e *mockserver.Entry) float64 {
	if e.OutTokens < 2 {
		return math.NaN()
	}
	return float64(e.Last-e.First) / nsPerMS / float64(e.OutTokens-1)
}

// failed counts answers that did not come whole through the server's doing, left those that
// the client went away from.
func (t Truth) failed() (failed, left int) {
	for i := range t {
		switch e := &t[i]; {
		case e.Aborted:
			left++
		case !good(e):
			failed++
		}
	}
	return failed, left
}

// seconds are from the first arrival to the last end.
func (t Truth) seconds() float64 {
	var end int64
	for i := range t {
		end = max(end, t[i].End)
	}
	return float64(end-t[0].Recv) / 1e9
}

// held are the most requests in flight, each until its last token was handed over: before that
// the client cannot know that it may send the next one. And their mean over time, each until its
// end, from when so many requests as are to be in flight have arrived until the last one
// arrives; NaN where that is no time.
func (t Truth) held(closed int) (peak int, mean float64) {
	type step struct {
		at int64
		by int
	}
	until := func(end func(e *mockserver.Entry) int64) []step {
		var steps []step
		for i := range t {
			steps = append(steps, step{t[i].Recv, 1}, step{end(&t[i]), -1})
		}
		slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), a.by-b.by) })
		return steps
	}
	now := 0
	for _, s := range until(func(e *mockserver.Entry) int64 { return cmp.Or(e.Last, e.End) }) {
		now += s.by
		peak = max(peak, now)
	}
	from, to := t[min(max(closed, 1), len(t))-1].Recv, t[len(t)-1].Recv
	last, area := from, 0.0
	now = 0
	for _, s := range until(func(e *mockserver.Entry) int64 { return e.End }) {
		if at := min(max(s.at, from), to); at > last {
			area += float64(now) * float64(at-last)
			last = at
		}
		now += s.by
	}
	return peak, area / float64(to-from)
}

// arrivals are the rate per second, and the coefficient of variation of the gaps.
func (t Truth) arrivals() (rate, cv float64) {
	var gaps []float64
	for i := 1; i < len(t); i++ {
		gaps = append(gaps, float64(t[i].Recv-t[i-1].Recv)/1e9)
	}
	mean := stats.Mean(gaps)
	var sum float64
	for _, g := range gaps {
		sum += (g - mean) * (g - mean)
	}
	return 1 / mean, math.Sqrt(sum/float64(len(gaps)-1)) / mean
}

// connections are how many the requests came on.
func (t Truth) connections() int {
	seen := map[int64]bool{}
	for i := range t {
		seen[t[i].Conn] = true
	}
	return len(seen)
}
