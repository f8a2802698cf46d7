package cluster

import (
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/sim"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
)

var crowd = flag.Int("crowd", 40, "workers of TestACrowd")

// crowdDriver sends in a world of its own, where time costs nothing, once all have begun.
type crowdDriver struct {
	onerun.Simulated
	die func() bool // whether this worker dies now, asked with each record; nil: never
}

func (d crowdDriver) Drive(issue, hard context.Context, run *onerun.Opened, s *onerun.Session) (*onerun.Result, error) {
	own, dies := *s.Worker, false
	own.Starts = func(phase int, free int64) (int64, int64) {
		_, first := s.Worker.Starts(phase, free) // of all
		return 1e9, first
	}
	own.Record = func(r *record.Record) {
		if d.die != nil && d.die() {
			dies = true
		}
		s.Worker.Record(r)
	}
	res, err := d.Simulated.Drive(issue, hard, run, &onerun.Session{Dir: s.Dir, Live: s.Live, Worker: &own})
	if dies {
		runtime.Goexit() // as by a signal that nobody hears
	}
	return res, err
}

// Many workers, each of them in virtual time, begin together, are lost, are replaced, and send
// what one sends: each request once, at its time. make sim has a thousand.
func TestACrowd(t *testing.T) {
	t.Parallel()
	const requests = 2000
	listens := httptest.NewServer(nil) // the coordinator looks whether there is a server
	defer listens.Close()
	open := func() *onerun.Opened {
		open, err := onerun.NewLoader().Open(t.Context(), t.Context(), onerun.Spec{
			Seed: 1, Text: 1, Targets: []string{listens.URL}, Benchmark: schema.Benchmark{
				Models:    schema.Models{Items: []schema.Model{{Name: "demo"}}},
				Tokenizer: schema.Tokenizer{Name: "builtin"},
				Endpoint:  schema.Endpoint{URLs: []string{"mock:?ttft=20ms&itl=1ms&cv=0.5"}, Type: "chat", Streaming: true},
				Datasets:  []schema.Dataset{{Name: "default", Entries: 16}},
				Phases: []schema.Phase{{
					Name: "profiling", Kind: "profiling", Type: "poisson", Rate: 1000, Requests: requests,
				}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return open
	}
	// what was sent: the number of each request, its session and when it was due
	sent := func(driver onerun.Driver) (lines []string, err error) {
		dir := t.TempDir()
		if _, err := driver.Drive(t.Context(), t.Context(), open(), &onerun.Session{Dir: dir}); err != nil {
			return nil, err
		}
		first := int64(-1)
		var all []record.Record
		_, err = sinks.ReadMeasured(filepath.Join(dir, resultdir.StreamName), func(r *record.Record) error {
			if first < 0 || r.Intended < first {
				first = r.Intended
			}
			all = append(all, *r)
			return nil
		})
		for _, r := range all {
			lines = append(lines, fmt.Sprint(r.RequestID, r.ConversationID, r.Turn, r.Intended-first))
		}
		slices.Sort(lines)
		return lines, err
	}
	alone, err := sent(onerun.Simulated{World: (&sim.Worlds{}).Open})
	if err != nil || len(alone) != requests {
		t.Fatalf("one process: %d requests, %v", len(alone), err)
	}
	var mu sync.Mutex
	lives := make([]int, *crowd)
	var records atomic.Int64
	c, err := Open(t.Context(), Options{
		Workers: *crowd, Version: "test", Launch: func(url, token string, k int64) (*Process, error) {
			ctx, kill := context.WithCancel(context.Background())
			p := &Process{Over: make(chan struct{}), Kill: kill}
			d := crowdDriver{Simulated: onerun.Simulated{World: (&sim.Worlds{}).Open}}
			mu.Lock()
			if lives[k]++; lives[k] == 1 && k%40 == 7 { // one in forty dies
				d.die = func() bool { return records.Add(1) > requests/100 }
			}
			mu.Unlock()
			go func() {
				defer close(p.Over)
				defer kill()
				p.Err = Join(ctx, ctx, Joining{URL: url, Token: token, Version: "test", K: k, driver: d})
			}()
			return p, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	for lost := 0; ; lost++ {
		began := time.Now()
		together, err := sent(c.Driver())
		t.Logf("took %v", time.Since(began))
		if err != nil && lost <= *crowd/10 {
			t.Logf("sent again: %v", err)
			continue
		}
		if err != nil || lost == 0 {
			t.Fatalf("%d runs were lost: %v", lost, err)
		}
		if !slices.Equal(alone, together) {
			t.Errorf("%d workers sent other requests than one: %d, want %d", *crowd, len(together), len(alone))
		}
		return
	}
}
