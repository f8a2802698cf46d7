package importer

// SGLang's bench_serving appends a line for each run; its client in Rust writes the same
// members. Single requests stand in it with --output-details alone, without the moments
// when they were sent.

func knowsSGLang(h *head) bool {
	return h.json && h.has("backend", "dataset_name", "request_rate", "max_concurrency") && !h.has("model_id") &&
		(h.has("server_info") || h.has("total_output_tokens_retokenized"))
}

func readSGLang(path string, res *Result) error { return readLists(path, res) }
