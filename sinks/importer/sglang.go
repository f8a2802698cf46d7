package importer

import "aiperf.dev/aiperf/internal/metrics"

// SGLang's bench_serving appends a line for each run; its client in Rust writes the same
// members. Single requests stand in it with --output-details alone, without the moments
// when they were sent.

func knowsSGLang(h *head) bool {
	return h.json && h.has("backend", "dataset_name", "request_rate", "max_concurrency") && !h.has("model_id") &&
		(h.has("server_info") || h.has("total_output_tokens_retokenized"))
}

// readSGLang: its latency ends with the end mark, that of its single requests, which is the sum
// of their times between texts, with the last text: that does not come out again.
func readSGLang(path string, res *Result) error {
	before := len(res.Runs)
	err := readLists(path, res)
	for i := range res.Runs[before:] {
		res.Runs[before+i].rebuilt = []string{metrics.RequestLatency, metrics.InterTokenLatency}
	}
	return err
}
