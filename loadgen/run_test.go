package loadgen_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/leak"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

func TestMain(m *testing.M) { leak.Main(m) }

// server answers chat requests; it counts what it got.
type server struct {
	*httptest.Server
	got     atomic.Int64
	release chan struct{} // when not nil, answers wait for it

	mu     sync.Mutex
	bodies []string
}

const (
	streamed = `data: {"choices":[{"delta":{"role":"assistant"}}]}

data: {"choices":[{"delta":{"content":"Hello"}}]}

data: {"choices":[{"delta":{"content":" world"},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}

data: [DONE]

`
	whole = `{"choices":[{"message":{"content":"Hello world"},"finish_reason":"stop"}]}`
)

func serve(t *testing.T, held bool, answer http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	if held {
		s.release = make(chan struct{})
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // cancelled while it was sent
		}
		s.got.Add(1)
		s.mu.Lock()
		s.bodies = append(s.bodies, string(body))
		s.mu.Unlock()
		if s.release != nil {
			select {
			case <-s.release:
			case <-r.Context().Done():
				return
			}
		}
		if answer != nil {
			answer(w, r)
			return
		}
		if strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, streamed)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, whole)
	}))
	t.Cleanup(s.Close)
	return s
}

// rig is a job against s that collects its records.
type rig struct {
	loadgen.Job
	records []*record.Record
}

func newRig(t *testing.T, s *server, phases ...schema.Phase) *rig {
	t.Helper()
	tok, err := tokenizer.Open("builtin")
	if err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Open(schema.Dataset{
		Name: "main", Type: "synthetic", Entries: 20,
		Prompts: schema.Prompts{ISL: &schema.Shape{Mean: ptr(30.0)}},
	}, tok, 1, "profiling")
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := endpoint.Lookup("chat")
	r := &rig{}
	clock := record.NewClock()
	r.Job = loadgen.Job{
		Phases: phases, Spec: spec, Set: set, Tokenizer: tok, Clock: clock, Seed: 7,
		Endpoint: schema.Endpoint{
			URLs: []string{s.URL}, Type: "chat", Streaming: true, Timeout: 20,
			APIKey: "sk-hush-hush",
		},
		Models: schema.Models{Items: []schema.Model{{Name: "m"}}},
		Emit:   func(rec *record.Record) { r.records = append(r.records, rec) },
		Hide:   secret.NewMasker("sk-hush-hush"),
	}
	return r
}

func ptr[T any](v T) *T { return &v }

// run opens a client and runs the job.
func (r *rig) run(t *testing.T, issue, run context.Context) loadgen.Result {
	t.Helper()
	cl, err := transport.Open(transport.Config{
		Targets: r.Endpoint.URLs,
		Clock:   r.Clock, Reuse: r.Endpoint.ConnectionReuse,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	r.Client = cl
	res, err := loadgen.Run(issue, run, r.Job)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	r.check(t, res)
	return res
}

// check holds for every run: every issued request is emitted exactly once, and
// the stamps of each are in order.
func (r *rig) check(t *testing.T, res loadgen.Result) {
	t.Helper()
	var issued int64
	for _, p := range res.Phases {
		issued += p.Issued
		if p.OK+p.Failed+p.CancelledCount+p.Cut != p.Issued {
			t.Errorf("phase %s: %d + %d + %d ≠ %d issued", p.Name, p.OK, p.Failed, p.CancelledCount, p.Issued)
		}
	}
	seen := make([]int, issued)
	for _, rec := range r.records {
		if rec.RequestID < 0 || rec.RequestID >= issued {
			t.Fatalf("request id %d of %d", rec.RequestID, issued)
		}
		seen[rec.RequestID]++
		stamps := []int64{rec.Intended, rec.Admitted, rec.Sent, rec.FirstByte, rec.FirstToken, rec.LastToken, rec.End}
		last := int64(-1 << 62)
		for i, s := range stamps {
			if s == record.None {
				continue
			}
			// Kernel stamps and ours are compared through a measured offset.
			if s < last-int64(100*time.Microsecond) {
				t.Errorf("request %d: stamp %d of %v goes back", rec.RequestID, i, stamps)
			}
			last = s
		}
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("request %d was emitted %d times", id, n)
		}
	}
}

var bg = context.Background()

func TestRunClosedLoop(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil)
	warm := schema.Phase{Name: "warmup", Kind: "warmup", Type: "concurrency", Concurrency: 2, Requests: 5}
	prof := schema.Phase{Name: "profiling", Kind: "profiling", Type: "concurrency", Concurrency: 16, Requests: 400}
	r := newRig(t, s, warm, prof)
	var snapshots atomic.Int64
	r.Live = func(sn loadgen.Snapshot) { snapshots.Add(1) }
	r.Judge = func(rec *record.Record) (clock, sent string) {
		if rec.RequestID == 7 {
			return "time_to_first_token", ""
		}
		return "", ""
	}
	res := r.run(t, bg, bg)
	if s.got.Load() != 405 || res.Phases[0].OK != 5 || res.Phases[1].OK != 400 || res.Cancelled != "" {
		t.Fatalf("server got %d, result %+v", s.got.Load(), res)
	}
	if g := res.Phases[1].Gauge; g.Max != 16 || g.Mean <= 0 || g.Mean > 16 {
		t.Errorf("gauge %+v", g)
	}
	if snapshots.Load() == 0 {
		t.Error("no snapshot was given")
	}
	rec := r.records[100]
	if rec.Status != record.OK || !rec.Streamed || rec.ISL != 30 || rec.OSL < 1 || rec.UsageCompletion != 2 ||
		rec.FinishReason != "stop" ||
		len(rec.Chunks) != 4 || rec.HTTPStatus != 200 || len(rec.PromptSHA) != 16 ||
		rec.URL != s.URL+"/v1/chat/completions" {
		t.Errorf("record %+v", rec)
	}
	for _, rec := range r.records {
		if want := rec.RequestID == 7; !rec.SLOSet || (rec.SLOFailed != "") != want {
			t.Errorf("request %d: SLO set %v, failed %q", rec.RequestID, rec.SLOSet, rec.SLOFailed)
		}
	}
}

func TestRunOpenLoopPlain(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil)
	r := newRig(t, s, schema.Phase{Name: "profiling", Kind: "profiling", Type: "poisson", Rate: 2000, Requests: 600})
	r.Endpoint.Streaming = false
	res := r.run(t, bg, bg)
	if s.got.Load() != 600 || res.Phases[0].OK != 600 {
		t.Errorf("server got %d, ok %d", s.got.Load(), res.Phases[0].OK)
	}
	want, err := mode.Schedule(&r.Phases[0], r.Seed, 600, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range r.records {
		if got := time.Duration(rec.Intended - res.Phases[0].Start); got != want[rec.RequestID] {
			t.Fatalf("request %d intended at %v, the schedule says %v", rec.RequestID, got, want[rec.RequestID])
		}
		if rec.FirstToken == record.None || rec.FirstToken != rec.LastToken || rec.FirstOutput != rec.FirstToken {
			t.Fatalf("request %d: a plain answer arrives once, got %d, %d, %d", rec.RequestID,
				rec.FirstToken, rec.FirstOutput, rec.LastToken)
		}
	}
}

func TestRunConversationsOnStickyConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil)
	r := newRig(t, s, schema.Phase{
		Name: "profiling", Kind: "profiling", Type: "concurrency", Concurrency: 4,
		Sessions: 20,
	})
	set, err := dataset.Open(schema.Dataset{
		Name: "main", Type: "synthetic", Entries: 20, Turns: &schema.Shape{Mean: ptr(3.0)},
		Prompts: schema.Prompts{ISL: &schema.Shape{Mean: ptr(10.0)}},
	}, r.Tokenizer, 1, "profiling")
	if err != nil {
		t.Fatal(err)
	}
	r.Set, r.Endpoint.ConnectionReuse = set, "sticky-user-sessions"
	res := r.run(t, bg, bg)
	if res.Phases[0].OK != 60 {
		t.Fatalf("ok %d of 60: %+v", res.Phases[0].OK, res)
	}
	threaded := 0
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.bodies {
		if strings.Contains(b, `{"role":"assistant","content":"Hello world"}`) {
			threaded++
		}
	}
	if threaded != 40 {
		t.Errorf("%d of 40 later turns hold the live answer", threaded)
	}
	for _, rec := range r.records {
		if rec.Turn > 0 && !rec.Reused {
			t.Errorf("session %d turn %d went over a new connection", rec.SessionNum, rec.Turn)
		}
	}
}

func TestRunInterruptedTwice(t *testing.T) {
	t.Parallel()
	s := serve(t, true, nil)
	issue, stop := context.WithCancel(bg)
	run, kill := context.WithCancel(bg)
	defer kill()
	r := newRig(t, s, schema.Phase{
		Name: "profiling", Kind: "profiling", Type: "concurrency", Concurrency: 8,
		Requests: 1000,
	})
	done := make(chan loadgen.Result)
	go func() { done <- r.run(t, issue, run) }()
	waitFor(func() bool { return s.got.Load() == 8 })
	stop()
	kill()
	res := <-done
	if p := res.Phases[0]; p.Issued != 8 || p.Cut != 8 || p.Stop != "interrupted" || res.Cancelled != "interrupted" {
		t.Errorf("phase %+v, cancelled %q; want 8 cancelled", p, res.Cancelled)
	}
	for _, rec := range r.records {
		if rec.InWindow || rec.Status != record.Cut {
			t.Errorf("request %d: %s, in window %v", rec.RequestID, rec.Status, rec.InWindow)
		}
	}
}

func TestRunInterruptedOnceDrains(t *testing.T) {
	t.Parallel()
	s := serve(t, true, nil)
	issue, stop := context.WithCancel(bg)
	r := newRig(t, s, schema.Phase{
		Name: "profiling", Kind: "profiling", Type: "concurrency", Concurrency: 8,
		Requests: 1000,
	})
	done := make(chan loadgen.Result)
	go func() { done <- r.run(t, issue, bg) }()
	waitFor(func() bool { return s.got.Load() == 8 })
	stop()
	close(s.release)
	res := <-done
	// Slots that were freed before the interrupt was seen may have been used.
	if p := res.Phases[0]; p.OK != p.Issued || p.OK < 8 || p.OK == 1000 || p.Stop != "interrupted" {
		t.Errorf("phase %+v; want all that was sent to be answered", p)
	}
}

// waitFor polls without judging how long it takes.
func waitFor(ok func() bool) {
	for !ok() {
		time.Sleep(time.Millisecond)
	}
}

func TestRunAgainstRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		status record.Status
		kind   string
		text   string
	}{
		{"429", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(429)
			fmt.Fprintf(w, `{"error":{"message":"slow down, %s"}}`, r.Header.Get("Authorization"))
		}, record.HTTPError, "rate_limited", "slow down, Bearer *** (Retry-After: 7)"},
		{"html", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>welcome</html>")
		}, record.ParseError, "html", "welcome"},
		{"error in the stream", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"error\":{\"message\":\"died\",\"type\":\"fatal\"}}\n\n")
		}, record.ParseError, "server_error", "fatal: died"},
		{"nothing", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: [DONE]\n\n")
		}, record.ParseError, "no_content", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, serve(t, false, c.answer), schema.Phase{
				Name: "profiling", Kind: "profiling",
				Type: "concurrency", Concurrency: 2, Requests: 6,
			})
			res := r.run(t, bg, bg)
			if res.Phases[0].Failed != 6 {
				t.Errorf("%d of 6 failed", res.Phases[0].Failed)
			}
			if rec := r.records[0]; rec.Status != c.status || rec.ErrorKind != c.kind ||
				!strings.Contains(rec.ErrorMessage, c.text) {
				t.Errorf("%s %s %q, want %s %s …%s…", rec.Status, rec.ErrorKind, rec.ErrorMessage, c.status, c.kind,
					c.text)
			}
		})
	}
}

func TestRunWithoutServer(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil)
	s.Close()
	r := newRig(t, s, schema.Phase{
		Name: "profiling", Kind: "profiling", Type: "concurrency", Concurrency: 4,
		Requests: 40,
	})
	res := r.run(t, bg, bg)
	if res.Phases[0].Failed != 40 || r.records[0].Status != record.Connection {
		t.Errorf("failed %d of 40, %s %s", res.Phases[0].Failed, r.records[0].Status, r.records[0].ErrorMessage)
	}
}

// A burst larger than parallelSends, prefill slots, cancellation and a
// duration together: what matters is that the books balance.
func TestRunEverythingAtOnce(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil)
	first := schema.Phase{
		Name: "first", Kind: "profiling", Type: "concurrency", Concurrency: 150,
		PrefillConcurrency: 100, Duration: schema.Seconds(0.2),
		Cancellation: &schema.Cancellation{Rate: 20},
	}
	second := schema.Phase{
		Name: "second", Kind: "profiling", Type: "gamma", Rate: 3000, Smoothness: 0.5,
		Concurrency: 20, OnCap: "skip", Duration: schema.Seconds(0.2), Seamless: true,
	}
	r := newRig(t, s, first, second)
	res := r.run(t, bg, bg)
	if len(res.Phases) != 2 || res.Phases[0].OK == 0 || res.Phases[1].OK == 0 || res.Phases[0].CancelledCount == 0 {
		t.Errorf("result %+v", res)
	}
}

// The metamorphic test over real sockets: the strategy of connections changes
// neither what is asked nor when it is wanted.
func TestRunSameRequestsForAnyConnectionStrategy(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil)
	type asked struct {
		sha, id string
		offset  int64
	}
	var want []asked
	for _, reuse := range []string{"pooled", "never", "sticky-user-sessions"} {
		r := newRig(t, s, schema.Phase{
			Name: "profiling", Kind: "profiling", Type: "gamma", Smoothness: 2,
			Rate: 2000, Requests: 100, Concurrency: 100,
		})
		r.Endpoint.ConnectionReuse = reuse
		res := r.run(t, bg, bg)
		got := make([]asked, 100)
		for _, rec := range r.records {
			got[rec.RequestID] = asked{rec.PromptSHA, rec.XRequestID, rec.Intended - res.Phases[0].Start}
		}
		if want == nil {
			want = got
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%s: request %d is %+v, pooled had %+v", reuse, i, got[i], want[i])
			}
		}
	}
}
