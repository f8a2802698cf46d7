package importer

import (
	"math"
	"path/filepath"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
)

// guidellm writes one report with a benchmark for each load, each with its requests by how
// they ended. Its percentiles are values that occurred, not interpolated ones.

func knowsGuideLLM(h *head) bool {
	return h.json && (h.has("metadata.guidellm_version") || h.names["benchmarks.type_"] == "generative_benchmark")
}

// newestGuideLLM is the newest form of its report that is known here.
const newestGuideLLM = 2

func readGuideLLM(path string, res *Result) error {
	doc, err := document(path, func(at string) bool { return at == "benchmarks.requests" })
	if err != nil {
		return err
	}
	version := words(branch(doc, "metadata", "guidellm_version"))
	if form := asFloat(branch(doc, "metadata", "version")); form > newestGuideLLM {
		res.note("report version %g is newer than those that are known here, up to %d: what it added is left out", form,
			newestGuideLLM)
	}
	list, _ := doc["benchmarks"].([]any)
	for i, b := range list {
		run := Run{Version: version, Closed: true}
		totals := branch(b, "metrics", "request_totals")
		run.OK, run.Failed = whole(branch(totals, "successful")), whole(branch(totals, "errored"))
		of, _ := branch(b, "metrics").(map[string]any)
		for _, name := range sortedKeys(of) {
			run.spread("metrics."+name+".successful", name, branch(of[name], "successful"), 1)
		}
		if lengths := branch(of["output_token_count"], "successful"); asFloat(branch(lengths, "min")) ==
			asFloat(branch(lengths, "max")) {
			run.told = []Setting{{"output_length", "constant"}}
		} else { // it counts a request as often as it has times between tokens
			run.rebuilt = []string{metrics.InterTokenLatency}
		}
		run.spread("duration", "duration", branch(b, "duration"), 1)
		run.spread("metrics.request_totals.successful", "successful", branch(totals, "successful"), 1)
		run.spread("metrics.request_totals.errored", "errored", branch(totals, "errored"), 1)
		run.set("endpoint.type", chatOrCompletions(words(branch(doc, "config", "spec", "backend", "request_format"))))
		run.Model = words(branch(doc, "config", "spec", "backend", "model"))
		strategy := branch(b, "config", "strategy")
		var streams, rate any
		switch kind := words(branch(strategy, "type_")); kind {
		case "synchronous":
			streams = 1.0
		case "concurrent":
			streams = branch(strategy, "streams")
		case "constant", "async", "poisson":
			rate = branch(strategy, "rate")
		}
		run.load(streams, rate, nil)
		run.set("phases.0.requests", number64(branch(b, "config", "constraints", "max_requests", "args", "count")))
		run.set("data", dataOfGuideLLM(branch(doc, "config", "spec", "data")))
		if at := asFloat(branch(b, "start_time")); at > 0 {
			run.Began = secondsSince1970(at)
		}
		run.failsWithout()
		run.Each = func(take func(*Request) error) error { return eachGuideLLM(path, i, take) }
		res.Runs = append(res.Runs, run)
	}
	return nil
}

// dataOfGuideLLM is what its requests were made of, as its option --data says it, without what
// was not set and without the folders of files.
func dataOfGuideLLM(v any) string {
	list, _ := v.([]any)
	var sources []string
	for _, source := range list {
		of, _ := source.(map[string]any)
		var said []string
		for _, name := range sortedKeys(of) {
			switch x := of[name].(type) {
			case string:
				said = append(said, name+"="+filepath.Base(x))
			case float64:
				said = append(said, name+"="+number64(x))
			}
		}
		sources = append(sources, strings.Join(said, ","))
	}
	return strings.Join(sources, " ")
}

func eachGuideLLM(path string, i int, take func(*Request) error) error {
	for list, status := range map[string]string{"successful": "ok", "errored": "error", "incomplete": "cancelled"} {
		err := eachAt(path, []string{"benchmarks", "requests", list}, i, func(v any) error {
			at := func(name string) float64 { return asFloat(branch(v, "info", "timings", name)) }
			r := &Request{
				Intended: 1e9 * at("targeted_start"), Sent: 1e9 * at("request_start"), End: 1e9 * at("request_end"),
				TTFT:    1000 * (at("first_token_iteration") - at("request_start")),
				Latency: 1000 * (at("request_end") - at("request_start")),
				ISL:     asFloat(branch(v, "input_metrics", "total_tokens")),
				OSL:     asFloat(branch(v, "output_metrics", "total_tokens")), UsagePrompt: math.NaN(), Status: status,
			}
			r.ITL = perToken(1000*(at("last_token_iteration")-at("first_token_iteration")), r.OSL)
			if status == "error" {
				r.ErrorKind, r.ErrorMessage = "request", lastLine(words(branch(v, "info", "error")))
			}
			return take(r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
