package mockserver

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"sync/atomic"
)

// counts are the server's own books.
type counts struct {
	ok, failed, aborted, broken atomic.Int64 // requests by how they ended
	input, output               atomic.Int64 // tokens read; tokens in events and answers
	cached                      atomic.Int64 // input tokens that the cache held
	running, waiting            atomic.Int64 // the engine's sequences
}

// finished books one request.
func (c *counts) finished(x *exchange) {
	switch {
	case x.lost:
		c.aborted.Add(1)
	case x.status >= 300:
		c.failed.Add(1)
	case x.fate != fine:
		c.broken.Add(1)
	default:
		c.ok.Add(1)
	}
}

// Stats are the server's books, as /stats shows them.
type Stats struct {
	Requests     int64 `json:"requests"` // POSTs received
	OK           int64 `json:"ok"`
	Failed       int64 `json:"failed"`  // answered with an error status
	Broken       int64 `json:"broken"`  // spoilt on purpose under status 200
	Aborted      int64 `json:"aborted"` // the client went away
	InputTokens  int64 `json:"input_tokens"`
	CachedTokens int64 `json:"cached_tokens"` // of the input, found in the prefix cache
	OutputTokens int64 `json:"output_tokens"`
	Running      int64 `json:"running"`
	Waiting      int64 `json:"waiting"`
}

// Stats reads the books.
func (s *Server) Stats() Stats {
	c := &s.counts
	return Stats{
		Requests: s.levels.count(), OK: c.ok.Load(), Failed: c.failed.Load(),
		Broken: c.broken.Load(), Aborted: c.aborted.Load(),
		InputTokens: c.input.Load(), CachedTokens: c.cached.Load(), OutputTokens: c.output.Load(),
		Running: c.running.Load(), Waiting: c.waiting.Load(),
	}
}

// page answers a GET.
func (s *Server) page(req *http.Request) []byte {
	if req.Method != http.MethodGet {
		return failure(http.StatusMethodNotAllowed, "want GET or POST", "invalid_request_error", 0)
	}
	b := s.exposition(req.URL.Path)
	if b == nil {
		b = s.gpuPage(req.URL.Path)
	}
	if b != nil {
		return response(200, "text/plain; version=0.0.4; charset=utf-8", nil, b)
	}
	switch req.URL.Path {
	case "/health", "/v1/health/ready", "/health/ready":
		if left := s.cfg.Ready - s.asked(s.now()); left > 0 {
			return failure(http.StatusServiceUnavailable, "the model is being loaded", "not_ready", left)
		}
		return response(200, "application/json", nil, []byte(`{"status":"ok"}`))
	case "/v1/models", "/models":
		if left := s.cfg.ModelsReady - s.asked(s.now()); left > 0 {
			return failure(http.StatusServiceUnavailable, "the models are being loaded", "not_ready", left)
		}
		return response(200, "application/json", nil, s.modelList())
	case "/stats":
		b, err := json.Marshal(s.Stats())
		if err != nil {
			panic(err) // integers only
		}
		return response(200, "application/json", nil, b)
	}
	return failure(http.StatusNotFound, "no such path: "+req.URL.Path, "invalid_request_error", 0)
}

// slow takes {"factor": F} and makes all times that begin from now on F times as
// long as they are set: a server that changes its state when it is told to.
func (s *Server) slow(body []byte) []byte {
	var asked struct {
		Factor float64 `json:"factor"`
	}
	if err := json.Unmarshal(body, &asked); err != nil || !(asked.Factor > 0) || asked.Factor > slowest {
		return failure(http.StatusBadRequest, fmt.Sprintf("want {\"factor\": F}, F above 0 and up to %d", slowest),
			"invalid_request_error", 0)
	}
	s.factor.Store(math.Float64bits(asked.Factor))
	return response(200, "application/json", nil, fmt.Appendf(nil, `{"factor":%g}`, asked.Factor))
}

// slowest is the largest factor on times that is taken.
const slowest = 1000

func (s *Server) modelList() []byte {
	b := []byte(`{"object":"list","data":[`)
	for i, m := range s.models() {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"id":%s,"object":"model","created":%d,"owned_by":"aiperf"}`, quote(m), s.created)
	}
	return append(b, "]}"...)
}
