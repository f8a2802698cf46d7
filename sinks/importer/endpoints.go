package importer

// mlcommons' endpoints writes a summary in ns: result_summary.json, which submissions call
// results_summary.json. Single requests lie in its log of events, which is not read.

func knowsEndpoints(h *head) bool {
	return h.json && h.has("n_samples_issued", "n_samples_completed", "duration_ns")
}

func readEndpoints(path string, res *Result) error {
	doc, err := document(path, func(string) bool { return false })
	if err != nil {
		return err
	}
	run := Run{Label: baseLabel, Version: words(doc["version"])}
	for _, name := range sortedKeys(doc) {
		scale := 1.0
		switch name {
		case "ttft", "tpot", "latency":
			scale = 1e-6
		}
		switch doc[name].(type) {
		case float64, map[string]any:
			if name != "run_config" {
				run.spread(name, name, doc[name], scale)
			}
		}
	}
	run.OK, run.Failed = whole(doc["n_samples_completed"]), whole(doc["n_samples_failed"])
	if c := branch(doc, "run_config", "settings", "load_pattern", "target_concurrency"); c != nil {
		run.load(c, nil, nil)
	}
	run.failsWithout()
	res.Runs = append(res.Runs, run)
	return nil
}
