package mockserver

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
)

// jobs are what is made after its request was answered: videos. A job waits
// for the time to a first token, is worked on for that of all tokens, and can
// be fetched then.
type jobs struct {
	mu   sync.Mutex
	byID map[string]*job
}

// job is one of them. Times are ns on the server's clock.
type job struct {
	model       string
	begins, end int64
	bytes       int
	polls       int64
}

// bytesPerToken is the size of a video per output token of its request.
const bytesPerToken = 1024

// maxJobs bounds how many are remembered.
const maxJobs = 1 << 16

// add begins the job that x asks for. It belongs to the scheduler.
func (j *jobs) add(x *exchange) {
	s := x.conn.server
	c := &s.cfg
	n := c.length(x.rng)
	each := c.ITL
	if c.Step > 0 {
		each = c.Step
	}
	one := &job{model: x.call.Model, bytes: n * bytesPerToken}
	if c.Media > 0 {
		one.bytes = c.Media << 10
	}
	one.begins = x.recv + s.sched.took(x, c.TTFT, c.TTFTSpread, x.recv)
	one.end = one.begins
	for range n {
		one.end += s.sched.took(x, each, c.ITLSpread, one.end)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.byID == nil || len(j.byID) >= maxJobs {
		j.byID = map[string]*job{}
	}
	j.byID[x.id] = one
}

// page answers a GET about a job: how it stands, or its content. It is nil
// for other paths.
func (j *jobs) page(s *Server, at *url.URL) []byte {
	rest, ok := strings.CutPrefix(at.Path, "/v1/videos/")
	if !ok {
		return nil
	}
	id, content := strings.CutSuffix(rest, "/content")
	hop, _ := strconv.Atoi(at.Query().Get("hop")) // 0 for the first
	j.mu.Lock()
	defer j.mu.Unlock()
	one := j.byID[id]
	now := s.now()
	switch {
	case one == nil:
		return failure(http.StatusNotFound, "no such video: "+id, "invalid_request_error", 0)
	case content && now < one.end:
		return failure(http.StatusConflict, "the video is not ready", "invalid_request_error", 0)
	case content && hop < s.cfg.Redirects:
		return response(http.StatusFound, "text/plain", []string{fmt.Sprintf("Location: content?hop=%d", hop+1)}, nil)
	case content:
		return response(200, "video/mp4", nil, bytes.Repeat([]byte("aiperf\x00\x01"), one.bytes/8))
	}
	one.polls++
	status, progress := "completed", 100
	switch {
	case now < one.begins:
		status, progress = "queued", 0
	case now < one.end:
		status, progress = "in_progress", int(100*(now-one.begins)/max(1, one.end-one.begins))
	}
	b := fmt.Appendf(nil, `{"id":%s,"object":"video","model":%s,"status":"%s","progress":%d,"created_at":%d`, quote(id),
		quote(one.model), status, progress, s.created)
	if status == "completed" { // as SGLang says it; of memory it has none to tell
		b = fmt.Appendf(b, `,"inference_time_s":%.6f`, float64(one.end-one.begins)/1e9)
	}
	return response(200, "application/json", nil, append(b, '}'))
}
