package audit

import (
	"fmt"
	"math"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
)

// Line is one quantity: what the client says, or was asked to do, and what the server's log
// says. A side that is not known is nil.
type Line struct {
	Quantity string   `json:"quantity"`
	Unit     string   `json:"unit,omitempty"`
	Says     *float64 `json:"says"`
	Is       *float64 `json:"is"`
	Asked    bool     `json:"asked,omitempty"` // Says is what was asked of the client
	Time     bool     `json:"time,omitempty"`  // a difference is the client's own time, and the machine's
	Off      string   `json:"off,omitempty"`   // why the two do not agree; "" where they do
}

// Error is what the client says above what is; NaN where a side is not known.
func (l *Line) Error() float64 {
	if l.Says == nil || l.Is == nil {
		return math.NaN()
	}
	return *l.Says - *l.Is
}

// How far times may be off and still agree: the wire, the kernel and reading take some.
const (
	early    = 0.1  // ms before the server had handed it over: the error of clocks
	lateBy   = 2.0  // ms
	lateTail = 5.0  // ms, of p90 and p99
	latePart = 0.05 // of the time, where that is more
)

// Score holds a report against the truth, quantity by quantity.
func Score(s *Scenario, r Report, t Truth) []Line {
	c := &card{}
	n := float64(len(t))
	c.asked("requests sent", "", float64(s.Requests), n, 0)
	if len(t) == 0 {
		return c.lines
	}
	failed, left := t.failed()
	ok, bad := r.says(metrics.RequestCount, "avg"), r.says(metrics.ErrorRequestCount, "avg")
	if bad == nil && ok != nil {
		bad = new(float64) // without a failure there is no such line
	}
	var told, leaked *float64
	if ok != nil {
		sum := *ok + *bad
		over := max(0, sum-n)
		told, leaked = &sum, &over
	}
	c.exact("requests reported", "", told, n, 0)
	c.exact("failures", "", bad, float64(failed+left), 0)
	c.exact("warmup counted", "", leaked, 0, 0)
	c.exact("answers left early", "", nil, float64(left), 0)
	if left > 0 {
		c.lines[len(c.lines)-1].Off = "the client went away before these ended"
	}
	peak, mean := t.held(s.Closed)
	if s.open() {
		rate, cv := t.arrivals()
		want := map[string]float64{"poisson": 1}[s.Law] // cv of the gaps
		c.asked("arrival rate", "/s", s.Rate, rate, max(0.05, 4*want/math.Sqrt(n)))
		c.asked("spread of gaps", "cv", want, cv, 0)
		if l := &c.lines[len(c.lines)-1]; math.Abs(cv-want) <= 0.5-0.2*want { // half-way to 1, and 0.3 around it
			l.Off = ""
		} else {
			l.Off = "arrivals are not " + s.Law
		}
	} else {
		c.asked("most in flight", "", float64(s.Closed), float64(peak), 0)
		c.asked("mean in flight", "", float64(s.Closed), mean, 0.1)
	}
	// one that the client still reads from is not free for the next request, which the log
	// does not show
	c.asked("connections", "at most", float64(2*peak+failed+left), float64(t.connections()), 0)
	if l := &c.lines[len(c.lines)-1]; *l.Is <= *l.Says {
		l.Off = ""
	} else {
		l.Off = "connections are not kept"
	}
	if len(t.of(output)) == 0 {
		return c.lines
	}
	const rounding = 1e-4
	c.asked("input tokens asked", "mean", float64(s.ISL), stats.Mean(t.of(input)), 0.05) // a chat template adds some
	c.asked("output tokens asked", "mean", float64(s.OSL), stats.Mean(t.of(output)), 0.01)
	c.exact("input tokens", "mean", r.says(metrics.InputSequenceLength, "avg"), stats.Mean(t.of(input)), rounding)
	c.exact("output tokens", "mean", r.says(metrics.OutputSequenceLength, "avg"), stats.Mean(t.of(output)), rounding)
	c.times("TTFT", r[metrics.TimeToFirstToken], t.of(ttft))
	c.times("ITL", r[metrics.InterTokenLatency], t.of(itl))
	c.times("latency", r[metrics.RequestLatency], t.of(latency))
	c.exact("throughput", "req/s", r.says(metrics.RequestThroughput, "avg"), float64(len(t.of(output)))/t.seconds(), latePart)
	c.lines[len(c.lines)-1].Time = true
	return c.lines
}

// card collects lines.
type card struct{ lines []Line }

// exact is a figure that is to be equal, but for a share of it.
func (c *card) exact(quantity, unit string, says *float64, is, within float64) {
	l := Line{Quantity: quantity, Unit: unit, Says: says, Is: &is}
	if says != nil && !(math.Abs(*says-is) <= within*math.Abs(is)) {
		l.Off = "differs"
	}
	c.lines = append(c.lines, l)
}

// asked is what a client was asked to do, and what it did.
func (c *card) asked(quantity, unit string, asked, did, within float64) {
	c.exact(quantity, unit, &asked, did, within)
	l := &c.lines[len(c.lines)-1]
	l.Asked = true
	if l.Off != "" {
		l.Off = "not what was asked for"
	}
}

// times compares the mean and three percentiles of a time.
func (c *card) times(quantity string, says map[string]float64, is []float64) {
	for _, stat := range []struct {
		name string
		is   float64
		late float64
	}{
		{"avg", stats.Mean(is), lateBy},
		{"p50", stats.Quantile(is, 0.5), lateBy},
		{"p90", stats.Quantile(is, 0.9), lateTail},
		{"p99", stats.Quantile(is, 0.99), lateTail},
	} {
		l := Line{Quantity: fmt.Sprintf("%s %s", quantity, stat.name), Unit: "ms", Is: &stat.is, Time: true}
		if v, ok := says[stat.name]; ok {
			l.Says = &v
			switch by := v - stat.is; {
			case by < -max(early, 0.002*stat.is):
				l.Off = "shorter than the server took"
			case by > max(stat.late, latePart*stat.is):
				l.Off = "longer than the server took"
			}
		}
		c.lines = append(c.lines, l)
	}
}
