package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/schema"
)

// job is what a client has to do. It travels as JSON to a process of its own.
type job struct {
	Client string // aiperf, engine, net/http or raw
	Addr   string // host:port of the server
	Path   string // words of the server, without first slash
	Stream bool
	Events int // per answer

	// Either Conns requests are kept in flight: Rounds times, or for as long as
	// it is measured if that is 0. Or N requests are sent at Rate (0: all at
	// once), at most Conns in flight unless that is 0.
	Conns         int
	Rounds        int
	Warm, Measure time.Duration
	N             int
	Rate          float64
	Poisson       bool

	PauseAt, PauseFor time.Duration // what the server is told to do
}

// open reports whether requests have times of their own.
func (j *job) open() bool { return j.N > 0 }

// counted reports whether the number of requests is given, not the time.
func (j *job) counted() bool { return j.open() || j.Rounds > 0 }

// total is how many requests there will be, 0 when time ends them.
func (j *job) total() int { return max(j.N, j.Rounds*j.Conns) }

// due is when each request is to be sent, in ns from the start.
func (j *job) due() []int64 {
	due := make([]int64, j.N)
	if j.Rate > 0 {
		p := j.phase()
		at, err := mode.Schedule(&p, seed, j.N, nil)
		if err != nil {
			panic(err) // the bench's own phases
		}
		for i := range at {
			due[i] = int64(at[i])
		}
	}
	return due
}

// seed of all schedules.
const seed = 11

// phase is the job in the engine's terms.
func (j *job) phase() schema.Phase {
	p := schema.Phase{
		Name: "bench", Kind: "profiling", Type: "concurrency", Concurrency: j.Conns, Requests: int64(j.N),
		Rate: j.Rate,
	}
	switch {
	case !j.open() && j.Rounds > 0:
		p.Requests = int64(j.Rounds * j.Conns)
	case !j.open():
		p.Duration = schema.Seconds((j.Warm + j.Measure).Seconds())
	case j.Rate == 0:
		p.Concurrency = j.N
	case j.Poisson:
		p.Type = "poisson"
	default:
		p.Type = "constant"
	}
	return p
}

// sample is one request as its client saw it, in Unix ns.
type sample struct {
	id                          string
	intended, sent, first, last int64
}

// traffic is what a client has done so far, read while it runs.
type traffic struct {
	requests, events atomic.Int64
	stop             atomic.Bool

	samples []sample  // of counted requests; read after the end
	errors  []float64 // µs, stamp of an event − when it was sent; likewise
	began   int64     // Unix ns of due time 0
}

// outcome is what a client's process reports.
type outcome struct {
	Requests, Events int64
	CPU              float64 // µs in the measured stretch, or in all
	KB               float64 // held per stream

	Stamp50, Stamp99 float64 // µs, error of event stamps
	Late50, Late99   float64 // ms, arrival at the server − due time
	D, Critical      float64 // Kolmogorov–Smirnov distance of the gaps, and its limit at 0.05
	Spread           float64 // ms, first to last arrival
	Told99, Log99    float64 // ms from the due time, by the client and by the server's log
	Service99        float64 // ms from the sending
	TTFT50, TTFT99   float64 // ms, client's TTFT − server's
	ITL50            float64 // ms, client's gap − server's
	Turn50, Turn99   float64 // ms, sending − the time the request was due: the client's own delay
}

// client is the body of a client's process.
func client(args []string, out io.Writer) error {
	var j job
	if len(args) != 1 {
		return fmt.Errorf("client: want one job")
	}
	if err := json.Unmarshal([]byte(args[0]), &j); err != nil {
		return err
	}
	if err := moreDescriptors(); err != nil {
		return err
	}
	run := map[string]func(*job, *traffic) error{
		"aiperf": ours, "engine": engine, "net/http": theirs,
		"raw": raw,
	}[j.Client]
	if run == nil {
		return fmt.Errorf("client: no %q", j.Client)
	}
	o, err := j.measure(run)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(o)
}

// measure runs a client and accounts for it.
func (j *job) measure(run func(*job, *traffic) error) (*outcome, error) {
	tr, ended := &traffic{}, make(chan error, 1)
	o := &outcome{}
	before := cpu()
	go func() { ended <- run(j, tr) }()
	timed := j.Measure > 0
	if timed {
		time.Sleep(j.Warm)
		o.Requests, o.Events, before = tr.requests.Load(), tr.events.Load(), cpu()
		time.Sleep(j.Measure)
		o.CPU = float64(cpu()-before) / 1e3
		o.Requests, o.Events = tr.requests.Load()-o.Requests, tr.events.Load()-o.Events
		o.KB = held() / float64(j.Conns)
		tr.stop.Store(true)
	}
	if err := <-ended; err != nil {
		return nil, err
	}
	if !timed {
		o.Requests, o.Events, o.CPU = tr.requests.Load(), tr.events.Load(), float64(cpu()-before)/1e3
	}
	slices.Sort(tr.errors)
	o.Stamp50, o.Stamp99 = pair(tr.errors)
	return o, j.compare(tr, o)
}

// compare holds the samples against the server's log.
func (j *job) compare(tr *traffic, o *outcome) error {
	samples := tr.samples
	if len(samples) == 0 {
		return nil
	}
	log, err := serverLog(j.Addr)
	if err != nil {
		return err
	}
	var late, told, logged, service, ttft, itl, krx, turn []float64
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	for _, s := range samples {
		l, ok := log[s.id]
		if !ok {
			return fmt.Errorf("the server never had request %q", s.id)
		}
		late = append(late, ms(l.krx-s.intended))
		krx = append(krx, float64(l.krx)/1e9)
		if s.intended > tr.began { // those that are due at once are a burst
			turn = append(turn, ms(s.sent-s.intended))
		}
		told, logged = append(told, ms(s.last-s.intended)), append(logged, ms(l.last-s.intended))
		service = append(service, ms(s.last-s.sent))
		ttft = append(ttft, ms((s.first-s.sent)-(l.first-l.krx)))
		if j.Events > 1 {
			itl = append(itl, ms((s.last-s.first)-(l.last-l.first))/float64(j.Events-1))
		}
	}
	for _, v := range [][]float64{late, told, logged, service, ttft, itl, krx, turn} {
		slices.Sort(v)
	}
	o.Late50, o.Late99 = pair(late)
	o.TTFT50, o.TTFT99 = pair(ttft)
	o.ITL50, _ = pair(itl)
	o.Turn50, o.Turn99 = pair(turn)
	_, o.Told99 = pair(told)
	_, o.Log99 = pair(logged)
	_, o.Service99 = pair(service)
	o.Spread = (krx[len(krx)-1] - krx[0]) * 1e3
	if j.Poisson {
		o.D = stats.KS1(gaps(krx), func(x float64) float64 { return 1 - math.Exp(-j.Rate*x) }).D
		o.Critical = 1.36 / math.Sqrt(float64(len(krx)-1))
	}
	return nil
}

func gaps(at []float64) []float64 {
	g := make([]float64, len(at)-1)
	for i := range g {
		g[i] = at[i+1] - at[i]
	}
	slices.Sort(g)
	return g
}

// pair is the median and the 99th percentile, 0 of nothing: JSON has no NaN.
func pair(sorted []float64) (p50, p99 float64) {
	if len(sorted) == 0 {
		return 0, 0
	}
	return stats.Quantile(sorted, 0.5), stats.Quantile(sorted, 0.99)
}

// logged is a request in the server's log.
type logged struct{ krx, first, last int64 }

func serverLog(addr string) (map[string]logged, error) {
	resp, err := http.Get("http://" + addr + "/log")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	log := map[string]logged{}
	for line := range strings.Lines(string(b)) {
		var id string
		var l logged
		if _, err := fmt.Sscan(line, &id, &l.krx, &l.first, &l.last); err != nil {
			continue // a request without an id
		}
		log[id] = l
	}
	return log, nil
}

// pauseServer has the server pause as the job says.
func (j *job) pauseServer() {
	if j.PauseFor > 0 {
		time.AfterFunc(j.PauseAt, func() {
			if resp, err := http.Post(fmt.Sprintf("http://%s/pause/%d", j.Addr, j.PauseFor.Milliseconds()), "",
				nil); err == nil {
				resp.Body.Close()
			}
		})
	}
}

// cpu is what this process has used, user and system, in ns.
func cpu() int64 {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return r.Utime.Nano() + r.Stime.Nano()
}
