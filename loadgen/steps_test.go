package loadgen

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// scripted answers the n-th request with the n-th body, at time 10·n.
type scripted struct {
	answers []string
	asked   []string
}

func (c *scripted) Start(x *transport.Exchange) {
	n := len(c.asked)
	c.asked = append(c.asked, x.Method+" "+x.Path+" "+string(x.Header))
	x.Status, x.HTTPStatus, x.Sent, x.WriteEnd, x.End = record.OK, 200, int64(10*n), int64(10*n), int64(10*n+5)
	x.Payload, x.BytesReceived = []byte(c.answers[n]), int64(len(c.answers[n]))
	if x.SizeOnly {
		x.Payload, x.Media = nil, x.BytesReceived
	}
	go x.Done(x)
}

func (*scripted) Cancel(*transport.Exchange)         {}
func (*scripted) Release(x *transport.Exchange)      { x.Payload = nil }
func (*scripted) Forget(string)                      {}
func (*scripted) Predial(context.Context, int) error { return nil }

type jobRunner func(c *scripted, change func(*transport.Exchange)) (*transport.Exchange, jobTimes)

func videoSpec(t *testing.T) (*endpoint.Spec, jobRunner) {
	t.Helper()
	row, ok := endpoint.Lookup("video_generation")
	if !ok {
		t.Fatal("no video_generation")
	}
	spec := *row
	next := spec.Next
	spec.Next = func(r endpoint.Reply) (endpoint.Step, error) { // as fast as can be
		s, err := next(r)
		s.After = 0
		return s, err
	}
	return &spec, func(c *scripted, change func(*transport.Exchange)) (*transport.Exchange, jobTimes) {
		over := make(chan struct{})
		r := &request{}
		x := &r.x
		*x = transport.Exchange{
			Path: "/v1/videos", Header: []byte("Content-Type: multipart/form-data\r\nX-Key: k\r\n"),
			Deadline: record.None, CancelAfter: record.None, User: r,
		}
		x.Done = func(*transport.Exchange) { close(over) }
		if change != nil {
			change(x)
		}
		newStepper(c, &spec, []string{"http://server:1"}, func() int64 { return 1000 }).Start(x)
		select {
		case <-over:
		case <-time.After(2 * time.Minute):
			t.Fatal("the request does not end")
		}
		return x, r.job
	}
}

// A job is submitted, asked for until it is done, and fetched from where the
// server says; the request lasts from the first step to the last.
func TestStepsOfAJob(t *testing.T) {
	t.Parallel()
	spec, run := videoSpec(t)
	c := &scripted{answers: []string{
		`{"id":"v1","status":"queued"}`, `{"id":"v1","status":"queued"}`,
		`{"id":"v1","status":"in_progress"}`, `{"id":"v1","status":"completed"}`,
	}}
	x, job := run(c, nil)
	if x.Status != record.OK || x.Sent != 0 || x.End != 35 || string(x.Payload) != c.answers[3] || len(x.Events) != 1 ||
		x.Events[0].At != 35 {
		t.Errorf("ended %s, sent %d, over %d, answer %s, events %+v", x.Status, x.Sent, x.End, x.Payload, x.Events)
	}
	if want := "GET /v1/videos/v1 X-Key: k\r\n"; len(c.asked) != 4 || c.asked[1] != want {
		t.Errorf("asked %q, want three times %q after the first", c.asked, want)
	}
	if job != (jobTimes{begun: 25, made: 35, fetched: record.None}) {
		t.Errorf("times of the job %+v", job)
	}
	var a answer
	readAnswer(&a, x, spec)
	if status, kind, text := a.verdict(x, spec); status != record.OK {
		t.Errorf("verdict %s %s %s", status, kind, text)
	}
}

func TestStepsThatFail(t *testing.T) {
	t.Parallel()
	spec, run := videoSpec(t)
	for _, c := range []struct {
		name    string
		answers []string
		change  func(*transport.Exchange)
		status  record.Status
		text    string
	}{
		{"the job fails", []string{`{"id":"v","status":"queued"}`, `{"id":"v","status":"failed","error":{"message":"out of memory"}}`}, nil, record.ParseError, "out of memory"},
		{"no id", []string{`{"status":"queued"}`}, nil, record.ParseError, "no id"},
		{"an id that leaves the path", []string{`{"id":"../../admin","status":"queued"}`}, nil, record.ParseError, "cannot be part of a path"},
		{"no job at all", []string{`<html>`}, nil, record.ParseError, ""},
		{"a poll that never ends", []string{`{"id":"v","status":"queued"}`}, func(x *transport.Exchange) { x.Deadline = 500 }, record.Timeout, `in the time a request has (--request-timeout-seconds): the status at /v1/videos/v is "queued"`},
	} {
		s := &scripted{answers: c.answers}
		x, _ := run(s, c.change)
		status, text := x.Status, x.ErrorText
		if status == record.OK {
			var a answer
			readAnswer(&a, x, spec)
			status, _, text = a.verdict(x, spec)
		}
		if status != c.status || !strings.Contains(text, c.text) || len(s.asked) != len(c.answers) {
			t.Errorf("%s: %s %q after %d steps; want %s …%s…", c.name, status, text, len(s.asked), c.status, c.text)
		}
	}
}

// A download goes to the measured server with its header, and nothing of the
// header goes elsewhere.
func TestDownloadFromTheServerItself(t *testing.T) {
	t.Parallel()
	row, _ := endpoint.Lookup("video_generation")
	open, err := endpoint.Open(&schema.Endpoint{Type: "video_generation", DownloadVideoContent: true})
	if err != nil || row == open {
		t.Fatal(err)
	}
	step, err := open.Next(endpoint.Reply{
		Submitted: "/v1/videos",
		Body:      []byte(`{"id":"v","status":"completed","url":"http://server:1/files/v.mp4?sig=1"}`),
	})
	if err != nil || !step.Binary || step.URL == "" {
		t.Fatalf("step %+v, %v", step, err)
	}
	st := &stepper{targets: []string{"http://other", "http://server:1"}}
	for address, want := range map[string]int{
		step.URL: 1, "http://elsewhere/files/v.mp4": -1,
		"https://server:1/v.mp4": -1, "http://OTHER:80/v.mp4": 0,
	} {
		if got := st.target(address, 0); got != want {
			t.Errorf("%s is on server %d, want %d", address, got, want)
		}
	}
}

// A download is followed where it is redirected to: with the key on the same
// server, without it anywhere else, and never from https to http.
func TestDownloadIsRedirected(t *testing.T) {
	t.Parallel()
	const film = "a film of some bytes"
	var elsewhereHeader http.Header
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/on" {
			http.Redirect(w, r, "/film", http.StatusTemporaryRedirect)
			return
		}
		if r.URL.Path == "/none" {
			http.NotFound(w, r)
			return
		}
		elsewhereHeader = r.Header
		if r.URL.Path == "/page" {
			_, _ = io.WriteString(w, "<html>log in")
			return
		}
		_, _ = io.WriteString(w, film)
	}))
	defer elsewhere.Close()
	var mu sync.Mutex
	keys := map[string]string{}
	var where string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		keys[r.URL.Path] = r.Header.Get("X-Key")
		switch r.URL.Path {
		case "/base/v1/videos", "/base/v1/videos/v":
			_, _ = io.WriteString(w, `{"id":"v","status":"completed"}`)
		case "/base/v1/videos/v/content":
			w.Header().Set("Location", where)
			w.WriteHeader(http.StatusFound)
		case "/files/v.mp4":
			_, _ = io.WriteString(w, film)
		case "/files/page":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<html>log in")
		case "/files/empty.mp4":
			w.Header().Set("Content-Type", "video/mp4")
		default:
			http.Redirect(w, r, r.URL.Path, http.StatusFound) // for ever
		}
	}))
	defer server.Close()
	spec, err := endpoint.Open(&schema.Endpoint{Type: "video_generation", DownloadVideoContent: true})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(film))
	for _, c := range []struct {
		name, where string
		status      record.Status
		text        string
	}{
		{"the same server", "/files/v.mp4", record.OK, ""},
		{"the same server, in full", server.URL + "/files/v.mp4?sig=1#top", record.OK, ""},
		{"elsewhere", elsewhere.URL + "/film", record.OK, ""},
		{"elsewhere and on", elsewhere.URL + "/on", record.OK, ""},
		{"for ever", "/loop", record.ParseError, "redirected more than 5 times"},
		{"elsewhere, where nothing is", elsewhere.URL + "/none", record.HTTPError, "was answered with 404 Not Found"},
		{"an empty file", "/files/empty.mp4", record.ParseError, "the downloaded video is empty"},
		{"a page", "/files/page", record.ParseError, "the download is not a video but text/html"},
		{"a page elsewhere", elsewhere.URL + "/page", record.ParseError, "the download is not a video but text/html"},
		{"to no HTTP", "file:///etc/passwd", record.ParseError, "which is not an HTTP address"},
	} {
		mu.Lock()
		where = c.where
		clear(keys)
		elsewhereHeader = nil
		mu.Unlock()
		clock := record.NewClock()
		client, err := transport.Open(transport.Config{Targets: []string{server.URL + "/base"}, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		over := make(chan struct{})
		r := &request{}
		x := &r.x
		*x = transport.Exchange{
			Path: "/v1/videos", Header: []byte("X-Key: k\r\n"),
			Deadline: record.None, CancelAfter: record.None, User: r,
		}
		x.Done = func(*transport.Exchange) { close(over) }
		newStepper(client, spec, []string{server.URL + "/base"}, clock.Now).Start(x)
		<-over
		if x.Status != c.status || !strings.Contains(x.ErrorText, c.text) {
			t.Errorf("%s: %s %s; want %s …%s…", c.name, x.Status, x.ErrorText, c.status, c.text)
		}
		if c.status == record.OK && (x.Media != int64(len(film)) || x.MediaSHA != hex.EncodeToString(sum[:8]) ||
			r.job.fetched < r.job.made) {
			t.Errorf("%s: %d bytes, digest %s, times %+v", c.name, x.Media, x.MediaSHA, r.job)
		}
		mu.Lock()
		if strings.HasPrefix(c.name, "the same") && keys["/files/v.mp4"] != "k" || elsewhereHeader.Get("X-Key") != "" ||
			elsewhereHeader.Get("Referer") != "" {
			t.Errorf("%s: keys %v, elsewhere %v", c.name, keys, elsewhereHeader)
		}
		mu.Unlock()
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWhereARedirectLeads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, location string
		hops           int
		want, err      string
	}{
		{"https://a/v1/videos/v/content", "../file?x=1#y", 0, "https://a/v1/videos/file?x=1", ""},
		{"https://a/x", "//b:8/y", 4, "https://b:8/y", ""},
		{"http://a/x", "https://b/y", 0, "https://b/y", ""},
		{"http://a/x", "http://user:word@b/y", 0, "http://b/y", ""},
		{"https://a/x", "http://a/y", 0, "", "redirected from https to http://a, which is not followed"},
		{"http://a/x", "/y", 5, "", "redirected more than 5 times"},
		{"http://a/x", "http://[::1", 0, "", "redirected to something that is not an address"},
	} {
		got, err := leads(c.from, c.location, c.hops)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%s redirected to %s: %q, %v; want %q, %s", c.from, c.location, got, err, c.want, c.err)
		}
	}
}
