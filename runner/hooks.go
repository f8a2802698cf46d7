package runner

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/runner/hook"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// actions are what servers can be asked to do by name: the paths at which vLLM and SGLang
// know them, tried in order.
var actions = map[string][]string{
	resetPrefixCache: {"/reset_prefix_cache", "/flush_cache"},
	"start_profile":  {"/start_profile"},
	"stop_profile":   {"/stop_profile"},
	"sleep":          {"/sleep", "/release_memory_occupation"},
	"wake_up":        {"/wake_up", "/resume_memory_occupation"},
}

const resetPrefixCache = "reset_prefix_cache"

// hookError says that something was not done before a run, which is not measured then.
type hookError struct{ why string }

func (e *hookError) Error() string { return e.why }

// beforeRun carries out what the experiment wants done to the server before a run: hooks
// between cells, those before each run, and a reset of the prefix cache last. last is the
// run before, nil for none. The error is why the run must not be measured.
func (r *runner) beforeRun(ctx context.Context, last *sweep.Run, run sweep.Run) error {
	b := &run.Cell.Resolved.Benchmark
	if !r.opt.network() {
		return nil
	}
	var hooks []schema.Hook
	if s := b.Server; s != nil {
		if last != nil && last.Cell != run.Cell {
			hooks = append(hooks, s.BetweenCells...)
		}
		hooks = append(hooks, s.BeforeRun...)
	}
	reset := b.Endpoint.ResetKVCache
	if reset != nil && reset.Off {
		reset = nil
	}
	if len(hooks) == 0 && reset == nil {
		return nil
	}
	targets, err := r.resolve(ctx, run)
	if err != nil {
		return err
	}
	for i := range hooks {
		if err := r.hook(ctx, run, targets, &hooks[i]); err != nil {
			return &hookError{r.hide.Text("a hook before the run failed: " + diag.Line(err))}
		}
	}
	if reset != nil {
		if err := resetCache(ctx, b, targets, reset); err != nil {
			return &hookError{r.hide.Text("the prefix cache was not reset: " + diag.Line(err))}
		}
		r.log.say("INFO", "prefix cache reset before run %s", run.ID)
	}
	return nil
}

// afterRun carries out the hooks after a run. One that fails is told: the run is measured.
func (r *runner) afterRun(ctx context.Context, run sweep.Run) {
	s := run.Cell.Resolved.Benchmark.Server
	if s == nil || len(s.AfterRun) == 0 || !r.opt.network() {
		return
	}
	targets, err := r.resolve(ctx, run)
	for i := 0; err == nil && i < len(s.AfterRun); i++ {
		err = r.hook(ctx, run, targets, &s.AfterRun[i])
	}
	if err != nil {
		r.opt.say(r.hide.Text("a hook after the run failed: " + diag.Line(err)))
	}
}

// hook carries out one.
func (r *runner) hook(ctx context.Context, run sweep.Run, targets []string, h *schema.Hook) error {
	b := &run.Cell.Resolved.Benchmark
	says, began := h.Says(b.Endpoint.Hide), time.Now()
	ctx, stop := context.WithTimeout(ctx, schema.Duration(h.Timeout).Go())
	defer stop()
	q := request{
		path: h.Call, method: h.Method, headers: h.Headers, body: h.Body, seconds: h.Timeout, shown: says,
	}
	var err error
	switch {
	case h.Action != "":
		err = act(ctx, b, targets, actions[h.Action], q)
	case h.Call != "":
		err = callAll(ctx, *b, targets, q)
	default:
		err = hook.Run(ctx, folderOf(r.opt.SourceName), h.Command)
	}
	event := resultdir.Event{Event: "hook", State: says} // without the run, whose own events say how it stands
	if err != nil {
		event.Error = diag.Line(err)
	}
	r.log.say("INFO", "hook of run %s: %s, %.3f s", run.ID, says, time.Since(began).Seconds())
	return errors.Join(err, r.note(event))
}

// act makes the call of an action: the first path that the server knows.
func act(ctx context.Context, b *schema.Benchmark, targets, paths []string, q request) (err error) {
	q.method, q.body = http.MethodPost, nil
	for _, path := range paths {
		q.path, q.shown = path, "POST "+path
		if err = callAll(ctx, *b, targets, q); !unknownPath(err) {
			return err
		}
	}
	if len(paths) > 1 {
		return &callError{http.StatusNotFound, "the server knows none of POST " + strings.Join(paths, ", ")}
	}
	return err
}

// unknownPath reports whether a server does not know what it was called for.
func unknownPath(err error) bool {
	var refused *callError
	return errors.As(err, &refused) &&
		(refused.status == http.StatusNotFound || refused.status == http.StatusMethodNotAllowed)
}

// resetPause is between two attempts at a busy server.
const resetPause = 500 * time.Millisecond

// resetCache empties the prefix cache. A server that is busy refuses (SGLang) and is asked
// again for as long as the experiment allows.
func resetCache(ctx context.Context, b *schema.Benchmark, targets []string, c *schema.ResetKVCache) error {
	paths := actions[resetPrefixCache]
	if c.Path != "" {
		paths = []string{"/" + strings.TrimPrefix(c.Path, "/")}
	}
	until := time.Now().Add(time.Duration(c.Retry * float64(time.Second)))
	for {
		err := act(ctx, b, targets, paths, request{seconds: c.Seconds()})
		if err == nil || unknownPath(err) || time.Now().Add(resetPause).After(until) || !pause(ctx, resetPause) {
			return err
		}
	}
}
