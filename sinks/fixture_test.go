package sinks_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
)

// t0 is the experiment's zero in every test.
var t0 = time.Date(2026, 11, 21, 9, 30, 0, 123456789, time.UTC)

// fixed is the record set every format must carry: each field set, each field
// unset, every status, text that needs quoting, interval chunks, and stamps on
// both sides of zero.
func fixed() []record.Record {
	full := record.Record{
		RequestID: 0, Phase: "profiling", SessionID: "s-0", SessionNum: 3, ConversationID: "session_000003", Turn: 2, Worker: 1,
		Model: "m/µ", URL: "http://127.0.0.1:8000/v1/chat/completions", PromptSHA: "0011223344556677",
		XRequestID: "7442526b-6bc5-4224-8573-9d9a1e3e517c", XCorrelationID: "0f11a70f-cb5e-408b-b612-695f6f529135",
		Intended: 1_000_000, Admitted: 1_100_000, Sent: 1_250_000, WriteEnd: 1_300_000, FirstByte: 20_000_000,
		FirstToken: 41_250_000, FirstOutput: 51_250_000, LastToken: 91_250_000, End: 91_900_000, CancelAsked: 95_000_000,
		Status: record.OK, HTTPStatus: 200, FinishReason: "stop", InWindow: true, Streamed: true,
		ISL: 512, OSL: 11, OSLRequested: 12, OutputTokens: 8, ReasoningTokens: 3,
		UsagePrompt: 520, UsageCompletion: 11, UsageReasoning: 3, UsageTotal: 531, Cached: 0,
		Chunks: []record.Chunk{
			{At: 41_250_000, Low: 41_250_000, Bytes: 180, Tokens: 3, Kind: record.Reasoning},
			{At: 51_250_000, Low: 50_000_000, Bytes: 181, Kind: record.Content},
			{At: 51_250_000, Low: 51_250_000, Bytes: 10, Kind: record.Tool, SameRead: true},
			{At: 91_250_000, Low: 91_250_000, Bytes: 182, Tokens: 4, Kind: record.Content},
			{At: 91_800_000, Low: 91_800_000, Bytes: 90, Kind: record.Usage},
			{At: 91_900_000, Low: 91_900_000, Bytes: 6, Kind: record.Done, SameRead: true},
		},
		ReceiveLag: 12.5, SLOFailed: "time_to_first_token", SLOSet: true, Reused: true, BytesSent: 0, BytesReceived: 2310,
		DNS: 1, Dial: 2, TLS: 3,
	}
	empty := record.New()
	empty.RequestID, empty.Phase, empty.Warmup, empty.Status = 1, "warmup", true, record.Client
	failed := record.New()
	failed.RequestID, failed.Phase, failed.Status, failed.InWindow = 2, "profiling", record.HTTPError, true
	failed.Intended, failed.Admitted, failed.Sent, failed.FirstByte, failed.End = 5e6, 5e6, 5e6, 6e6, 7e6
	failed.HTTPStatus, failed.ErrorKind, failed.ErrorMessage = 503, "overloaded", "say \"no\", twice\nand <again> λ"
	failed.SLOSet, failed.ISL = true, 40
	out := []record.Record{full, empty, failed}
	for i, s := range []record.Status{record.Timeout, record.Cancelled, record.Truncated, record.ParseError, record.Connection} {
		r := failed
		r.RequestID, r.Status, r.HTTPStatus, r.ErrorMessage = int64(3+i), s, record.None, ""
		r.ErrorKind = string(s) + "_kind"
		out = append(out, r)
	}
	return out
}

// generator makes plausible requests, the same for the same seed.
type generator struct {
	rng    *rand.Rand
	urls   []string
	sha    []string
	chunks int
}

func newGenerator(seed uint64, chunks int) *generator {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 1)), urls: []string{"http://127.0.0.1:8000/v1/chat/completions", "http://127.0.0.1:8001/v1/chat/completions"}, chunks: chunks}
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
	r.OutputTokens, r.UsagePrompt, r.UsageCompletion, r.UsageTotal, r.Cached = r.OSL, r.ISL, r.OSL, r.ISL+r.OSL, int64(g.rng.IntN(512))
	r.ReceiveLag, r.SLOSet, r.Reused, r.BytesSent, r.BytesReceived = 4+20*g.rng.Float64(), true, true, 2600+int64(g.rng.IntN(256)), r.OSL*210
	if ttft > 60e6 {
		r.SLOFailed = "time_to_first_token"
	}
	if g.rng.IntN(100) == 0 {
		r.Status, r.HTTPStatus, r.ErrorKind, r.ErrorMessage, r.FinishReason = record.HTTPError, 503, "overloaded", "upstream overloaded", ""
		r.FirstToken, r.FirstOutput, r.LastToken = record.None, record.None, record.None
		r.OSL, r.OutputTokens, r.UsagePrompt, r.UsageCompletion, r.UsageTotal, r.Cached = record.None, record.None, record.None, record.None, record.None, record.None
		r.ReceiveLag = math.NaN()
		return
	}
	for k := range int64(g.chunks) {
		t := r.FirstToken + decode*k/max(int64(g.chunks)-1, 1)
		chunks = append(chunks, record.Chunk{At: t, Low: t, Bytes: 180 + int32(k&63), Tokens: 1, Kind: record.Content, SameRead: k%16 == 15})
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
func writeJournal(t testing.TB, path string, p *sweep.Plan, cell, trial int, zero time.Time, records func(yield func(*record.Record) bool)) {
	t.Helper()
	j, err := sinks.NewJournal(path, sinks.RunMeta{Experiment: p.Name, Cell: p.Cells[cell].ID, CellIndex: cell, Trial: trial, T0: zero, RunID: fmt.Sprintf("%s-t%d", p.Cells[cell].ID, trial)})
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
	in := sinks.TablesInput{Plan: p, T0: t0, Version: "0.1.0", Verdict: "VALID", Host: `{"cpus":2}`, Chunks: true}
	nan := math.NaN()
	for i, r := range p.Runs {
		path := filepath.Join(dir, r.ID+".arrow")
		zero := t0.Add(time.Duration(i) * time.Hour)
		writeJournal(t, path, p, r.Cell.Index, r.Trial, zero, outOfOrder(newGenerator(uint64(i), chunks), requests))
		at := sinks.Place{Cell: r.Cell.Index, Trial: r.Trial}
		in.Journals = append(in.Journals, sinks.RunJournal{Place: at, Path: path, SteadyStart: 0, SteadyEnd: int64(time.Hour)})
		in.Runs = append(in.Runs, sinks.RunRow{Place: at, Started: zero.UnixNano(), Ended: record.None, Planned: requests, SteadyStart: record.None, ClientCPU: nan, Verdict: "VALID", Path: r.ID})
		in.Metrics = append(in.Metrics, sinks.MetricRow{Place: at, Level: "run", Window: "full", Metric: "time_to_first_token", Stat: "p99", Value: 70.25, Unit: "ms", Low: nan, High: nan, CV: nan, N: requests, NEff: nan, Certified: record.None, Method: "linear"})
	}
	for _, c := range p.Cells {
		at := sinks.Place{Cell: c.Index, Trial: sinks.All}
		in.Cells = append(in.Cells, sinks.CellRow{Place: at, Trials: int64(p.Trials), Verdict: "VALID", Pareto: 1, Knee: record.None})
		in.Metrics = append(in.Metrics, sinks.MetricRow{Place: at, Level: "cell", Window: "full", Metric: "time_to_first_token", Stat: "p99", Value: 70.25, Unit: "ms", Low: 69, High: 71, CV: 0, N: int64(p.Trials), NEff: nan, Certified: 1, Method: "linear"})
	}
	in.Checks = []sinks.CheckRow{
		{Place: sinks.Place{Cell: sinks.All, Trial: sinks.All}, Level: "experiment", Check: "runs", Severity: "warn", Verdict: "warn", Value: 2, Limit: 3, Detail: "2 trials"},
		{Place: sinks.Place{Cell: 0, Trial: 0}, Level: "run", Check: "sink", Severity: "fail", Verdict: "pass", Value: 0, Limit: 0},
		{Place: sinks.Place{Cell: 0, Trial: sinks.All}, Level: "cell", Check: "drift", Severity: "warn", Verdict: "unknown", Value: nan, Limit: nan},
	}
	return in
}
