package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/render"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// A look at a server takes as long as the pause between two looks, and this at
// least: a model that is being loaded answers late. Tests have more time.
var (
	listPatience   = 5 * time.Second
	answerPatience = 30 * time.Second
)

const (
	modelsPath = "/v1/models" // where a server lists its models
	shownWords = 200          // bounds what is repeated of a server's words
)

// waiter waits until one server is ready for one model.
type waiter struct {
	shown, model string
	url          string // with the built-in server resolved
	bench        schema.Benchmark
	clock        record.Clock
	client       *transport.Client
	until        int64
	say          func(line string) // told that it is ready
	found        func(why string)  // told why a look found it not ready
}

// await waits for every server of the cells and every model that is asked of it,
// at once.
func await(ctx context.Context, plan *sweep.Plan, cells []*sweep.Cell, local *servers, opt *Options) error {
	if !opt.network() {
		return nil
	}
	all, err := waiters(ctx, cells, local, opt.SourceName)
	if err != nil || len(all) == 0 {
		return err
	}
	hide := plan.Hide()
	var told sync.Once
	var saying sync.Mutex // one line at a time
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, w := range all {
		w.say = func(line string) {
			saying.Lock()
			defer saying.Unlock()
			opt.say(hide.Text(line))
		}
		w.found = func(why string) {
			told.Do(func() { w.say("waiting, " + w.limit() + " at most: " + why) })
		}
		wait.Go(func() { errs[i] = w.wait(ctx) })
	}
	wait.Wait()
	for _, err := range errs {
		switch {
		case ctx.Err() != nil:
			return &diag.Error{
				Code:    diag.Interrupted,
				Message: "interrupted while it waited for the model; nothing was measured", Cause: context.Cause(ctx),
			}
		case err != nil:
			return &diag.Error{
				Code: diag.Failed, Message: hide.Text(err.Error()), Cause: err,
				Hint: "is the model's name right (-m)? --wait-for-model-timeout waits longer",
			}
		}
	}
	return nil
}

// waiters is one for each server and model; those of cells that look in the same
// way are one.
func waiters(ctx context.Context, cells []*sweep.Cell, local *servers, experiment string) ([]*waiter, error) {
	var all []*waiter
	known := map[string]bool{}
	for _, c := range cells {
		b := c.Resolved.Benchmark
		e := &b.Endpoint
		if e.WaitTimeout == 0 && e.WaitWorkers == 0 {
			continue
		}
		for _, u := range e.URLs {
			for _, item := range b.Models.Items {
				key := fmt.Sprintf("%q %q %q %q %q", u, item.Name, e.WaitMode, e.Type, e.Path)
				if known[key] {
					continue
				}
				known[key] = true
				at, ok, err := local.early(ctx, u)
				if err != nil {
					return nil, err
				}
				if ok {
					all = append(all, &waiter{
						shown: u, url: at, model: item.Name, bench: withEndpoint(b, experiment),
					})
				}
			}
		}
	}
	return all, nil
}

// early is resolve before there is a result directory. A built-in server that
// keeps a log there cannot be started yet, and is not waited for.
func (s *servers) early(ctx context.Context, url string) (string, bool, error) {
	if mockserver.Named(url) {
		cfg, err := mockserver.ParseURL(url)
		if err != nil || cfg.Keep {
			return "", false, err
		}
	}
	at, err := s.resolve(ctx, url, "")
	return at, err == nil, err
}

// wait returns when the server is ready, the time is over or ctx ends.
func (w *waiter) wait(ctx context.Context) (err error) {
	w.clock = record.NewClock()
	how := onerun.Transport(&w.bench, []string{w.url}, w.clock)
	how.Reuse, how.MaxConns = "never", 1 // what is waited for has no connections that are worth keeping
	if w.client, err = transport.Open(how); err != nil {
		return err
	}
	defer w.client.Close() //nolint:errcheck // nothing depends on it any more
	w.until = w.clock.Now() + seconds(w.bench.Endpoint.WaitTimeout)
	if w.bench.Endpoint.WaitWorkers > 0 {
		defer func() {
			if err == nil {
				err = w.poll(ctx, w.workers(how))
			}
		}()
	}
	if w.bench.Endpoint.WaitTimeout == 0 {
		return nil
	}
	mode := w.bench.Endpoint.WaitMode
	if strings.HasPrefix(w.url, "grpc") {
		mode = "inference" // there is no list to be had by GET
	}
	if mode != "inference" {
		if err := w.poll(ctx, w.listed); err != nil {
			return err
		}
	}
	if mode == "models" {
		return nil
	}
	ask, err := w.question()
	if err != nil {
		return err
	}
	return w.poll(ctx, ask)
}

// look asks the server once: what to say, and whether it is ready. The words
// that programs wait for are AIPerf's.
type look func(ctx context.Context, attempt int) (said string, ready bool)

// poll looks again and again.
func (w *waiter) poll(ctx context.Context, look look) error {
	for attempt := 1; ; attempt++ {
		said, ready := look(ctx, attempt)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if ready {
			w.say(said)
			return nil
		}
		left := w.until - w.clock.Now()
		if left <= 0 {
			if w.bench.Endpoint.WaitTimeout == 0 { // only workers are counted, once
				return diag.Errorf("%s", said)
			}
			return diag.Errorf("Timed out after %s waiting for model '%s' to become ready at %s: %s", w.limit(),
				w.model, w.shown, said)
		}
		w.found(said)
		pause := time.NewTimer(time.Duration(min(left, seconds(w.bench.Endpoint.WaitInterval))))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

func (w *waiter) limit() string { return fmt.Sprintf("%v s", w.bench.Endpoint.WaitTimeout) }

// listed looks whether the server lists the model. A server without a list is
// ready when it answers at all.
func (w *waiter) listed(ctx context.Context, attempt int) (string, bool) {
	x, err := w.request()
	if err != nil {
		return err.Error(), false
	}
	x.Method, x.Path, x.Body, x.Stream = http.MethodGet, modelsPath, nil, false
	w.send(ctx, x, listPatience)
	switch {
	case x.HTTPStatus == http.StatusNotFound:
		x.Path = ""
		w.send(ctx, x, listPatience)
		if x.HTTPStatus > 0 {
			return fmt.Sprintf("%s has no %s and answers %d — accepting as ready", w.shown, modelsPath, x.HTTPStatus),
				true
		}
		return w.shown + " " + refusal(x), false
	case x.Status != record.OK:
		return w.list() + " " + refusal(x), false
	}
	var list struct{ Data []struct{ ID string } }
	if json.Unmarshal(x.Payload, &list) != nil || list.Data == nil {
		return w.list() + " is not a list of models", false
	}
	var names []string
	for _, m := range list.Data {
		if m.ID == w.model {
			return fmt.Sprintf("Model '%s' ready at %s after %s", w.model, w.shown,
				words.Count(int64(attempt), "attempt")), true
		}
		names = append(names, m.ID)
	}
	lists := "no model"
	if names != nil {
		lists = words.Clip(strings.Join(names, ", "), shownWords)
	}
	return fmt.Sprintf("Model '%s' not yet in %s, which lists %s", w.model, w.list(), lists), false
}

// workers looks how many workers a router or front end has ready.
func (w *waiter) workers(how transport.Config) look { //nolint:gocritic // as transport.Open
	return func(ctx context.Context, attempt int) (string, bool) {
		want := w.bench.Endpoint.WaitWorkers
		n, known := onerun.Workers(ctx, &w.bench, how, w.model)
		switch {
		case !known:
			return w.shown + " has no page of metrics that counts workers", false
		case n < want:
			return fmt.Sprintf("%d of %d workers of model '%s' are ready at %s", n, want, w.model, w.shown), false
		}
		return fmt.Sprintf("%s of model '%s' ready at %s", words.Count(int64(n), "worker"), w.model, w.shown), true
	}
}

// list is where the server lists its models, as it is shown.
func (w *waiter) list() string {
	return strings.TrimSuffix(strings.TrimRight(w.shown, "/"), "/v1") + modelsPath
}

// question makes the look that asks for one token, as the load will ask.
func (w *waiter) question() (look, error) {
	x, err := w.request()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, attempt int) (string, bool) {
		w.send(ctx, x, answerPatience)
		// Whoever refuses a request of this kind has understood it.
		if x.Status == record.OK || x.Status == record.HTTPError && x.HTTPStatus > 0 &&
			x.HTTPStatus < http.StatusInternalServerError {
			return fmt.Sprintf("Inference probe ready at %s after %s", w.shown, words.Count(int64(attempt), "attempt")),
				true
		}
		return fmt.Sprintf("Inference probe to %s with model '%s' %s", w.shown, w.model, refusal(x)), false
	}, nil
}

// request is one of the smallest requests that the endpoint knows, with the
// header of all others.
func (w *waiter) request() (*transport.Exchange, error) { return smallest(&w.bench, w.model, "ready?") }

// smallest is one of the smallest requests for text that b's endpoint knows.
func smallest(b *schema.Benchmark, model, text string) (*transport.Exchange, error) {
	spec, err := endpoint.Open(&b.Endpoint)
	if err != nil {
		return nil, err
	}
	r, err := render.New(&b.Endpoint, schema.Models{Items: []schema.Model{{Name: model}}}, spec, nil)
	if err != nil {
		return nil, err
	}
	turn := dataset.Turn{Texts: []string{text}, MaxTokens: 1}
	if spec.Ranks {
		turn = dataset.Turn{Query: text, Passages: []string{"yes"}}
	}
	keys := render.NewKeys(0, 0, "wait")
	x := &transport.Exchange{}
	open := func() render.Turn {
		s := r.Open(keys, &dataset.Conversation{Turns: []dataset.Turn{turn}}, 0)
		return r.Render(keys, &s, 0, x)
	}
	if open().Err == nil {
		return x, nil
	}
	// The API needs more than a text. A server that answers that it misses it is
	// ready, too.
	if turn.Raw, err = json.Marshal(map[string]string{"model": model}); err != nil {
		return nil, err
	}
	return x, open().Err
}

// send sends x and waits for its end, or for that of ctx.
func (w *waiter) send(ctx context.Context, x *transport.Exchange, patience time.Duration) {
	now := w.clock.Now()
	// The first look is made however short the time is.
	x.Deadline = now + max(int64(patience), seconds(w.bench.Endpoint.WaitInterval))
	if now < w.until {
		x.Deadline = min(x.Deadline, w.until)
	}
	x.CancelAfter = record.None
	done := make(chan struct{})
	x.Done = func(*transport.Exchange) { close(done) }
	w.client.Start(x)
	select {
	case <-done:
	case <-ctx.Done():
		w.client.Cancel(x)
		<-done
	}
}

// refusal is what x brought instead of the answer of a server that is ready.
func refusal(x *transport.Exchange) string {
	said := x.ErrorText
	if x.Status == record.HTTPError {
		said = loadgen.OwnWords(x.Payload, said)
	}
	switch {
	case x.Status == record.Timeout:
		return "gave no answer in time"
	case x.HTTPStatus > 0:
		said = fmt.Sprintf("returned %d: %s", x.HTTPStatus, said)
	default:
		said = "failed: " + said
	}
	return words.Clip(said, shownWords)
}

func seconds(s float64) int64 { return int64(s * float64(time.Second)) }
