package importer

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// inference-perf writes a folder: a summary, one file a stage of the load, and the single
// requests of all stages. A stage is a run; the summary is one where there is no stage.

func knowsInferencePerf(h *head) bool { return isStage(h) || isPerRequest(h) }

func isStage(h *head) bool {
	return h.json && h.has("load_summary", "successes.count", "failures.count")
}

func isPerRequest(h *head) bool {
	return h.json && h.has("start_time", "end_time", "request") && !h.has("metadata")
}

func readInferencePerf(files []found, res *Result) error {
	folders := map[string][]found{}
	for _, f := range files {
		dir := filepath.Dir(f.full)
		folders[dir] = append(folders[dir], f)
	}
	for _, dir := range sortedKeys(folders) {
		var stages, summaries []found
		records := ""
		for _, f := range folders[dir] {
			switch {
			case isPerRequest(f.head):
				records = f.full
			case f.head.has("load_summary.requested_rate"), f.head.has("load_summary.concurrency"):
				stages = append(stages, f)
			default:
				summaries = append(summaries, f)
			}
		}
		if len(stages) == 0 {
			stages = summaries
		}
		if len(stages) == 0 {
			res.note("%s holds single requests without a summary: left out", filepath.Base(records))
		}
		for _, f := range stages {
			run, err := readStage(f.full, res)
			if err != nil {
				return named(f, err)
			}
			askedOfInferencePerf(run, filepath.Join(dir, "config.yaml"))
			if records != "" && len(stages) == 1 { // they do not tell their stage
				run.Each = func(take func(*Request) error) error { return eachInferencePerf(records, take) }
			}
			res.Runs = append(res.Runs, *run)
		}
	}
	return nil
}

// inSeconds are the latencies.
var inSeconds = []string{
	"request_latency", "normalized_time_per_output_token", "time_per_output_token", "time_to_first_token",
	"inter_token_latency",
}

func readStage(path string, res *Result) (*Run, error) {
	doc, err := document(path, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	run := &Run{}
	for _, group := range []string{"latency", "throughput"} {
		of, _ := branch(doc, "successes", group).(map[string]any)
		for _, name := range sortedKeys(of) {
			scale := 1.0
			if slices.Contains(inSeconds, name) {
				scale = 1000
			}
			run.spread("successes."+group+"."+name, name, of[name], scale)
		}
	}
	for _, name := range []string{"prompt_tokens", "output_tokens"} {
		run.spread("successes."+name, name, branch(doc, "successes", name), 1)
	}
	run.spread("successes.count", "successes", branch(doc, "successes", "count"), 1)
	run.spread("failures.count", "failures", branch(doc, "failures", "count"), 1)
	run.spread("benchmark_time_seconds", "benchmark_time_seconds", doc["benchmark_time_seconds"], 1)
	run.OK, run.Failed = whole(branch(doc, "successes", "count")), whole(branch(doc, "failures", "count"))
	concurrency, rate := branch(doc, "load_summary", "concurrency"), branch(doc, "load_summary", "requested_rate")
	count := branch(doc, "load_summary", "count")
	if concurrency != nil && asFloat(rate) == asFloat(count) {
		// a load of so many at once is queued over one second, and the file has that for a rate
		if achieved := asFloat(branch(doc, "load_summary", "achieved_rate")); achieved > 0.9*asFloat(rate) {
			res.note("%s requests at %s at once were queued over one second, and the server was as fast: their rate is "+
				"that of the queue, and fewer were in flight than asked for", number64(count), number64(concurrency))
		}
		rate, run.Closed = nil, true
	}
	run.load(concurrency, rate, nil)
	if concurrency != nil { // else time decides
		run.set("phases.0.requests", number64(count))
	}
	run.failsWithout()
	return run, nil
}

// askedOfInferencePerf takes what was asked for out of the configuration that the tool puts beside
// its figures. A file that is not there, or is another's, says nothing.
func askedOfInferencePerf(run *Run, path string) {
	doc, err := readYAML(path)
	if err != nil || branch(doc, "server", "model_name") == nil || branch(doc, "load", "stages") == nil {
		return
	}
	run.Model = words(branch(doc, "server", "model_name"))
	run.set("endpoint.type", chatOrCompletions(words(branch(doc, "api", "type"))+"s"))
	if streaming, ok := branch(doc, "api", "streaming").(bool); ok {
		run.set("endpoint.streaming", strconv.FormatBool(streaming))
	}
	run.set("data.type", words(branch(doc, "data", "type")))
	for _, name := range []string{"input_distribution", "output_distribution"} {
		var said []string
		for _, part := range []string{"type", "mean", "std_dev", "min", "max"} {
			v := branch(doc, "data", name, part)
			if text := cmp.Or(words(v), number64(v)); text != "" {
				said = append(said, part+"="+text)
			}
		}
		run.set("data."+name, strings.Join(said, ","))
	}
}

func eachInferencePerf(path string, take func(*Request) error) error {
	return eachAt(path, nil, 0, func(v any) error {
		start, end := asFloat(branch(v, "start_time")), asFloat(branch(v, "end_time"))
		answer := branch(v, "info", "response_metrics")
		r := &Request{
			Intended: math.NaN(), Sent: 1e9 * start, End: 1e9 * end, TTFT: math.NaN(), ITL: math.NaN(),
			Latency: 1000 * (end - start), ISL: asFloat(branch(v, "info", "request_metrics", "text", "input_tokens")),
			OSL: asFloat(branch(answer, "output_tokens")), Status: "ok",
			UsagePrompt: asFloat(branch(answer, "server_usage", "prompt_tokens")),
		}
		if at, ok := branch(answer, "output_token_times").([]any); ok && len(at) > 1 { // one is no stream to it
			first, last := asFloat(at[0]), asFloat(at[len(at)-1])
			r.TTFT, r.ITL = 1000*(first-start), perToken(1000*(last-first), r.OSL)
		}
		if e := branch(v, "error"); e != nil {
			r.Status, r.ErrorKind = "error", words(branch(e, "error_type"))
			r.ErrorMessage = lastLine(words(branch(e, "error_msg")))
		}
		return take(r)
	})
}
