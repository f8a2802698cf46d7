package sinks_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
)

// t0 is the experiment's zero in every test.
var t0 = time.Date(2026, 11, 21, 9, 30, 0, 123456789, time.UTC)

// generator makes plausible requests, the same for the same seed.
type generator struct {
	rng    *rand.Rand
	urls   []string
	sha    []string
	chunks int
}

func newGenerator(seed uint64, chunks int) *generator {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 1)), urls: []string{
		"http://127.0.0.1:8000/v1/chat/completions",
		"http://127.0.0.1:8001/v1/chat/completions",
	}, chunks: chunks}
	for i := range 4096 {
		g.sha = append(g.sha, fmt.Sprintf("%016x", uint64(i+1)*0x9E3779B97F4A7C15))
	}
	return g
}

// fill makes r request i of a run; about one in a hundred fails.
func (g *generator) fill(r *record.Record, i int64) {
	chunks := r.Chunks[:0]
	*r = record.New()
	at := i * 200_000
	ttft, decode := int64(15e6+60e6*g.rng.Float64()), int64(40e6+900e6*g.rng.Float64())
	id := g.sha[i&4095]
	r.RequestID, r.Phase, r.SessionID, r.SessionNum, r.ConversationID = i, "profiling", id, i, id
	r.Model, r.URL, r.PromptSHA, r.XRequestID, r.XCorrelationID = "demo", g.urls[i&1], g.sha[g.rng.IntN(4096)], id, id
	r.Intended, r.Admitted, r.Sent = at, at+3000, at+3000+int64(g.rng.IntN(20000))
	r.WriteEnd, r.FirstByte, r.FirstToken = r.Sent+9000, r.Sent+ttft-90_000, r.Sent+ttft
	r.FirstOutput, r.LastToken, r.End = r.FirstToken, r.FirstToken+decode, r.FirstToken+decode+120_000
	r.Status, r.HTTPStatus, r.FinishReason, r.InWindow, r.Streamed = record.OK, 200, "stop", true, true
	r.ISL, r.OSL, r.OSLRequested = 512+int64(g.rng.IntN(64)), 64+int64(g.rng.IntN(128)), 128
	r.OutputTokens, r.UsagePrompt, r.UsageCompletion, r.UsageTotal, r.Cached = r.OSL, r.ISL, r.OSL, r.ISL+r.OSL,
		int64(g.rng.IntN(512))
	r.ReceiveLag, r.SLOSet, r.Reused, r.BytesSent, r.BytesReceived = 4+20*g.rng.Float64(),
		true, true, 2600+int64(g.rng.IntN(256)), r.OSL*210
	if ttft > 60e6 {
		r.SLOFailed = "time_to_first_token"
	}
	if g.rng.IntN(100) == 0 {
		r.Status, r.HTTPStatus, r.ErrorKind, r.ErrorMessage, r.FinishReason = record.HTTPError, 503, "overloaded",
			"upstream overloaded", ""
		r.FirstToken, r.FirstOutput, r.LastToken = record.None, record.None, record.None
		r.OSL, r.OutputTokens, r.UsagePrompt, r.UsageCompletion, r.UsageTotal, r.Cached = record.None, record.None,
			record.None, record.None, record.None, record.None
		r.ReceiveLag = math.NaN()
		return
	}
	for k := range int64(g.chunks) {
		t := r.FirstToken + decode*k/max(int64(g.chunks)-1, 1)
		chunks = append(chunks, record.Chunk{
			At: t, Low: t, Bytes: 180 + int32(k&63), Tokens: 1, Kind: record.Content,
			SameRead: k%16 == 15,
		})
	}
	r.Chunks = chunks
}

// demoPlan is cells × trials over concurrency and two axes of its own.
func demoPlan(name string, cells, trials int) *sweep.Plan {
	p := &sweep.Plan{Name: name, Hash: "sha256:" + name, Type: "grid", Trials: trials, Axes: []schema.Axis{
		{Name: "concurrency", Path: "benchmark.phases.profiling.concurrency"},
		{Name: "temperature", Path: "benchmark.endpoint.extra.temperature"},
		{Name: "endpoint", Path: "benchmark.endpoint"},
		{Name: name + "-only", Path: "benchmark.endpoint.extra.x"},
	}}
	for i := range cells {
		c := &sweep.Cell{ID: fmt.Sprintf("c%011x", i+1), Index: i, Point: []sweep.Value{
			{Axis: "concurrency", Value: int64(1) << (i % 6)},
			{Axis: "temperature", Value: []any{int64(0), 0.5, int64(1)}[i%3]}, // 0 is a value
			{Axis: "endpoint", Value: map[string]any{"label": "candidate", "urls": []any{"mock:"}}, Label: "candidate"},
			{Axis: name + "-only", Value: i%2 == 0},
		}}
		p.Cells = append(p.Cells, c)
		for t := range trials {
			p.Runs = append(p.Runs, sweep.Run{Cell: c, Trial: t, ID: fmt.Sprintf("%s-t%d", c.ID, t)})
		}
	}
	return p
}

// writeJournal writes the records of one run, in the given order.
func writeJournal(
	t testing.TB, path string, p *sweep.Plan, cell, trial int, zero time.Time,
	records func(yield func(*record.Record) bool),
) {
	t.Helper()
	j, err := sinks.NewJournal(path, sinks.RunMeta{
		Experiment: p.Name, Cell: p.Cells[cell].ID, CellIndex: cell,
		Trial: trial, T0: zero, RunID: fmt.Sprintf("%s-t%d", p.Cells[cell].ID, trial),
	})
	if err != nil {
		t.Fatal(err)
	}
	for r := range records {
		if err := j.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// outOfOrder yields n generated requests, each block of 64 backwards: what
// many requests in flight look like.
func outOfOrder(g *generator, n int64) func(yield func(*record.Record) bool) {
	const inFlight = 64
	return func(yield func(*record.Record) bool) {
		block := make([]record.Record, inFlight)
		for i := int64(0); i < n; i += inFlight {
			m := min(inFlight, n-i)
			for k := range m {
				g.fill(&block[k], i+k)
			}
			for k := m - 1; k >= 0; k-- {
				if !yield(&block[k]) {
					return
				}
			}
		}
	}
}

func all(rs []record.Record) func(yield func(*record.Record) bool) {
	return func(yield func(*record.Record) bool) {
		for i := range rs {
			if !yield(&rs[i]) {
				return
			}
		}
	}
}

// inputOf is a small experiment in dir: journals and one row of each small table.
func inputOf(t testing.TB, dir string, p *sweep.Plan, requests int64, chunks int) sinks.TablesInput {
	t.Helper()
	in := sinks.TablesInput{
		Plan: p, T0: t0, Version: "0.1.0", Verdict: validity.Valid.String(), Host: `{"cpus":2}`,
		Chunks: true,
	}
	nan := math.NaN()
	for i, r := range p.Runs {
		path := filepath.Join(dir, r.ID+".arrow")
		zero := t0.Add(time.Duration(i) * time.Hour)
		writeJournal(t, path, p, r.Cell.Index, r.Trial, zero, outOfOrder(newGenerator(uint64(i), chunks), requests))
		at := sinks.Place{Cell: r.Cell.Index, Trial: r.Trial}
		in.Journals = append(in.Journals, sinks.RunJournal{
			Place: at, Path: path,
			SteadyStart: 0, SteadyEnd: int64(time.Hour),
		})
		in.Runs = append(in.Runs, sinks.RunRow{
			Place: at, Started: zero.UnixNano(), Ended: record.None,
			Planned: requests, SteadyStart: record.None, ClientCPU: nan, Verdict: validity.Valid.String(), Path: r.ID,
		})
		in.Metrics = append(in.Metrics, sinks.MetricRow{
			Place: at, Level: "run", Window: "full",
			Metric: "time_to_first_token", Stat: "p99", Value: 70.25, Unit: "ms", Low: nan, High: nan, CV: nan,
			N: requests, NEff: nan, Certified: record.None, Method: "linear",
		})
	}
	for _, c := range p.Cells {
		at := sinks.Place{Cell: c.Index, Trial: sinks.All}
		cell := sinks.CellRow{
			Place: at, Trials: int64(p.Trials), Verdict: validity.Valid.String(), Pareto: 1,
			Knee: record.None, CurveGood: math.NaN(), CurveRate: math.NaN(), N: 100,
		}
		for range sinks.CellFigures() {
			cell.Figures = append(cell.Figures, sinks.Figure{Value: 70.25 + float64(c.Index), Low: 69, High: nan})
		}
		in.Cells = append(in.Cells, cell)
		in.Metrics = append(in.Metrics, sinks.MetricRow{
			Place: at, Level: "cell", Window: "full",
			Metric: "time_to_first_token", Stat: "p99", Value: 70.25, Unit: "ms", Low: 69, High: 71, CV: 0,
			N: int64(p.Trials), NEff: nan, Certified: 1, Method: "linear",
		})
	}
	in.Checks = []sinks.CheckRow{
		{Place: sinks.Place{Cell: sinks.All, Trial: sinks.All}, Level: "experiment", Check: "runs", Severity: "warn", Verdict: "warn", Value: 2, Limit: 3, Detail: "2 trials"},
		{Place: sinks.Place{Cell: 0, Trial: 0}, Level: "run", Check: "sink", Severity: "fail", Verdict: "pass", Value: 0, Limit: 0},
		{Place: sinks.Place{Cell: 0, Trial: sinks.All}, Level: "cell", Check: "drift", Severity: "warn", Verdict: "unknown", Value: nan, Limit: nan},
	}
	return in
}
