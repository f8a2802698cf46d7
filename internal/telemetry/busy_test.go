package telemetry

import "testing"

// A server is busy by the requests that it works on and those that wait, in its own words;
// a page without them does not tell.
func TestBusy(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]struct {
		n     float64
		known bool
	}{
		"vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_running{engine=\"1\"} 1\nvllm:num_requests_waiting 2\n":                                                     {6, true},
		"llamacpp:requests_processing 0\nllamacpp:requests_deferred 0\n":                                                                                                          {0, true},
		"nv_trt_llm_request_metrics{request_type=\"scheduled\"} 2\nnv_trt_llm_request_metrics{request_type=\"waiting\"} 0\nnv_trt_llm_request_metrics{request_type=\"max\"} 64\n": {2, true},
		"vllm:num_requests_running NaN\n": {0, false},
		"process_open_fds 7\n":            {0, false},
		// what stands in front of an engine repeats what the engine says
		"dynamo_frontend_inflight_requests 4\nvllm:num_requests_running 4\n": {4, true},
	} {
		p, err := Parse([]byte(page))
		if err != nil {
			t.Fatalf("%q: %v", page, err)
		}
		if n, known := Busy(p); n != want.n || known != want.known {
			t.Errorf("%q: %g, %v; want %g, %v", page, n, known, want.n, want.known)
		}
	}
}
