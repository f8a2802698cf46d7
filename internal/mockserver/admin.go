package mockserver

import "net/http"

// administer answers the calls that people make beside requests: at the paths of the
// server whose words /metrics is in. nil where the path is none of them.
func (s *Server) administer(path string) []byte {
	resets := map[Speech]string{SpeaksVLLM: "/reset_prefix_cache", SpeaksSGLang: "/flush_cache"}[s.cfg.Metrics]
	switch path {
	case "/reset_prefix_cache", "/flush_cache":
		if path == resets {
			s.sched.forget.Store(true)
			return response(200, "application/json", nil, []byte("{}"))
		}
	case "/start_profile":
		if resets != "" && s.profiling.CompareAndSwap(false, true) {
			return response(200, "application/json", nil, []byte("{}"))
		}
	case "/stop_profile":
		if resets != "" && s.profiling.CompareAndSwap(true, false) {
			return response(200, "application/json", nil, []byte("{}"))
		}
	default:
		return nil
	}
	if resets != "" && (path == "/start_profile" || path == "/stop_profile") {
		return failure(http.StatusInternalServerError, "profiling is not in that state", "internal_error", 0)
	}
	return failure(http.StatusNotFound, "no such path: "+path, "invalid_request_error", 0)
}
