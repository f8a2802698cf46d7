package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/runner/cluster"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
)

// server answers every chat, and knows what it was asked.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
	each  func(n int) // is told of the n-th; nil for nobody
}

func answering(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost {
			s.mu.Lock()
			s.asked = append(s.asked, r.Header.Get("X-Request-ID")+" "+string(body))
			if s.each != nil {
				s.each(len(s.asked))
			}
			s.mu.Unlock()
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
	}))
	t.Cleanup(s.Close)
	return s
}

// opened is a run of phases against a server.
func opened(t *testing.T, s *server, phases ...schema.Phase) *onerun.Opened {
	t.Helper()
	open, err := onerun.NewLoader().Open(t.Context(), t.Context(), onerun.Spec{
		Seed: 1, Text: 1, Targets: []string{s.URL}, Benchmark: schema.Benchmark{
			Models:    schema.Models{Items: []schema.Model{{Name: "demo"}}},
			Tokenizer: schema.Tokenizer{Name: "builtin"},
			Endpoint:  schema.Endpoint{URLs: []string{s.URL}, Type: "chat"},
			Datasets:  []schema.Dataset{{Name: "default", Entries: 16}}, Phases: phases,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return open
}

// started is a worker of this process.
func started(t *testing.T, url, token string, k int64) *cluster.Process {
	ctx, kill := context.WithCancel(context.WithoutCancel(t.Context()))
	w := &cluster.Process{Over: make(chan struct{}), Kill: kill}
	go func() {
		defer close(w.Over)
		defer kill()
		w.Err = cluster.Join(ctx, ctx, cluster.Joining{URL: url, Token: token, Version: "test", K: k})
	}()
	return w
}

// three is a coordinator of three workers of this process, and the lives that each of them has had.
func three(t *testing.T) (c *cluster.Coordinator, mu *sync.Mutex, lives map[int64][]*cluster.Process) {
	t.Helper()
	mu, lives = &sync.Mutex{}, map[int64][]*cluster.Process{}
	c, err := cluster.Open(t.Context(), cluster.Options{
		Workers: 3, Version: "test", Launch: func(url, token string, k int64) (*cluster.Process, error) {
			mu.Lock()
			defer mu.Unlock()
			lives[k] = append(lives[k], started(t, url, token, k))
			return lives[k][len(lives[k])-1], nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, mu, lives
}

// A run whose worker dies is not one, and says who was lost. The next one has another worker in
// its place, and is whole.
func TestALostWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	c, mu, lives := three(t)
	s := answering(t)
	s.each = func(n int) {
		if n == 30 {
			mu.Lock()
			defer mu.Unlock()
			lives[1][0].Kill()
		}
	}
	p := schema.Phase{Name: "profiling", Kind: "profiling", Type: "constant", Rate: 200, Requests: 600}
	_, err := c.Driver().Drive(t.Context(), t.Context(), opened(t, s, p), &onerun.Session{Dir: t.TempDir()})
	if senders := (*onerun.SendersError)(nil); !errors.As(err, &senders) || !strings.Contains(err.Error(), "worker 2 of 3 was lost") {
		t.Errorf("the run of a worker that died ended with %v", err)
	}
	s = answering(t)
	p.Requests = 60
	res, err := c.Driver().Drive(t.Context(), t.Context(), opened(t, s, p), &onerun.Session{Dir: t.TempDir()})
	if err != nil || res.Emitted != 60 || len(s.asked) != 60 {
		t.Errorf("the next run: %v, %+v, %d requests", err, res, len(s.asked))
	}
	if len(lives[0]) != 1 || len(lives[1]) != 2 || len(lives[2]) != 1 {
		t.Errorf("lives of workers: %d, %d, %d; want 1, 2, 1", len(lives[0]), len(lives[1]), len(lives[2]))
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A run that is to go on without a worker that dies goes on, from warmup on or later, and says
// who was lost; the next run has another worker in its place.
func TestARunGoesOnWithoutAWorker(t *testing.T) {
	t.Parallel()
	const requests = 300
	warm := schema.Phase{Name: "warmup", Kind: "warmup", Type: "constant", Rate: 400, Requests: 60}
	for name, c := range map[string]struct {
		p    schema.Phase
		dies int // after so many requests
		all  bool
	}{
		"an open loop":   {schema.Phase{Type: "constant", Rate: 300, Requests: requests}, 100, false},
		"in warmup":      {schema.Phase{Type: "constant", Rate: 300, Requests: requests}, 30, false},
		"a closed loop":  {schema.Phase{Type: "concurrency", Concurrency: 6, Requests: requests}, 100, true},
		"and the second": {schema.Phase{Type: "constant", Rate: 300, Requests: requests}, 100, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			co, mu, lives := three(t)
			lost := 1
			s := answering(t)
			s.each = func(n int) {
				mu.Lock()
				defer mu.Unlock()
				if n == c.dies {
					lives[1][0].Kill()
				}
				if name == "and the second" && n == c.dies+60 {
					lost = 2
					lives[0][0].Kill()
				}
			}
			c.p.Name, c.p.Kind = "profiling", "profiling"
			open := opened(t, s, warm, c.p)
			open.Benchmark.OnWorkerLoss = "continue"
			res, err := co.Driver().Drive(t.Context(), t.Context(), open, &onerun.Session{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			var gone, told int64
			for k, from := range res.Senders {
				if from.Worker != int64(k) {
					t.Errorf("worker %d is at place %d", from.Worker, k)
				}
				if from.Lost != nil {
					gone++
				}
				told += from.Requests
			}
			if len(res.Senders) != 3 || gone != int64(lost) || told != res.Emitted || res.Cancelled != "" {
				t.Errorf("%d of %d workers were lost, want %d of 3; they told of %d requests, want %d; cancelled: %q",
					gone, len(res.Senders), lost, told, res.Emitted, res.Cancelled)
			}
			var known int64
			for i := range res.Phases {
				known += res.Phases[i].Issued + res.Phases[i].Unsent
			}
			if known != res.Emitted {
				t.Errorf("the phases count %d requests, their records %d", known, res.Emitted)
			}
			asked, least := int64(len(s.asked)), int64(60+requests)*int64(3-lost)/3
			// what was under way or not told of yet is not known of
			if asked > 60+requests || res.Emitted < least || !c.all && asked == 60+requests {
				t.Errorf("%d records of %d requests, want %d at least", res.Emitted, asked, least)
			}
			s = answering(t)
			c.p.Requests = 60
			res, err = co.Driver().Drive(t.Context(), t.Context(), opened(t, s, c.p), &onerun.Session{Dir: t.TempDir()})
			if err != nil || res.Emitted != 60 || len(s.asked) != 60 || len(lives[1]) != 2 {
				t.Errorf("the next run: %v, %+v, %d requests, %d lives", err, res, len(s.asked), len(lives[1]))
			}
			if err := co.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Workers of this process send what one sends, two runs one after the other, and their
// records and counts come together.
func TestWorkersSendWhatOneSends(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]schema.Phase{
		"open loop":   {Type: "poisson", Rate: 400, Requests: 61},
		"closed loop": {Type: "concurrency", Concurrency: 6, Requests: 61},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			warm := schema.Phase{Name: "warmup", Kind: "warmup", Type: "constant", Rate: 400, Requests: 7}
			p.Name, p.Kind = "profiling", "profiling"
			send := func(driver onerun.Driver) ([]string, loadgen.Result) {
				s := answering(t)
				open := opened(t, s, warm, p)
				res, err := driver.Drive(t.Context(), t.Context(), open, &onerun.Session{Dir: t.TempDir()})
				if err != nil {
					t.Fatal(err)
				}
				if res.Emitted != 68 || res.Lost != "" {
					t.Errorf("%d records came, want 68 (%s)", res.Emitted, res.Lost)
				}
				return slices.Sorted(slices.Values(s.asked)), res.Result
			}
			want, one := send(onerun.Local{})
			c, err := cluster.Open(t.Context(), cluster.Options{
				Workers: 3, Version: "test", Launch: func(url, token string, k int64) (*cluster.Process, error) {
					return started(t, url, token, k), nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				got, all := send(c.Driver())
				if !slices.Equal(want, got) {
					t.Errorf("other requests: one worker sent %d, three %d", len(want), len(got))
				}
				for i, r := range all.Phases {
					w := one.Phases[i]
					if r.Issued != w.Issued || r.OK != w.OK || r.Target != w.Target || r.Due != w.Due {
						t.Errorf("phase %s: %+v, want %+v", r.Name, r, w)
					}
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A worker of another version, with a wrong token, or of no coordinator is refused in a
// line.
func TestStrangers(t *testing.T) {
	t.Parallel()
	var address, right string
	c, err := cluster.Open(t.Context(), cluster.Options{
		Workers: 1, Version: "test", Launch: func(url, token string, k int64) (*cluster.Process, error) {
			address, right = url, token
			w := &cluster.Process{Over: make(chan struct{}), Kill: func() {}}
			go func() {
				defer close(w.Over)
				j := cluster.Joining{URL: url, Token: token, Version: "test", K: k}
				ctx := context.WithoutCancel(t.Context())
				w.Err = cluster.Join(ctx, ctx, j)
			}()
			return w, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ url, token, version, want string }{
		{address, right, "other", "this worker is aiperf other, the coordinator test"},
		{address, right, "test", "all workers have joined already: 1"},
		{address, "wrong", "test", "the coordinator at " + address + " does not take the token"},
		{"nats://127.0.0.1:1", right, "test", "cannot reach the coordinator at nats://127.0.0.1:1"},
	} {
		j := cluster.Joining{URL: x.url, Token: x.token, Version: x.version, K: -1}
		err := cluster.Join(t.Context(), t.Context(), j)
		if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), right) {
			t.Errorf("Join: %v, want %q", err, x.want)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
