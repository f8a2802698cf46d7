package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	hide "aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// secret is the API key of every job. No record may hold it.
const secret = "sk-hush-hush-0123456789"

// job is a run against url that collects its records: chat, streaming, one
// closed loop of two slots and four requests.
type job struct {
	loadgen.Job
	client  transport.Config
	records []*record.Record
	result  loadgen.Result
	stats   transport.Stats
}

// prompts opens the conversations that all jobs of the package play.
var prompts = sync.OnceValues(func() (*dataset.Set, error) {
	tok, err := tokenizer.Open(tokenizer.Default)
	if err != nil {
		return nil, err
	}
	mean := 12.0
	return dataset.Open(schema.Dataset{
		Name: "main", Type: "synthetic", Entries: 8,
		Prompts: schema.Prompts{ISL: &schema.Shape{Mean: &mean}},
	}, tok, 1, "profiling")
})

func newJob(t *testing.T, url string) *job {
	t.Helper()
	tok, err := tokenizer.Open(tokenizer.Default)
	if err != nil {
		t.Fatal(err)
	}
	set, err := prompts()
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := endpoint.Lookup("chat")
	j := &job{}
	j.Job = loadgen.Job{
		Phases: []schema.Phase{{
			Name: "profiling", Kind: "profiling", Type: "concurrency", Concurrency: 2,
			Requests: 4,
		}},
		Spec: spec, Set: set, Tokenizer: tok, Clock: record.NewClock(), Seed: 7,
		Endpoint: schema.Endpoint{URLs: []string{url}, Type: "chat", Streaming: true, Timeout: 60, APIKey: secret},
		Models:   schema.Models{Items: []schema.Model{{Name: "m"}}},
		Emit:     func(r *record.Record) { j.records = append(j.records, r) },
		Hide:     hide.NewMasker(secret),
	}
	j.client = transport.Config{Targets: []string{url}, Clock: j.Clock}
	return j
}

// run drives the job to its end and checks what holds for every run.
func (j *job) run(t *testing.T) {
	t.Helper()
	j.drive(t)
	j.balanced(t)
	j.clean(t)
	j.apart(t)
}

// drive is run without the checks.
func (j *job) drive(t *testing.T) {
	t.Helper()
	client, err := transport.Open(j.client)
	if err != nil {
		t.Fatal(err)
	}
	j.Client = client
	j.result, err = loadgen.Run(context.Background(), context.Background(), j.Job)
	j.stats = client.Stats()
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// heap is what the process holds after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // pools keep what they hold over one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// balanced: what was issued ended, each request once, each in one way.
func (j *job) balanced(t *testing.T) {
	t.Helper()
	var issued int64
	for _, p := range j.result.Phases {
		issued += p.Issued
		if p.OK+p.Failed+p.CancelledCount+p.Cut != p.Issued {
			t.Errorf("phase %s: %d ok + %d failed + %d cancelled are not the %d issued",
				p.Name, p.OK, p.Failed, p.CancelledCount, p.Issued)
		}
	}
	seen := map[int64]bool{}
	for _, r := range j.records {
		if seen[r.RequestID] || r.RequestID < 0 || r.RequestID >= issued {
			t.Errorf("request %d of %d is emitted twice, or was never issued", r.RequestID, issued)
		}
		seen[r.RequestID] = true
	}
	if int64(len(seen)) != issued {
		t.Errorf("%d records for %d requests", len(seen), issued)
	}
}

// clean: the server's words are short, readable, and without our key.
func (j *job) clean(t *testing.T) {
	t.Helper()
	for _, r := range j.records {
		if n := len(r.ErrorMessage); n > 1<<10 || !utf8.ValidString(r.ErrorMessage) {
			t.Errorf("request %d: error text of %d bytes: %.80q", r.RequestID, n, r.ErrorMessage)
		}
		r := *r
		for i, fields := 0, reflect.ValueOf(&r).Elem(); i < fields.NumField(); i++ {
			if f := fields.Field(i); f.CanFloat() && math.IsNaN(f.Float()) {
				f.SetFloat(0) // JSON has no NaN
			}
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), secret[:8]) {
			t.Errorf("request %d shows the API key, or half of it: %s", r.RequestID, b)
		}
		if r.Succeeded() == (r.ErrorKind != "") {
			t.Errorf("request %d: %s with error kind %q", r.RequestID, r.Status, r.ErrorKind)
		}
	}
}

// apart: failures are no part of the statistics of successes, and nothing is
// NaN or infinite but what says so.
func (j *job) apart(t *testing.T) {
	t.Helper()
	c := metrics.NewCollector(metrics.Options{Streaming: j.Endpoint.Streaming, Tokens: true})
	ok := int64(0)
	for _, r := range j.records {
		c.Add(r)
		if r.Status == record.OK && r.InWindow {
			ok++
		}
	}
	s := c.Summaries()[0]
	latency, found := s.Get("request_latency")
	if found != (ok > 0) || found && latency.Count != ok {
		t.Errorf("request latency of %d requests, %d went well", latency.Count, ok)
	}
	for _, st := range s.Stats {
		if st.Count == 0 && !st.Scalar || strings.HasPrefix(st.Tag, "adj_") { // those count a failure as endless
			continue
		}
		if math.IsNaN(st.Avg) || math.IsInf(st.Avg, 0) {
			t.Errorf("%s is %v", st.Tag, st.Avg)
		}
	}
}

// one is the only way in which all requests ended, shown by the first of them.
func (j *job) one(t *testing.T) *record.Record {
	t.Helper()
	if len(j.records) == 0 {
		t.Fatal("no records")
	}
	first := j.records[0]
	for _, r := range j.records {
		if r.Status != first.Status || r.ErrorKind != first.ErrorKind || r.HTTPStatus != first.HTTPStatus {
			t.Errorf("request %d ended as %s %s %d, others as %s %s %d", r.RequestID, r.Status, r.ErrorKind,
				r.HTTPStatus, first.Status, first.ErrorKind, first.HTTPStatus)
		}
	}
	return first
}

// delta is a chat event with one content delta.
func delta(fields string) string { return `{"choices":[{"index":0,"delta":{` + fields + `}}]}` }

func content(text string) string { return delta(fmt.Sprintf(`"content":%q`, text)) }

// finish is the last event of a choice.
const finish = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

func usage(fields string) string { return `{"choices":[],"usage":{` + fields + `}}` }

// again answers every request of a connection with text.
func again(text string) fs.Script { return fs.Script{fs.Loop(fs.Read(), fs.Send(text))} }

// good is a whole answer in a stream.
func good() string { return fs.Stream(content("Hello"), content(" world"), finish, "[DONE]") }
