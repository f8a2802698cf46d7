package expose

import (
	"math"
	"slices"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
)

// Page is what is known so far. It may be read while it grows.
type Page struct {
	mu       sync.Mutex
	info     [][2]string
	run      [][2]string // of the run in progress
	planned  int
	finished int
	now      loadgen.Snapshot
	alive    bool // now is of a run in progress
	requests map[[2]string]float64
	errors   map[string]float64
	tokens   [2]float64 // input, output
	times    []*histogram
}

// histogram counts the values of one metric, in seconds.
type histogram struct {
	metric     *metrics.Metric
	name, help string
	edges      []float64
	counts     []uint64 // by edge, each for itself; the last is beyond
	n          uint64
	sum        float64
}

// The edges are those of vLLM's histograms of the same name, so that both can be laid
// over each other, with finer ones below where a client sees more.
var (
	latencyEdges = []float64{
		.05, .1, .2, .3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920,
	}
	firstEdges = []float64{
		.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640,
	}
	gapEdges = []float64{.001, .0025, .005, .01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 10, 20}
)

// NewPage is the page of a plan of so many runs, 0 where nobody knows how many. info says
// what is measured, in pairs of a label and its value.
func NewPage(runs int, info [][2]string) *Page {
	p := &Page{info: info, planned: runs, requests: map[[2]string]float64{}, errors: map[string]float64{}}
	for _, h := range []struct {
		tag, name, help string
		edges           []float64
	}{
		{
			metrics.TimeToFirstToken, "time_to_first_token_seconds", "Time to first token of answered requests.",
			firstEdges,
		},
		{
			metrics.InterTokenLatency, "inter_token_latency_seconds", "Mean time between the tokens of an answer.",
			gapEdges,
		},
		{
			metrics.RequestLatency, "request_latency_seconds",
			"Time from sending a request to the end of its answer.", latencyEdges,
		},
	} {
		m, _ := metrics.Lookup(h.tag)
		p.times = append(
			p.times,
			&histogram{metric: m, name: h.name, help: h.help, edges: h.edges, counts: make([]uint64, len(h.edges)+1)},
		)
	}
	return p
}

// Begin says which run is in progress.
func (p *Page) Begin(run [][2]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run, p.alive = run, false
}

// End says that it is over.
func (p *Page) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run, p.alive = nil, false
	p.finished++
}

// Snapshot takes what the engine says twice a second.
func (p *Page) Snapshot(s loadgen.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now, p.alive = s, true
}

// Record counts a request that is over.
func (p *Page) Record(r *record.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	phase := "profiling"
	if r.Warmup {
		phase = "warmup"
	}
	p.requests[[2]string{phase, string(r.Status)}]++
	if r.Failed() {
		p.errors[r.ErrorKind]++
	}
	if !r.Succeeded() || r.Warmup {
		return
	}
	p.tokens[0] += max(0, float64(r.ISL))
	p.tokens[1] += max(0, float64(r.OSL))
	for _, h := range p.times {
		if v := h.metric.Record(r); !math.IsNaN(v) && !math.IsInf(v, 0) {
			h.add(v / 1e3)
		}
	}
}

func (h *histogram) add(v float64) {
	i, _ := slices.BinarySearch(h.edges, v)
	h.counts[i]++
	h.n++
	h.sum += v
}

// Families are all figures, in the order of the page.
func (p *Page) Families() (out []*dto.MetricFamily) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gauge := func(name, help string, v float64, labels ...[2]string) {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out = append(
				out,
				family(
					name, help, dto.MetricType_GAUGE,
					&dto.Metric{Label: pairs(labels), Gauge: &dto.Gauge{Value: &v}},
				),
			)
		}
	}
	gauge("build_info", "What is measured, and with what.", 1, p.info...)
	if p.planned > 0 {
		gauge("runs", "Runs of the plan.", float64(p.planned))
	}
	gauge("runs_finished", "Runs that are over.", float64(p.finished))
	if p.run != nil {
		gauge("run_info", "The run in progress.", 1, p.run...)
	}
	out = append(out, p.counted()...)
	if p.alive {
		gauge("requests_in_flight", "Requests under way.", float64(p.now.InFlight))
		if p.now.Target > 0 {
			gauge("requests_in_flight_target", "Requests that are to be under way.", float64(p.now.Target))
		}
		gauge("request_rate", "Answers a second, over the last half second.", p.now.RequestsPerSecond)
		gauge("output_token_rate", "Output tokens a second, over the last half second.", p.now.OutputTokensPerSecond)
		gauge(
			"send_lag_p99_seconds", "99th percentile of how late requests were sent, over the last seconds.",
			p.now.LagP99/1e3,
		)
		gauge("phase_elapsed_seconds", "Time since the phase began.", time.Duration(p.now.At-p.now.Start).Seconds())
	}
	for _, h := range p.times {
		out = append(out, h.family())
	}
	return out
}

// counted are the counters.
func (p *Page) counted() (out []*dto.MetricFamily) {
	counter := func(v float64, labels ...[2]string) *dto.Metric {
		return &dto.Metric{Label: pairs(labels), Counter: &dto.Counter{Value: &v}}
	}
	requests := family("requests_total", "Requests that are over, by phase and how they ended.", dto.MetricType_COUNTER)
	for _, k := range sorted(p.requests, func(k [2]string) string { return k[0] + " " + k[1] }) {
		requests.Metric = append(
			requests.Metric, counter(p.requests[k], [2]string{"phase", k[0]}, [2]string{"status", k[1]}),
		)
	}
	errs := family("errors_total", "Failed requests, by kind of error.", dto.MetricType_COUNTER)
	for _, k := range sorted(p.errors, func(k string) string { return k }) {
		errs.Metric = append(errs.Metric, counter(p.errors[k], [2]string{"kind", k}))
	}
	for _, f := range []*dto.MetricFamily{requests, errs} {
		if len(f.Metric) > 0 {
			out = append(out, f)
		}
	}
	return append(out,
		family(
			"input_tokens_total", "Input tokens of answered requests, without warmup.", dto.MetricType_COUNTER,
			counter(p.tokens[0]),
		),
		family(
			"output_tokens_total", "Output tokens of answered requests, without warmup.", dto.MetricType_COUNTER,
			counter(p.tokens[1]),
		))
}

func (h *histogram) family() *dto.MetricFamily {
	n, sum := h.n, h.sum // copies: the page is written after the lock is given back
	of := &dto.Histogram{SampleCount: &n, SampleSum: &sum}
	below := uint64(0)
	for i, edge := range h.edges {
		below += h.counts[i]
		c := below
		of.Bucket = append(of.Bucket, &dto.Bucket{UpperBound: &edge, CumulativeCount: &c})
	}
	return family(h.name, h.help, dto.MetricType_HISTOGRAM, &dto.Metric{Histogram: of})
}

func family(name, help string, kind dto.MetricType, of ...*dto.Metric) *dto.MetricFamily {
	name = "aiperf_" + name
	return &dto.MetricFamily{Name: &name, Help: &help, Type: &kind, Metric: of}
}

func pairs(labels [][2]string) (out []*dto.LabelPair) {
	for _, l := range labels {
		out = append(out, &dto.LabelPair{Name: &l[0], Value: &l[1]})
	}
	return out
}

// sorted are the keys of m in the order of their names.
func sorted[K comparable](m map[K]float64, name func(K) string) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b K) int {
		if name(a) < name(b) {
			return -1
		}
		return 1
	})
	return keys
}
