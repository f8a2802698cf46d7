package importer

import (
	"math"
	"path/filepath"
)

// genai-bench writes a file for each scenario and load: aggregates and single requests,
// in seconds or, from 0.0.3 on, in the unit that the file names.

func knowsGenAIBench(h *head) bool {
	return h.json && h.has("aggregated_metrics.scenario", "aggregated_metrics.stats")
}

func readGenAIBench(path string, res *Result) error {
	doc, err := document(path, func(at string) bool { return at == "individual_request_metrics" })
	if err != nil {
		return err
	}
	run, all := Run{Closed: true}, branch(doc, "aggregated_metrics")
	ms := 1000.0
	if words(doc["_time_unit"]) == "ms" {
		ms = 1
	}
	of, _ := all.(map[string]any)
	for _, name := range sortedKeys(of) {
		if v, ok := of[name].(float64); ok {
			run.spread("aggregated_metrics."+name, name, v, 1)
		}
	}
	stats, _ := branch(all, "stats").(map[string]any)
	for _, name := range sortedKeys(stats) {
		scale := 1.0
		switch name {
		case "ttft", "tpot", "e2e_latency", "output_latency":
			scale = ms
		}
		run.spread("aggregated_metrics.stats."+name, name, stats[name], scale)
	}
	run.OK, run.Failed = whole(of["num_completed_requests"]), whole(of["num_error_requests"])
	run.load(of["num_concurrency"], nil, nil)
	run.set("scenario", words(of["scenario"]))
	askedOfGenAIBench(&run, filepath.Join(filepath.Dir(path), "experiment_metadata.json"))
	run.failsWithout()
	run.Each = func(take func(*Request) error) error {
		return eachAt(path, []string{"individual_request_metrics"}, 0, func(v any) error {
			get := func(name string) float64 { return asFloat(branch(v, name)) }
			none := math.NaN()
			r := &Request{
				Intended: none, Sent: none, End: none, TTFT: ms * get("ttft"), ITL: ms * get("tpot"),
				Latency: ms * get("e2e_latency"), ISL: get("num_input_tokens"), OSL: get("num_output_tokens"),
				UsagePrompt: none, Status: "ok",
			}
			if code := number64(branch(v, "error_code")); code != "" {
				r.Status, r.ErrorKind, r.ErrorMessage = "error", code, lastLine(words(branch(v, "error_message")))
				r.TTFT, r.ITL, r.Latency = none, none, none
			}
			return take(r)
		})
	}
	res.Runs = append(res.Runs, run)
	return nil
}

// askedOfGenAIBench takes what was asked for out of the file that the tool puts beside its figures.
// It ends by the clock or after about as many requests as it was told, so that how many were
// made is no setting. A file that is not there says nothing.
func askedOfGenAIBench(run *Run, path string) {
	doc, err := document(path, func(string) bool { return false })
	if err != nil {
		return
	}
	run.Version, run.Model = words(doc["benchmark_version"]), words(doc["api_model_name"])
	for _, name := range []string{"max_requests_per_run", "max_time_per_run_s"} {
		run.set(name, number64(doc[name]))
	}
	run.set("task", words(doc["task"]))
}
