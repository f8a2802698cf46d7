package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/words"
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
		b := &c.Resolved.Benchmark
		if f := b.Endpoint.Flip; f != nil && len(f.Command) > 0 && !opt.AllowHooks {
			return notAllowed("benchmark.endpoint.flip.command", b.Endpoint.Flips())
		}
		for list, hooks := range b.Server.All() {
			for i := range hooks {
				if h := &hooks[i]; len(h.Command) > 0 && !opt.AllowHooks {
					return notAllowed(fmt.Sprintf("%s.%d.command", list, i), h.Says(b.Endpoint.Hide))
				}
			}
		}
	}
	return nil
}

func notAllowed(path, command string) error {
	return &diag.Error{
		Path: path, Message: "this experiment runs " + words.Clip(command, shownWords) + " on this machine",
		Hint: "check what the command does, then add --allow-hooks",
	}
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
		err = callAll(ctx, b, targets, request{
			path: f.Call, method: f.Method, headers: f.Headers, body: f.Body, seconds: f.Timeout,
			shown: b.Endpoint.Flips(),
		})
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
