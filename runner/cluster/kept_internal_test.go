package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
)

// orphans is a coordinator that dies when everything was sent and nothing answered, and what its
// workers and a server then do.
type orphans struct {
	*httptest.Server
	mu     sync.Mutex
	asked  int
	all    chan struct{} // closed when the server was asked as often as a run asks
	answer chan struct{} // closed when it may answer
}

func newOrphans(t *testing.T, requests int) *orphans {
	o := &orphans{all: make(chan struct{}), answer: make(chan struct{})}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			return
		}
		o.mu.Lock()
		if o.asked++; o.asked == requests {
			close(o.all)
		}
		o.mu.Unlock()
		<-o.answer
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
	}))
	t.Cleanup(o.Close)
	return o
}

func (o *orphans) open(t *testing.T, p schema.Phase) *onerun.Opened {
	t.Helper()
	p.Name, p.Kind = "profiling", "profiling"
	open, err := onerun.NewLoader().Open(t.Context(), t.Context(), onerun.Spec{
		Seed: 1, Text: 1, Targets: []string{o.URL}, Benchmark: schema.Benchmark{
			Models:    schema.Models{Items: []schema.Model{{Name: "demo"}}},
			Tokenizer: schema.Tokenizer{Name: "builtin"},
			Endpoint:  schema.Endpoint{URLs: []string{o.URL}, Type: "chat"},
			Datasets:  []schema.Dataset{{Name: "default", Entries: 16}}, Phases: []schema.Phase{p},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return open
}

// What workers send goes on without the coordinator that died. The one that takes its place has
// the records of it without a request, if it wants that run, and all parts of it are there.
func TestWhatWorkersKeepIsFetched(t *testing.T) {
	t.Parallel()
	const requests = 40
	open := schema.Phase{Type: "constant", Rate: 1000, Requests: requests}
	other := open
	other.Rate = 999
	for _, c := range []struct {
		name  string
		again schema.Phase // what the second coordinator wants
		asked int          // how often the server is asked, in all
	}{
		{"the same run", open, requests},
		{"another one", other, 2 * requests},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := newOrphans(t, requests)
			ctx, stop := context.WithCancel(context.Background())
			token, workers := "0123456789abcdef", sync.WaitGroup{}
			options := Options{Workers: 2, Version: "test", Listen: "127.0.0.1:0", Token: token}
			options.Missing = func(n int64, address string, _ time.Duration) {
				for range n {
					workers.Go(func() {
						err := Join(ctx, ctx, Joining{URL: address, Token: token, Version: "test", K: -1, Wait: time.Hour})
						if err != nil {
							t.Error(err)
						}
					})
				}
			}
			first, err := Open(ctx, options)
			if err != nil {
				t.Fatal(err)
			}
			over := make(chan struct{})
			go func() {
				defer close(over)
				_, err := first.Driver().Drive(ctx, ctx, o.open(t, open), &onerun.Session{Dir: t.TempDir()})
				if err == nil {
					t.Error("the run of a coordinator that died has a result")
				}
			}()
			<-o.all
			_, port, _ := net.SplitHostPort(strings.TrimPrefix(first.bus.url, "nats://"))
			first.still()
			if err := first.bus.close(); err != nil { // as when the coordinator is killed
				t.Fatal(err)
			}
			first.mu.Lock()
			first.seats[0].closed = true // it gives up
			first.mu.Unlock()
			<-over
			close(o.answer)
			options.Listen, options.Missing = "127.0.0.1:"+port, func(int64, string, time.Duration) {}
			second, err := Open(ctx, options)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			res, err := second.Driver().Drive(ctx, ctx, o.open(t, c.again), &onerun.Session{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if o.asked != c.asked || res.Emitted != requests || len(res.Senders) != 2 {
				t.Errorf("the server was asked %d times, want %d; %d records, want %d, of %d workers",
					o.asked, c.asked, res.Emitted, requests, len(res.Senders))
			}
			began := res.T0.Add(time.Duration(res.Span.Start))
			if res.Ended.Before(began) || time.Since(began) > time.Hour {
				t.Errorf("it began at %v and ended at %v", began, res.Ended)
			}
			seen := map[int64]bool{}
			_, err = sinks.ReadMeasured(filepath.Join(dir, resultdir.StreamName), func(r *record.Record) error {
				seen[r.RequestID] = true
				return nil
			})
			if err != nil || len(seen) != requests {
				t.Errorf("%v: %d requests in the journal, want %d", err, len(seen), requests)
			}
			if err := second.Close(); err != nil {
				t.Error(err)
			}
			stop()
			workers.Wait()
		})
	}
}
