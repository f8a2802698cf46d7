package loadgen

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
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
	step         endpoint.Step // the newest that was asked for
	over         bool
	times        jobTimes
	last         []byte // the newest answer about the job
	received     int64
	at           string // where the step under way went, if it is a download
	hops         int    // redirects of it that were followed
	media        int64  // size and digest of what was fetched
	mediaSHA     string
}

// jobTimes are when a job was seen to begin and to end, and when it had been
// fetched: ns since T0, record.None for what did not happen.
type jobTimes struct{ begun, made, fetched int64 }

// maxRedirects bounds how far a download is followed.
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
		// Done is never called from within Cancel; the scheduler waits for it
		go st.end(s, record.Cancelled, "cancelled", "")
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
		if x.SizeOnly && x.Location != "" && isRedirect(x.HTTPStatus) {
			st.redirect(s, x)
			return
		}
		st.fail(s, x)
		return
	}
	if x.SizeOnly {
		if text := noFilm(x.ContentType, x.Media); text != "" {
			s.outer.End = x.End
			st.network.Release(x)
			st.end(s, record.ParseError, "download", text)
			return
		}
		s.times.fetched, s.media, s.mediaSHA = x.End, x.Media, x.MediaSHA
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

// noFilm says what is wrong with what was downloaded, by its type and size; ""
// for nothing. A server that does not know a type says text/plain or nothing.
func noFilm(contentType string, size int64) string {
	media, _, _ := strings.Cut(contentType, ";")
	switch media = strings.ToLower(strings.TrimSpace(media)); {
	case size == 0:
		return "the downloaded video is empty"
	case media == "text/html", media == "application/json", strings.HasSuffix(media, "/xml"),
		strings.HasSuffix(media, "+xml"):
		return "the download is not a video but " + media
	}
	return ""
}

// after waits for a step's time.
func (st *stepper) after(s *steps, step endpoint.Step) {
	s.reply.Step, s.step = step.Name, step
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
		st.end(s, record.Timeout, "timeout", s.late())
		return
	}
	in := &transport.Exchange{
		Method: http.MethodGet, Target: x.Target, Path: step.Path, Header: withoutContentType(x.Header),
		Affinity: x.Affinity,
		Deadline: x.Deadline, CancelAfter: record.None, SizeOnly: step.Binary, Detailed: x.Detailed,
	}
	if s.at = step.URL; step.URL == "" {
		s.at = transport.PlainURL(st.targets[x.Target], step.Path)
	} else if in.Target = st.target(step.URL, x.Target); in.Target < 0 {
		st.fetch(s, step)
		return
	} else {
		u, _ := url.Parse(step.URL)
		in.Path, in.Root = u.RequestURI(), true
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

// target is the measured server that an address is on, mine if it is on that
// one, −1 for none.
func (st *stepper) target(address string, mine int) int {
	if sameOrigin(address, st.targets[mine]) {
		return mine
	}
	return slices.IndexFunc(st.targets, func(t string) bool { return sameOrigin(address, t) })
}

// sameOrigin reports whether two addresses are on one server: scheme, host, port.
func sameOrigin(a, b string) bool {
	u, err1 := url.Parse(a)
	v, err2 := url.Parse(b)
	return err1 == nil && err2 == nil && u.Scheme == v.Scheme && strings.EqualFold(u.Hostname(), v.Hostname()) &&
		portOf(u) == portOf(v)
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

func isRedirect(status int64) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return true
	}
	return false
}

// redirect goes on with a download where the answer x to it leads.
func (st *stepper) redirect(s *steps, x *transport.Exchange) {
	from, where := s.at, x.Location
	s.outer.End = x.End
	st.network.Release(x)
	to, err := leads(from, where, s.hops)
	if err != nil {
		st.end(s, record.ParseError, "redirect", "the download: "+err.Error())
		return
	}
	s.hops++
	st.after(s, endpoint.Step{Name: s.reply.Step, URL: to, Binary: true})
}

// leads is where a redirect from an address leads, after so many others. What
// came encrypted goes on so.
func leads(from, location string, hops int) (string, error) {
	base, err := url.Parse(from)
	if err != nil {
		return "", err
	}
	to, err := base.Parse(location)
	switch {
	case err != nil:
		return "", fmt.Errorf("redirected to something that is not an address: %.80q", location)
	case hops >= maxRedirects:
		return "", fmt.Errorf("redirected more than %d times", maxRedirects)
	case to.Scheme != "http" && to.Scheme != "https" || to.Host == "":
		return "", fmt.Errorf("redirected to %.80q, which is not an HTTP address", location)
	case base.Scheme == "https" && to.Scheme == "http":
		return "", fmt.Errorf("redirected from https to http://%s, which is not followed", to.Host)
	}
	to.Fragment, to.User = "", nil
	return to.String(), nil
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
	got, err := download(ctx, step.URL, s.hops)
	s.received += got.size
	s.media, s.mediaSHA = got.size, got.sha
	s.outer.End = st.now()
	s.times.fetched = s.outer.End
	switch {
	case err == nil && noFilm(got.contentType, got.size) != "":
		st.end(s, record.ParseError, "download", noFilm(got.contentType, got.size))
	case err == nil:
		st.end(s, record.OK, "", "")
	case errors.Is(err, context.Canceled):
		st.end(s, record.Cancelled, "cancelled", "")
	case errors.Is(err, context.DeadlineExceeded):
		st.end(s, record.Timeout, "timeout", "the download took longer than a request may")
	case got.status != 0:
		s.outer.HTTPStatus, s.last = int64(got.status), nil // what was said about the job is not why
		st.end(s, record.HTTPError, "download", err.Error())
	default:
		st.end(s, record.Connection, "download", err.Error())
	}
}

// downloaded is what came of a download: a status only where it is the reason
// of the failure.
type downloaded struct {
	size             int64
	sha, contentType string
	status           int
}

func download(ctx context.Context, address string, hops int) (downloaded, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return downloaded{}, err
	}
	client := &http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {
		_, err := leads(via[len(via)-1].URL.String(), r.URL.String(), hops+len(via)-1)
		r.Header.Del("Referer") // its address may be a secret
		return err
	}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return downloaded{}, fmt.Errorf("the download from %s: %w", req.URL.Host, unwrapURL(err))
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end, or given up
	if resp.StatusCode/100 != 2 {
		return downloaded{status: resp.StatusCode}, fmt.Errorf("the download from %s was answered with %s",
			req.URL.Host, resp.Status)
	}
	digest := sha256.New()
	n, err := io.Copy(digest, resp.Body)
	return downloaded{
		size: n, sha: hex.EncodeToString(digest.Sum(nil)[:8]),
		contentType: resp.Header.Get("Content-Type"),
	}, err
}

// unwrapURL is the reason of a url.Error without the address, which may be
// signed.
func unwrapURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// fail ends the request as its newest step ended.
func (st *stepper) fail(s *steps, x *transport.Exchange) {
	if out := s.outer; x != out {
		out.HTTPStatus, out.Reason, out.RetryAfter, out.CancelAsked, out.End = x.HTTPStatus, x.Reason, x.RetryAfter,
			x.CancelAsked, x.End
		s.last = append(s.last[:0], x.Payload...)
		status, kind, text := x.Status, x.ErrorKind, x.ErrorText
		st.network.Release(x)
		if status == record.Timeout && !s.step.Binary {
			text = s.late()
		}
		st.end(s, status, kind, text)
		return
	}
	st.end(s, x.Status, x.ErrorKind, x.ErrorText)
}

// late says that the time was up, where the job was asked for and how it stood.
func (s *steps) late() string {
	return fmt.Sprintf("the job was not done in the time a request has (--request-timeout-seconds): the status at %s is %.40q",
		s.step.Path, s.step.Status)
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
		x.Media, x.MediaSHA = s.media, s.mediaSHA
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
