// Package genaiperf merges results of GenAI-Perf into one: the requests of several runs, of
// which every figure is computed anew. In goes a folder with a folder for each run; out come
// the three files that GenAI-Perf writes.
package genaiperf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// largest bounds a file that is read, in bytes.
const largest = 1 << 30

// Run is what GenAI-Perf left of one run.
type Run struct {
	Dir     string
	Config  Config
	GPUs    bool            // the summary has figures of GPUs: statistics, which do not merge
	config  json.RawMessage // as it stands in the file
	stamps  stampsFile
	request []request
}

// Config are the settings of a run, as far as they matter here.
type Config struct {
	Models   []string `json:"model_names"`
	Endpoint struct {
		Type string `json:"type"`
		Kind string `json:"service_kind"`
	} `json:"endpoint"`
	Analyzer struct {
		Stimulus map[string]json.Number `json:"stimulus"`
	} `json:"perf_analyzer"`
	Input struct {
		Goodput json.RawMessage `json:"goodput"` // an object, or ""
	} `json:"input"`
	Tokenizer struct {
		Name string `json:"name"`
	} `json:"tokenizer"`
}

// stampsFile is perf_analyzer's profile export.
type stampsFile struct {
	Experiments []experiment    `json:"experiments"`
	Version     json.RawMessage `json:"version,omitempty"`
	Kind        json.RawMessage `json:"service_kind,omitempty"`
	Endpoint    json.RawMessage `json:"endpoint,omitempty"`
}

type experiment struct {
	Experiment json.RawMessage   `json:"experiment"`
	Requests   []json.RawMessage `json:"requests"`
	Boundaries []int64           `json:"window_boundaries"`
}

// request is one of them, in ns.
type request struct {
	sent   int64
	texts  []int64 // stamps of the answers that carry text, by time; an end mark carries none
	input  string
	output string
}

// Find reads the runs in the folders of dir, by their names.
func Find(dir string) ([]*Run, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, &diag.Error{Place: dir, Message: reason(err), Hint: "name the folder that holds a folder for each run"}
	}
	var runs []*Run
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		r, err := read(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	if len(runs) == 0 {
		return nil, &diag.Error{
			Place: dir, Message: "holds no folder with a run", Hint: "each run has a folder of its own below it",
		}
	}
	return runs, nil
}

func reason(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// read reads the two files of a run: the summary, and the stamps beside it.
func read(dir string) (*Run, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	r := &Run{Dir: dir}
	summary, stamps := "", ""
	for _, name := range names {
		switch {
		case strings.HasSuffix(name, "_genai_perf.json"):
			summary = name
		case filepath.Base(name) != "inputs.json" && stamps == "":
			stamps = name
		}
	}
	if summary == "" || stamps == "" {
		missing := map[bool]string{true: "*_genai_perf.json", false: "the profile export of perf_analyzer"}[summary == ""]
		return nil, &diag.Error{Place: dir, Message: "has no " + missing, Hint: "copy all files of the run"}
	}
	var doc struct {
		Config json.RawMessage            `json:"input_config"`
		GPUs   map[string]json.RawMessage `json:"telemetry_stats"`
	}
	if err := parse(summary, &doc); err != nil {
		return nil, err
	}
	r.GPUs = len(doc.GPUs) > 0
	if len(doc.Config) > 0 {
		if err := json.Unmarshal(doc.Config, &r.Config); err != nil {
			return nil, &diag.Error{Place: summary, Message: err.Error(), Hint: "the file is damaged, or none of GenAI-Perf's"}
		}
		r.config = doc.Config
	}
	if err := parse(stamps, &r.stamps); err != nil {
		return nil, err
	}
	for i := range r.stamps.Experiments {
		for _, raw := range r.stamps.Experiments[i].Requests {
			q, err := parseRequest(raw)
			if err != nil {
				return nil, &diag.Error{Place: stamps, Message: err.Error(), Hint: "the file is damaged, or none of perf_analyzer's"}
			}
			if len(q.texts) > 0 { // one without an answer failed, and counts nowhere
				r.request = append(r.request, q)
			}
		}
	}
	if len(r.request) == 0 {
		return nil, &diag.Error{Place: stamps, Message: "has no answered request", Hint: "leave the folder out"}
	}
	return r, nil
}

func parse(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, largest+1))
	switch {
	case err != nil:
	case len(b) > largest:
		err = fmt.Errorf("more than %d GiB", largest>>30)
	default:
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		return &diag.Error{Place: path, Message: err.Error(), Hint: "the file is damaged, or none of GenAI-Perf's"}
	}
	return nil
}

func parseRequest(raw json.RawMessage) (q request, err error) {
	var x struct {
		Timestamp int64 `json:"timestamp"`
		Inputs    struct {
			Payload string `json:"payload"`
		} `json:"request_inputs"`
		Stamps  []int64 `json:"response_timestamps"`
		Outputs []struct {
			Response string `json:"response"`
		} `json:"response_outputs"`
	}
	if err := json.Unmarshal(raw, &x); err != nil {
		return q, err
	}
	q.sent, q.input = x.Timestamp, promptOf(x.Inputs.Payload)
	for i, at := range x.Stamps {
		if i >= len(x.Outputs) {
			continue
		}
		if text := textOf(x.Outputs[i].Response); text != "" {
			q.texts, q.output = append(q.texts, at), q.output+text
		}
	}
	return q, nil
}

// promptOf is the text that a request sends.
func promptOf(payload string) string {
	var x struct {
		Messages []struct {
			Content any `json:"content"`
		} `json:"messages"`
		Prompt any `json:"prompt"`
	}
	if json.Unmarshal([]byte(payload), &x) != nil {
		return ""
	}
	out := texts(x.Prompt)
	for _, m := range x.Messages {
		out += texts(m.Content)
	}
	return out
}

// texts is a text, or all those of a list.
func texts(v any) (out string) {
	switch x := v.(type) {
	case string:
		return x
	case []any:
		for _, v := range x {
			out += texts(v)
		}
	case map[string]any:
		return texts(x["text"])
	}
	return out
}

// textOf is what an event of an answer adds to it: the content of chat completions, the text of
// completions. GenAI-Perf leaves out reasoning.
func textOf(event string) (out string) {
	for _, line := range strings.Split(event, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "data:"))
		var x struct {
			Choices []struct {
				Delta, Message struct {
					Content string `json:"content"`
				}
				Text string `json:"text"`
			} `json:"choices"`
			Output string `json:"text_output"`
		}
		if line == "" || line == "[DONE]" || json.Unmarshal([]byte(line), &x) != nil {
			continue
		}
		out += x.Output
		for _, c := range x.Choices {
			out += c.Delta.Content + c.Message.Content + c.Text
		}
	}
	return out
}

// Merged are several runs as one.
type Merged struct {
	Runs    []*Run
	Metrics []Metric // in GenAI-Perf's order
}

// Requests is how many there are.
func (m *Merged) Requests() (n int) {
	for _, r := range m.Runs {
		n += len(r.request)
	}
	return n
}

// Metric is one of its figures: of requests, or of the whole.
type Metric struct {
	Tag, Header, Unit string
	Values            []float64 // sorted; nil for a figure of the whole
	Value             float64
}

// Merge computes the figures of all requests. Tokens are counted by tok; where it is nil, what
// takes tokens is left out.
func Merge(runs []*Run, tok tokenizer.Tokenizer) (*Merged, error) {
	m := &Merged{Runs: runs}
	var ttft, second, latency, itl, user, osl, isl []float64
	rate, tokens, from, to, good := 0.0, 0.0, int64(math.MaxInt64), int64(0), 0.0
	slos, err := runs[0].slos()
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		first, last, out := int64(math.MaxInt64), int64(0), 0.0
		for i := range r.request {
			q := &r.request[i]
			first, last = min(first, q.sent), max(last, q.texts[len(q.texts)-1])
			of := map[string]float64{
				"time_to_first_token": float64(q.texts[0]-q.sent) / 1e6,
				"request_latency":     float64(q.texts[len(q.texts)-1]-q.sent) / 1e6,
			}
			if len(q.texts) > 1 {
				of["time_to_second_token"] = float64(q.texts[1]-q.texts[0]) / 1e6
				second = append(second, of["time_to_second_token"])
			}
			if tok != nil {
				n := float64(tok.Count(q.output))
				of["output_sequence_length"], out = n, out+n
				osl, isl = append(osl, n), append(isl, float64(tok.Count(q.input)))
				if n > 1 && of["request_latency"] > of["time_to_first_token"] {
					gap := (of["request_latency"] - of["time_to_first_token"]) / (n - 1)
					of["inter_token_latency"], of["output_token_throughput_per_user"] = gap, 1000/gap
					itl, user = append(itl, gap), append(user, 1000/gap)
				}
			}
			ttft, latency = append(ttft, of["time_to_first_token"]), append(latency, of["request_latency"])
			if holds(slos, of) {
				good++
			}
		}
		seconds := float64(last-first) / 1e9
		rate, tokens = rate+float64(len(r.request))/seconds, tokens+out/seconds
		from, to = min(from, first), max(to, last)
	}
	whole := func(tag, header, unit string, v float64) { m.add(Metric{tag, header, unit, nil, v}) }
	each := func(tag, header, unit string, values []float64) {
		if slices.Sort(values); len(values) > 0 {
			m.add(Metric{tag, header, unit, values, 0})
		}
	}
	whole("request_throughput", "Request Throughput (per sec)", "requests/sec", rate)
	each("request_latency", "Request Latency (ms)", "ms", latency)
	if known(slos, tok != nil) {
		whole("request_goodput", "Request Goodput (per sec)", "requests/sec", good/(float64(to-from)/1e9))
	}
	whole("request_count", "Request Count (count)", "count", float64(len(latency)))
	each("time_to_first_token", "Time To First Token (ms)", "ms", ttft)
	each("time_to_second_token", "Time To Second Token (ms)", "ms", second)
	each("inter_token_latency", "Inter Token Latency (ms)", "ms", itl)
	if tok != nil {
		whole("output_token_throughput", "Output Token Throughput (tokens/sec)", "tokens/sec", tokens)
	}
	each("output_token_throughput_per_user", "Output Token Throughput Per User (tokens/sec/user)", "tokens/sec/user", user)
	each("output_sequence_length", "Output Sequence Length (tokens)", "tokens", osl)
	each("input_sequence_length", "Input Sequence Length (tokens)", "tokens", isl)
	return m, nil
}

func (m *Merged) add(x Metric) { m.Metrics = append(m.Metrics, x) }

// slos are the limits of goodput.
func (r *Run) slos() (map[string]float64, error) {
	raw := bytes.TrimSpace(r.Config.Input.Goodput)
	if len(raw) == 0 || raw[0] != '{' {
		return nil, nil
	}
	var out map[string]float64
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, &diag.Error{Place: r.Dir, Message: "input_config.input.goodput: " + err.Error(), Hint: "metric: number"}
	}
	return out, nil
}

// known reports whether there are limits, and all that they are on is computed.
func known(slos map[string]float64, tokens bool) bool {
	for tag := range slos {
		if !tokens && !strings.HasPrefix(tag, "time_to_") && tag != "request_latency" {
			return false
		}
	}
	return len(slos) > 0
}

// holds reports whether a request keeps all limits: times at most, throughputs at least. A
// limit of what it does not have is not kept.
func holds(slos, of map[string]float64) bool {
	for tag, limit := range slos {
		v, ok := of[tag]
		if !ok || strings.Contains(tag, "throughput") && v < limit || !strings.Contains(tag, "throughput") && v > limit {
			return false
		}
	}
	return true
}
