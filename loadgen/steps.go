package loadgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/transport"
)

// stepper stands between the scheduler and the client where a request has
// several steps: a job is submitted, asked for, fetched. The scheduler sees one
// exchange: it is sent when the first step is, and over when the last one is.
// Between two steps it waits as the API says, without a slot of the client's.
type stepper struct {
	network
	next    func(endpoint.Reply) (endpoint.Step, error)
	now     func() int64
	targets []string // base URLs, to tell a download from elsewhere

	mu    sync.Mutex
	under map[*transport.Exchange]*steps // requests between their first and last step
}

// steps is one request under way. Its fields are guarded by stepper.mu.
type steps struct {
	outer, inner *transport.Exchange
	done         func(*transport.Exchange)
	timer        *time.Timer
	cancel       context.CancelFunc // of a download from elsewhere
	reply        endpoint.Reply
	over         bool
	times        jobTimes
	last         []byte // the newest answer about the job
	received     int64
}

// jobTimes are when a job was seen to begin and to end, and when it had been
// fetched: ns since T0, record.None for what did not happen.
type jobTimes struct{ begun, made, fetched int64 }

// maxRedirects bounds how far a download from elsewhere is followed.
const maxRedirects = 5

func newStepper(n network, spec *endpoint.Spec, targets []string, now func() int64) network {
	if spec.Next == nil {
		return n
	}
	return &stepper{network: n, next: spec.Next, now: now, targets: targets, under: map[*transport.Exchange]*steps{}}
}

// Start sends the first step.
func (st *stepper) Start(x *transport.Exchange) {
	s := &steps{outer: x, done: x.Done, reply: endpoint.Reply{Submitted: x.Path}}
	s.times = jobTimes{record.None, record.None, record.None}
	x.Done = func(x *transport.Exchange) { st.answered(s, x) }
	st.network.Start(x)
}

// Cancel ends the step that is under way, or the wait for the next.
func (st *stepper) Cancel(x *transport.Exchange) {
	st.mu.Lock()
	s := st.under[x]
	if s == nil {
		st.mu.Unlock()
		st.network.Cancel(x)
		return
	}
	inner, waiting, cancel := s.inner, s.timer != nil && s.timer.Stop(), s.cancel
	st.mu.Unlock()
	switch {
	case waiting:
		go st.end(s, record.Cancelled, "cancelled", "") // Done is never called from within Cancel; the scheduler waits for it
	case cancel != nil:
		cancel()
	case inner != nil:
		st.network.Cancel(inner)
	}
}

// answered takes the answer to a step, and sends the next or ends the request.
func (st *stepper) answered(s *steps, x *transport.Exchange) {
	if x != s.outer {
		s.received += x.BytesReceived
	}
	if x.Status != record.OK {
		st.fail(s, x)
		return
	}
	if x.SizeOnly {
		s.times.fetched = x.End
	} else {
		s.last = append(s.last[:0], x.Payload...)
	}
	s.reply.Body = s.last
	step, err := st.next(s.reply)
	if s.times.begun == record.None && (step.Name == "" || step.Working) {
		s.times.begun = x.End
	}
	if s.times.made == record.None && (step.Name == "" || step.Binary) {
		s.times.made = x.End
	}
	if x != s.outer {
		s.outer.End = x.End
		st.network.Release(x)
	}
	switch {
	case err != nil:
		st.end(s, record.ParseError, "job", err.Error())
	case step.Name == "":
		st.end(s, record.OK, "", "")
	default:
		st.after(s, step)
	}
}

// after waits for a step's time.
func (st *stepper) after(s *steps, step endpoint.Step) {
	s.reply.Step = step.Name
	st.mu.Lock()
	defer st.mu.Unlock()
	st.under[s.outer] = s
	s.inner = nil
	s.timer = time.AfterFunc(step.After, func() { st.send(s, step) })
}

// send sends a step, unless the request's time is up.
func (st *stepper) send(s *steps, step endpoint.Step) {
	now, x := st.now(), s.outer
	if d := x.Deadline; d != record.None && now >= d {
		st.end(s, record.Timeout, "timeout", "the job was not done in the time a request has")
		return
	}
	if step.URL != "" && !st.ours(step.URL) {
		st.fetch(s, step)
		return
	}
	in := &transport.Exchange{
		Method: http.MethodGet, Target: x.Target, Path: step.Path, Header: withoutContentType(x.Header), Affinity: x.Affinity,
		Deadline: x.Deadline, CancelAfter: record.None, SizeOnly: step.Binary, Detailed: x.Detailed,
	}
	if step.URL != "" {
		u, _ := url.Parse(step.URL)
		in.Path = u.RequestURI()
	}
	if x.CancelAfter != record.None {
		in.CancelAfter = max(0, x.WriteEnd+x.CancelAfter-now)
	}
	in.Done = func(in *transport.Exchange) { st.answered(s, in) }
	st.mu.Lock()
	s.inner, s.timer = in, nil
	st.mu.Unlock()
	st.network.Start(in)
}

// ours tells whether an address is on a server that is measured.
func (st *stepper) ours(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	for _, t := range st.targets {
		if base, err := url.Parse(t); err == nil && base.Scheme == u.Scheme && base.Host == u.Host {
			return true
		}
	}
	return false
}

// fetch downloads from elsewhere: without the key and the header of the server
// that is measured.
func (st *stepper) fetch(s *steps, step endpoint.Step) {
	ctx, cancel := context.WithCancel(context.Background())
	if d := s.outer.Deadline; d != record.None {
		ctx, cancel = context.WithTimeout(context.Background(), time.Duration(d-st.now()))
	}
	defer cancel()
	st.mu.Lock()
	s.cancel, s.timer = cancel, nil
	st.mu.Unlock()
	n, err := download(ctx, step.URL)
	s.received += n
	s.outer.End = st.now()
	s.times.fetched = s.outer.End
	switch {
	case err == nil:
		st.end(s, record.OK, "", "")
	case errors.Is(err, context.Canceled):
		st.end(s, record.Cancelled, "cancelled", "")
	case errors.Is(err, context.DeadlineExceeded):
		st.end(s, record.Timeout, "timeout", "the download took longer than a request may")
	default:
		st.end(s, record.Client, "download", err.Error())
	}
}

func download(ctx context.Context, address string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	client := &http.Client{CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		return nil
	}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end, or given up
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("the download was answered with %s", resp.Status)
	}
	return n, err
}

// fail ends the request as its newest step ended.
func (st *stepper) fail(s *steps, x *transport.Exchange) {
	if out := s.outer; x != out {
		out.HTTPStatus, out.Reason, out.RetryAfter, out.CancelAsked, out.End = x.HTTPStatus, x.Reason, x.RetryAfter, x.CancelAsked, x.End
		s.last = append(s.last[:0], x.Payload...)
		status, kind, text := x.Status, x.ErrorKind, x.ErrorText
		st.network.Release(x)
		st.end(s, status, kind, text)
		return
	}
	st.end(s, x.Status, x.ErrorKind, x.ErrorText)
}

// end gives the exchange back, with the newest answer as its own.
func (st *stepper) end(s *steps, status record.Status, kind, text string) {
	st.mu.Lock()
	again := s.over
	s.over = true
	delete(st.under, s.outer)
	st.mu.Unlock()
	if again {
		return
	}
	x := s.outer
	if x.Status == record.OK && s.reply.Step != "" {
		if status == record.Cancelled || status == record.Timeout {
			x.End = st.now()
			if status == record.Cancelled {
				x.CancelAsked = x.End
			}
		}
		x.Payload = append(x.Payload[:0], s.last...)
		x.Events = append(x.Events[:0], transport.Event{End: int32(len(x.Payload)), At: x.End, Low: x.End})
		x.BytesReceived += s.received
	}
	x.Status, x.ErrorKind, x.ErrorText = status, kind, text
	if r, ok := x.User.(*request); ok {
		r.job = s.times
	}
	x.Done = s.done
	s.done(x)
}

// withoutContentType is a request's header for a step that sends nothing.
func withoutContentType(header []byte) []byte {
	var out []byte
	for line := range bytes.Lines(header) {
		if !bytes.HasPrefix(bytes.ToLower(line[:min(len(line), 13)]), []byte("content-type:")) {
			out = append(out, line...)
		}
	}
	return out
}
