package loadgen

import (
	"context"
	"strings"
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
		x.Payload, x.Size = nil, x.BytesReceived
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
		*x = transport.Exchange{Path: "/v1/videos", Header: []byte("Content-Type: multipart/form-data\r\nX-Key: k\r\n"), Deadline: record.None, CancelAfter: record.None, User: r}
		x.Done = func(*transport.Exchange) { close(over) }
		if change != nil {
			change(x)
		}
		newStepper(c, &spec, []string{"http://server:1"}, func() int64 { return 1000 }).Start(x)
		select {
		case <-over:
		case <-time.After(20 * time.Second):
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
	c := &scripted{answers: []string{`{"id":"v1","status":"queued"}`, `{"id":"v1","status":"queued"}`, `{"id":"v1","status":"in_progress"}`, `{"id":"v1","status":"completed"}`}}
	x, job := run(c, nil)
	if x.Status != record.OK || x.Sent != 0 || x.End != 35 || string(x.Payload) != c.answers[3] || len(x.Events) != 1 || x.Events[0].At != 35 {
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
		{"an id that leaves the path", []string{`{"id":"../../admin","status":"queued"}`}, nil, record.ParseError, "cannot stand in a path"},
		{"no job at all", []string{`<html>`}, nil, record.ParseError, ""},
		{"a poll that never ends", []string{`{"id":"v","status":"queued"}`}, func(x *transport.Exchange) { x.Deadline = 500 }, record.Timeout, "in the time a request has"},
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
	step, err := open.Next(endpoint.Reply{Submitted: "/v1/videos", Body: []byte(`{"id":"v","status":"completed","url":"http://server:1/files/v.mp4?sig=1"}`)})
	if err != nil || !step.Binary || step.URL == "" {
		t.Fatalf("step %+v, %v", step, err)
	}
	st := &stepper{targets: []string{"http://server:1"}}
	if !st.ours(step.URL) || st.ours("http://elsewhere/files/v.mp4") || st.ours("https://server:1/v.mp4") {
		t.Error("the measured server is not told from others")
	}
}
