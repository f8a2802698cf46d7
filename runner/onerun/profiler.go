package onerun

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/schema"
)

// The paths at which vLLM and SGLang start and stop their profilers.
const (
	startProfile = "/start_profile"
	stopProfile  = "/stop_profile"
)

// profiler runs the server's profiler during the measured phases.
type profiler struct {
	who     *Inquirer
	conf    *schema.ServerProfiler
	targets []string
	phases  []schema.Phase
	next    int // phase that comes
	running bool
	notes   []string
}

// startProfiler starts it at once where the first phase is measured. One that cannot be
// started is said before the load.
func startProfiler(ctx context.Context, w *Watched) (Observer, error) {
	conf := w.Run.Benchmark.Endpoint.ServerProfiler
	if w.Client == nil || conf == nil || conf.Off {
		return nil, nil //nolint:nilnil // there is nobody to ask, or it is not wanted
	}
	p := &profiler{
		who: NewInquirer(&w.Run.Benchmark.Endpoint, w.Transport), conf: conf, targets: w.Run.Targets,
		phases: w.Run.Benchmark.Phases,
	}
	p.who.mask = w.Session.Hide.Text
	if err := p.enter(ctx); err != nil {
		return nil, fmt.Errorf("the server's profiler was not started: %w", err)
	}
	return p, nil
}

// Border starts or stops the profiler where warmup and measured phases meet.
func (p *profiler) Border() {
	p.next++
	if err := p.enter(context.Background()); err != nil {
		p.notes = append(p.notes, "the server's profiler: "+err.Error())
	}
}

// enter brings the profiler into the state that the phase which comes needs. Phases
// without a border before them are in the one of the phase before.
func (p *profiler) enter(ctx context.Context) error {
	for p.next < len(p.phases) && p.next > 0 && p.phases[p.next].Seamless {
		p.next++
	}
	if p.next >= len(p.phases) {
		return nil
	}
	wanted := p.phases[p.next].Kind != "warmup"
	for i := p.next + 1; i < len(p.phases) && p.phases[i].Seamless; i++ {
		wanted = wanted || p.phases[i].Kind != "warmup"
	}
	return p.set(ctx, wanted)
}

func (p *profiler) set(ctx context.Context, on bool) error {
	if on == p.running {
		return nil
	}
	path := p.conf.Stop
	switch {
	case on && p.conf.Start != "":
		path = p.conf.Start
	case on:
		path = startProfile
	case path == "":
		path = stopProfile
	}
	p.running = on
	patience := time.Duration(p.conf.Seconds() * float64(time.Second))
	for _, t := range p.targets {
		if err := p.who.post(ctx, serverURL(t, "/"+strings.TrimPrefix(path, "/")), patience); err != nil {
			return fmt.Errorf("POST %s: %w", path, err)
		}
	}
	return nil
}

// Stop stops it. The traces are where the server puts them.
func (p *profiler) Stop(ctx context.Context, out *Result) error {
	if err := p.set(context.WithoutCancel(ctx), false); err != nil {
		p.notes = append(p.notes, "the server's profiler: "+err.Error())
	}
	if out != nil {
		out.Notes = append(out.Notes, p.notes...)
	}
	return nil
}

// post asks the server to do something; the error is one line.
func (q *Inquirer) post(ctx context.Context, u string, patience time.Duration) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u, http.NoBody)
	if err != nil {
		return err
	}
	req.Header = q.header.Clone()
	t := q.client.Transport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = 0 // ctx ends it
	defer t.CloseIdleConnections()
	res, err := (&http.Client{Transport: t, CheckRedirect: q.client.CheckRedirect}).Do(req)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("gave no answer in %s", words.Span(patience))
	case err != nil:
		return fmt.Errorf("failed: %s", q.said(err.Error()))
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("returned %d: %s", res.StatusCode, q.said(loadgen.OwnWords(body, string(body))))
	}
	return nil
}

// said is a server's text as people may read it.
func (q *Inquirer) said(text string) string {
	if q.mask != nil {
		text = q.mask(text)
	}
	return words.Clip(words.Line(text), 200)
}
