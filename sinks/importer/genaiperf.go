package importer

import (
	"cmp"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
)

// GenAI-Perf writes a summary (JSON, and with two decimals CSV) of what perf_analyzer
// measured, whose stamps lie beside it: when a request was sent, and each of its answers.
// Tokens are not in the stamps.

func knowsGenAIPerf(h *head) bool { return isGenAIPerf(h) || isGenAIPerfCSV(h) || isStamps(h) }

func isGenAIPerf(h *head) bool {
	return h.json && h.has("input_config.perf_analyzer") && h.has("request_latency.unit")
}

func isGenAIPerfCSV(h *head) bool {
	columns := strings.Split(h.first, ",")
	return columns[0] == "Metric" && slices.Contains(columns, "avg") && slices.Contains(columns, "p99") &&
		!slices.Contains(columns, "std")
}

func isStamps(h *head) bool {
	return h.json && h.has("experiments.experiment", "experiments.requests")
}

// readGenAIPerf makes a run of each folder: of its summary, else of its stamps.
func readGenAIPerf(files []found, res *Result) error {
	taken := map[string]bool{}
	for _, kind := range []func(*head) bool{isGenAIPerf, isGenAIPerfCSV, isStamps} {
		for _, f := range files {
			dir := filepath.Dir(f.full)
			if !kind(f.head) || taken[dir] {
				continue
			}
			taken[dir] = true
			run := &Run{Closed: true}
			stamps := ""
			for _, x := range files {
				if filepath.Dir(x.full) == dir && isStamps(x.head) {
					stamps = x.full
				}
			}
			var err error
			switch {
			case isGenAIPerf(f.head):
				err = run.readGenAIPerf(f.full)
			case isGenAIPerfCSV(f.head):
				res.note("%s: read from the CSV, whose figures have two decimals", cmp.Or(f.rel, filepath.Base(f.full)))
				err = run.readGenAIPerfCSV(f.full)
			default:
				err = run.readStamps(f.full)
			}
			if err != nil {
				return named(f, err)
			}
			if stamps != "" {
				run.Each = func(take func(*Request) error) error { return eachStamps(stamps, take) }
			}
			run.failsWithout()
			res.Runs = append(res.Runs, *run)
		}
	}
	return nil
}

func (r *Run) readGenAIPerf(path string) error {
	doc, err := document(path, func(string) bool { return false })
	if err != nil {
		return err
	}
	for _, tag := range sortedKeys(doc) {
		if words(branch(doc[tag], "unit")) == "" {
			continue
		}
		of := doc[tag].(map[string]any)
		if len(of) == 2 {
			r.Figures = append(r.Figures, Figure{Key: tag + ".avg", Metric: tag, Value: asFloat(of["avg"])})
			continue
		}
		r.spread(tag, tag, of, 1)
	}
	r.OK = whole(branch(doc, "request_count", "avg"))
	stimulus := branch(doc, "input_config", "perf_analyzer", "stimulus")
	r.load(branch(stimulus, "concurrency"), branch(stimulus, "request_rate"), nil)
	r.set("endpoint.type", words(branch(doc, "input_config", "endpoint", "type")))
	if names, ok := branch(doc, "input_config", "model_names").([]any); ok && len(names) > 0 {
		r.Model = words(names[0])
	}
	return nil
}

// headersOf are GenAI-Perf's headers of a CSV that are not ours.
var headersOf = map[string]string{
	"Request Throughput (per sec)": metrics.RequestThroughput, "Request Goodput (per sec)": "request_goodput",
	"Request Count (count)": metrics.RequestCount,
}

func (r *Run) readGenAIPerfCSV(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	err = r.readBlocks(io.LimitReader(f, mostSummary), func(header string) string {
		return cmp.Or(headersOf[header], tagOfHeader(header))
	})
	r.OK = r.count(metrics.RequestCount)
	r.Label = baseLabel
	return err
}

// readStamps makes the figures that need no tokens.
func (r *Run) readStamps(path string) error {
	values := map[string][]float64{}
	err := eachStamps(path, func(q *Request) error {
		r.OK++
		values["time_to_first_token"] = append(values["time_to_first_token"], q.TTFT)
		values["request_latency"] = append(values["request_latency"], q.Latency)
		return nil
	})
	if err != nil || r.OK == 0 {
		return err
	}
	for _, metric := range sortedKeys(values) {
		r.Figures = append(r.Figures, describe(metric, values[metric])...)
	}
	r.Figures = append(r.Figures, Figure{Key: "requests", Metric: "request_count", Value: float64(r.OK)})
	r.Label = baseLabel
	return nil
}

// eachStamps goes through the requests of every experiment of a file. A request without an
// answer failed.
func eachStamps(path string, take func(*Request) error) error {
	return eachAt(path, []string{"experiments", "requests"}, 0, func(v any) error {
		none := math.NaN()
		sent := asStamp(branch(v, "timestamp"))
		r := &Request{
			Intended: none, Sent: float64(sent), End: none, TTFT: none, ITL: none, Latency: none, ISL: none, OSL: none,
			UsagePrompt: none, Status: "error", ErrorKind: "no answer",
		}
		at, _ := branch(v, "response_timestamps").([]any)
		texts, _ := branch(v, "response_outputs").([]any)
		first, last := none, none
		for i := range at {
			if i < len(texts) && !holdsText(words(branch(texts[i], "response"))) {
				continue
			}
			if last = float64(asStamp(at[i]) - sent); math.IsNaN(first) {
				first = last
			}
		}
		if !math.IsNaN(last) {
			r.Status, r.ErrorKind, r.End = "ok", "", float64(sent)+last
			r.TTFT, r.Latency = first/1e6, last/1e6
		}
		return take(r)
	})
}

// asStamp is a moment in ns, exactly.
func asStamp(v any) int64 {
	n, _ := v.(json.Number)
	i, _ := n.Int64() // 0 for anything else
	return i
}

// textMembers are those of an answer that hold its text.
var textMembers = []string{"content", "reasoning_content", "text", "text_output", "generated_text"}

// holdsText reports whether an event of an answer carries some of it: GenAI-Perf leaves
// the others out, such as one that names the role, and the end mark.
func holdsText(event string) bool {
	for _, line := range strings.Split(event, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "data:"))
		var v any
		switch {
		case line == "" || line == "[DONE]":
		case json.Unmarshal([]byte(line), &v) != nil:
			return true // plain text
		case someText(v):
			return true
		}
	}
	return false
}

func someText(v any) bool {
	switch x := v.(type) {
	case map[string]any:
		for name, v := range x {
			if text, ok := v.(string); ok && text != "" && slices.Contains(textMembers, name) || someText(v) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(x, someText)
	}
	return false
}
