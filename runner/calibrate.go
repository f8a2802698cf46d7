package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
)

// TrialShape is what a trial of this machine sends to the built-in server: a
// closed loop of chat requests.
type TrialShape struct {
	Stream      bool          `json:"stream"`
	ISL         int           `json:"isl"`
	OSL         int           `json:"osl"`
	Concurrency int           `json:"concurrency"`
	ITL         time.Duration `json:"itl_ns"` // between the tokens of a stream
	Span        time.Duration `json:"span_ns"`
}

// ShortAnswers is the default trial of requests: small answers in one piece, as
// fast as they go.
func ShortAnswers() TrialShape {
	return TrialShape{ISL: 32, OSL: 1, Concurrency: 64, Span: time.Second}
}

// Streams is the default trial of chunks: a hundred streams of a token each
// 10 ms. Each chunk comes by itself, as it would from a real server, which
// costs more than chunks in bursts.
func Streams() TrialShape {
	return TrialShape{Stream: true, ISL: 32, OSL: 90, Concurrency: 100, ITL: 10 * time.Millisecond, Span: time.Second}
}

// Trial is what came of a shape.
type Trial struct {
	Shape    TrialShape `json:"shape"`
	Requests int64      `json:"requests"` // that ended well
	Chunks   int64      `json:"chunks"`
	Seconds  float64    `json:"seconds"`
	CPU      float64    `json:"cpu_seconds"` // of this process; the server has its own
}

// PerCPU is requests and chunks per CPU-second of the client.
func (t Trial) PerCPU() (requests, chunks float64) {
	return float64(t.Requests) / t.CPU, float64(t.Chunks) / t.CPU
}

// PerSecond is requests and chunks per second as measured, with the server on
// the same cores.
func (t Trial) PerSecond() (requests, chunks float64) {
	return float64(t.Requests) / t.Seconds, float64(t.Chunks) / t.Seconds
}

// Try drives the built-in server, a process of its own started from exe, with
// everything a run has: stamps, records, journal.
func Try(ctx context.Context, exe string, s TrialShape) (_ Trial, err error) {
	dir, err := os.MkdirTemp("", "aiperf-calibrate-")
	if err != nil {
		return Trial{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	spec := s.spec()
	server, err := mockserver.Spawn(ctx, exe, spec.Benchmark.Endpoint.URLs[0], "")
	if err != nil {
		return Trial{}, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	spec.Targets = []string{server.URL}
	run, err := onerun.NewLoader().Open(ctx, ctx, spec)
	if err != nil {
		return Trial{}, err
	}
	out, err := onerun.Local{}.Drive(ctx, ctx, run, &onerun.Session{Dir: dir})
	if err != nil {
		return Trial{}, err
	}
	t := Trial{Shape: s, Seconds: out.Host.Wall.Seconds(), CPU: out.Host.CPUSeconds}
	_, err = sinks.ReadMeasured(filepath.Join(dir, resultdir.StreamName), func(r *record.Record) error {
		t.note(r)
		return nil
	})
	if err == nil && t.Requests == 0 && t.Chunks == 0 && ctx.Err() == nil {
		err = errors.New("calibrate: the built-in server answered nothing")
	}
	if out.Lost != "" {
		err = errors.Join(err, errors.New(out.Lost))
	}
	return t, errors.Join(err, context.Cause(ctx))
}

func (t *Trial) note(r *record.Record) {
	if r.Succeeded() {
		t.Requests++
	}
	for _, c := range r.Chunks {
		if c.IsContent() && r.Streamed {
			t.Chunks++
		}
	}
}

// spec is the run that s is measured by.
func (s TrialShape) spec() onerun.Spec {
	const name = "calibrate"
	isl, osl := float64(s.ISL), float64(s.OSL)
	return onerun.Spec{Meta: sinks.RunMeta{Experiment: name}, Seed: 1, Text: 1, Benchmark: schema.Benchmark{
		Models:    schema.Models{Items: []schema.Model{{Name: name}}},
		Tokenizer: schema.Tokenizer{Name: tokenizer.Default},
		Endpoint: schema.Endpoint{
			URLs: []string{fmt.Sprintf("mock:?ttft=0ms&itl=%v&usage=off", s.ITL)},
			Type: endpoint.Usual(nil).Type, Streaming: s.Stream, Timeout: 30,
		},
		Datasets: []schema.Dataset{{
			Name: name, Entries: 32, Prompts: schema.Prompts{
				ISL: &schema.Shape{Value: &isl},
				OSL: &schema.Shape{Value: &osl},
			},
		}},
		Phases: []schema.Phase{{
			Name: name, Kind: "profiling", Type: mode.Catalogue()[0].Name, Concurrency: s.Concurrency,
			Duration: schema.Seconds(s.Span.Seconds()), GracePeriod: schema.Seconds(0.1),
		}},
	}}
}

// Calibration is how much this machine can drive.
type Calibration struct {
	Version string    `json:"version"`
	Cores   int       `json:"cores"`
	When    time.Time `json:"when"`
	Short   Trial     `json:"short"`
	Streams Trial     `json:"streams"`
}

// Calibrate does both trials.
func Calibrate(ctx context.Context, exe, version string, short, streams TrialShape) (*Calibration, error) {
	c := &Calibration{Version: version, Cores: runtime.GOMAXPROCS(0), When: time.Now().UTC()}
	var err error
	if c.Short, err = Try(ctx, exe, short); err != nil {
		return nil, err
	}
	c.Streams, err = Try(ctx, exe, streams)
	return c, err
}

// Ratio is capacity ÷ planned, were every core the client's: the reciprocal of
// the share of them that the load needs,
//
//	cores / (requests · CPU a request + chunks · CPU a chunk)
//
// +Inf for no load.
func (c *Calibration) Ratio(l Load) float64 {
	requests, _ := c.Short.PerCPU()
	_, chunks := c.Streams.PerCPU()
	return float64(c.Cores) / (l.Requests/requests + l.Chunks/chunks)
}

// Load is what a benchmark plans to send, at its busiest; only where its
// schedule says so, which is the modes by rate.
type Load struct {
	Requests float64 `json:"requests_per_second"`
	Chunks   float64 `json:"chunks_per_second"`
	stream   bool
	isl, osl int
}

// Planned is the load of b; zero where only answers decide how much is sent.
func Planned(b *schema.Benchmark) Load {
	l := Load{stream: b.Endpoint.Streaming, isl: 32, osl: 1}
	for i := range b.Phases {
		l.Requests = max(l.Requests, mode.PeakRate(&b.Phases[i]))
	}
	if len(b.Datasets) > 0 {
		l.isl = meanLength(b.Datasets[0].Prompts.ISL, l.isl)
		l.osl = meanLength(b.Datasets[0].Prompts.OSL, l.osl)
	}
	if l.stream {
		l.Chunks = l.Requests * float64(l.osl)
	}
	return l
}

// meanLength is the mean of a shape where it is plainly said.
func meanLength(s *schema.Shape, other int) int {
	if s == nil {
		return other
	}
	for _, v := range []*float64{s.Value, s.Mean} {
		if v != nil && *v >= 1 && *v < math.MaxInt32 {
			return int(*v)
		}
	}
	return other
}
