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
	run.Failed = whole(doc["n_samples_failed"])
	run.OK = max(0, whole(doc["n_samples_completed"])-run.Failed) // those that failed are completed, too
	if run.Failed == 0 {
		run.told = []Setting{{"n_samples_failed", "0"}}
	}
	pattern := branch(doc, "run_config", "load_pattern")
	if c, rate := branch(pattern, "target_concurrency"), branch(pattern, "target_qps"); c != nil || rate != nil {
		run.load(c, rate, nil)
	}
	run.set("phases.0.requests", number64(doc["n_samples_issued"]))
	run.failsWithout()
	res.Runs = append(res.Runs, run)
	return nil
}
