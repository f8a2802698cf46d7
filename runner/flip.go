package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/runner/hook"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// flips is what is known of the server that is compared with itself.
type flips struct {
	state string // what the last flip made; "" before the first one of this process, and after one that failed
	done  int
	trial int   // whose flip failed
	why   error // why it did; nil: none has
}

// flipError says that the server could not be brought into the state that a run
// needs. The rest of its trial is not measured: a block with a cell missing pairs
// with nothing, and --resume makes it whole.
type flipError struct{ why string }

func (e *flipError) Error() string { return e.why }

// allowed refuses a plan that runs commands, unless that is allowed.
func allowed(plan *sweep.Plan, opt *Options) error {
	for _, c := range plan.Cells {
		if f := c.Resolved.Benchmark.Endpoint.Flip; f != nil && len(f.Command) > 0 && !opt.AllowHooks {
			return &diag.Error{
				Path: "benchmark.endpoint.flip.command", Message: "this experiment runs " +
					words.Clip(c.Resolved.Benchmark.Endpoint.Flips(), shownWords) + " on this machine",
				Hint: "check what the command does, then add --allow-hooks",
			}
		}
	}
	return nil
}

// flip brings the server into the state that run needs, unless it is in it. What
// another process left is not known: the first run of a process always flips.
func (r *runner) flip(issue context.Context, run sweep.Run) error {
	state := run.Cell.State()
	switch {
	case state == "" || !r.opt.network():
		return nil
	case r.flips.why != nil && r.flips.trial == run.Trial && r.plan.Order == "repeated":
		return r.flips.why
	case r.flips.why == nil && r.flips.state == state:
		return nil
	}
	e := &run.Cell.Resolved.Benchmark.Endpoint
	name := run.Cell.Short()
	r.opt.say(fmt.Sprintf("flips the server for %s: %s", name, words.Clip(e.Flips(), shownWords)))
	began := time.Now()
	err := r.perFlip(issue, run)
	event := resultdir.Event{Event: "flip", State: name}
	if issue.Err() != nil {
		r.flips.state = ""
		return nil // the plan ends here
	}
	r.flips = flips{state: state, done: r.flips.done + 1}
	if err != nil {
		failed := &flipError{r.hide.Text("the server was not brought into its state: " + err.Error())}
		r.flips.state, r.flips.trial, r.flips.why, event.Error = "", run.Trial, failed, failed.why
	}
	r.log.say("INFO", "server flip for %s by %s, %.3f s", name, e.Flips(), time.Since(began).Seconds())
	if err := r.note(event); err != nil {
		return err
	}
	return r.flips.why
}

// perFlip does what the flip says and waits until the server can be used.
func (r *runner) perFlip(issue context.Context, run sweep.Run) error {
	b := run.Cell.Resolved.Benchmark
	f := b.Endpoint.Flip
	targets, err := r.resolve(issue, run)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(issue, schema.Duration(f.Timeout).Go())
	defer stop()
	if f.Call != "" {
		err = callAll(ctx, b, targets)
	} else {
		err = hook.Run(ctx, folderOf(r.opt.SourceName), f.Command)
	}
	if err != nil {
		return err
	}
	if err := listens(ctx, &b, targets); err != nil {
		return err
	}
	return await(issue, r.plan, []*sweep.Cell{run.Cell}, r.servers, &r.opt)
}

// folderOf is where an experiment's file is; a package is a folder itself.
func folderOf(experiment string) string {
	if st, err := os.Stat(experiment); err == nil && st.IsDir() {
		return experiment
	}
	return filepath.Dir(experiment)
}

// callAll makes the call of b's flip: a path at each of the endpoint's servers, as
// its requests are made; an address of its own without their credentials.
func callAll(ctx context.Context, b schema.Benchmark, targets []string) error {
	f := b.Endpoint.Flip
	if !strings.HasPrefix(f.Call, "/") {
		b.Endpoint.Headers, b.Endpoint.APIKey, b.Endpoint.Type = nil, "", endpoint.Usual(nil).Type
	}
	b.Endpoint.Headers = b.Endpoint.Headers.With(f.Headers)
	if !strings.HasPrefix(f.Call, "/") {
		targets = []string{f.Call}
	}
	for _, t := range targets {
		root, err := url.Parse(t)
		if err != nil {
			return err
		}
		path := f.Call
		if !strings.HasPrefix(path, "/") {
			path = root.RequestURI()
		}
		root.Path, root.RawPath, root.RawQuery, root.Fragment = "", "", "", ""
		if err := call(ctx, b, root.String(), path); err != nil {
			return err
		}
	}
	return nil
}

// call asks base for path and wants a status of 2xx.
func call(ctx context.Context, b schema.Benchmark, base, path string) (err error) {
	f := b.Endpoint.Flip
	w := &waiter{url: base, bench: b, model: b.Models.Items[0].Name, clock: record.NewClock()}
	how := onerun.Transport(&b, []string{base}, w.clock)
	how.Reuse, how.MaxConns = "never", 1
	if w.client, err = transport.Open(how); err != nil {
		return err
	}
	defer w.client.Close() //nolint:errcheck // nothing depends on it any more
	w.until = w.clock.Now() + seconds(f.Timeout)
	x, err := w.request()
	if err != nil {
		return err
	}
	x.Method, x.Path, x.Body, x.Stream = f.Method, path, nil, false
	if f.Method == http.MethodPost {
		x.Method = ""
	}
	if f.Body != nil {
		if x.Body, err = json.Marshal(f.Body); err != nil {
			return err
		}
	}
	if w.send(ctx, x, schema.Duration(f.Timeout).Go()); x.Status != record.OK {
		return fmt.Errorf("%s: %s", b.Endpoint.Flips(), refusal(x))
	}
	return nil
}

// lookAgain is the pause between two tries to connect.
const lookAgain = 100 * time.Millisecond

// listens waits until each of b's servers accepts connections.
func listens(ctx context.Context, b *schema.Benchmark, targets []string) error {
	for {
		err := transport.Reach(ctx, onerun.Transport(b, targets, record.NewClock()))
		if err == nil {
			return nil
		}
		pause := time.NewTimer(lookAgain)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("the flip is done, but the server does not answer after %v s: %w",
					b.Endpoint.Flip.Timeout, err)
			}
			return ctx.Err()
		}
	}
}

// unflipped are the cells whose servers are what they are.
func unflipped(plan *sweep.Plan) (out []*sweep.Cell) {
	for _, c := range plan.Cells {
		if c.State() == "" {
			out = append(out, c)
		}
	}
	return out
}
