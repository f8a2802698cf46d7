package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
)

const requestBody = `{"model":"mock-model-8b-instruct","messages":[{"role":"user","content":"hello"}],"max_tokens":1}`

// ours sends through package transport alone.
func ours(j *job, tr *traffic) error {
	clock := record.NewClock()
	cl, err := transport.Open(transport.Config{Targets: []string{"http://" + j.Addr}, Clock: clock})
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := cl.Predial(context.Background(), j.Conns); err != nil {
		return err
	}
	zero := clock.Began().UnixNano()
	var wait sync.WaitGroup
	var mu sync.Mutex
	body := []byte(requestBody)
	for range j.Conns {
		x := &transport.Exchange{
			Path: "/" + j.Path, Body: body, Stream: j.Stream,
			Deadline: record.None, CancelAfter: record.None,
		}
		if j.Stream {
			x.OnEvent = func([]byte) { tr.events.Add(1) }
		}
		rounds := 0
		x.Done = func(x *transport.Exchange) {
			tr.requests.Add(1)
			if j.Rounds > 0 {
				mu.Lock()
				tr.stampErrors(x, zero)
				mu.Unlock()
			}
			cl.Release(x)
			if rounds++; rounds == j.Rounds || tr.stop.Load() {
				wait.Done()
				return
			}
			cl.Start(x)
		}
		wait.Add(1)
		cl.Start(x)
	}
	wait.Wait()
	return nil
}

// stampErrors notes how far the exact stamps of x's events are off.
func (tr *traffic) stampErrors(x *transport.Exchange, zero int64) {
	for i, e := range x.Events {
		if sent := sentAt(x.Data(i)); sent > 0 && e.Low == e.At {
			tr.errors = append(tr.errors, float64(e.At+zero-sent)/1e3)
		}
	}
}

var tsField = []byte(`"ts":`)

// sentAt is the time that an event says it was sent, 0 without one.
func sentAt(event []byte) int64 {
	i := bytes.Index(event, tsField)
	if i < 0 || len(event) < i+len(tsField)+19 {
		return 0
	}
	n := int64(0)
	for _, d := range event[i+len(tsField) : i+len(tsField)+19] {
		n = n*10 + int64(d-'0')
	}
	return n
}

// engine sends through package loadgen: schedules, slots, records, journal.
func engine(j *job, tr *traffic) error {
	work, err := newEngineJob(j)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "aiperf-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	journal, err := sinks.NewJournal(filepath.Join(dir, "journal.arrow"), sinks.RunMeta{Experiment: "bench"})
	if err != nil {
		return err
	}
	zero := work.Clock.Began().UnixNano()
	tr.samples = make([]sample, 0, j.total()) // growing it would hold up the collector
	var failed error
	work.Emit = func(r *record.Record) {
		tr.requests.Add(1)
		tr.events.Add(int64(len(r.Chunks)))
		if err := journal.Write(r); err != nil {
			failed = err
		}
		if j.counted() && r.Status == record.OK {
			tr.samples = append(tr.samples, sample{
				r.XRequestID, r.Intended + zero, r.Sent + zero, r.FirstToken + zero,
				r.LastToken + zero,
			})
		}
	}
	defer work.Client.Close()
	j.pauseServer()
	result, err := loadgen.Run(context.Background(), context.Background(), work)
	if err != nil {
		return err
	}
	tr.began = zero + result.Phases[0].Start
	if err := journal.Close(); failed == nil {
		failed = err
	}
	return failed
}

func newEngineJob(j *job) (work loadgen.Job, err error) {
	work = loadgen.Job{
		Phases: []schema.Phase{j.phase()}, Clock: record.NewClock(), Seed: seed,
		Endpoint: schema.Endpoint{
			URLs: []string{"http://" + j.Addr + "/" + j.Path}, Type: "chat", Streaming: j.Stream,
			Timeout: 60,
		},
		Models: schema.Models{Items: []schema.Model{{Name: "m"}}},
	}
	work.Spec, _ = endpoint.Lookup("chat")
	if work.Tokenizer, err = tokenizer.Open(tokenizer.Default); err != nil {
		return work, err
	}
	isl := 16.0
	work.Set, err = dataset.Open(schema.Dataset{
		Name: "main", Entries: 64,
		Prompts: schema.Prompts{ISL: &schema.Shape{Mean: &isl}},
	}, work.Tokenizer, 1, "profiling")
	if err != nil {
		return work, err
	}
	work.Client, err = transport.Open(transport.Config{Targets: work.Endpoint.URLs, Clock: work.Clock})
	return work, err
}

// held is the memory in use, in KB, heap and stacks, after a collection.
func held() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc+m.StackInuse) / 1024
}

// until is a wait for a moment on the wall clock.
func until(ns int64) { time.Sleep(time.Duration(ns - wall())) }
