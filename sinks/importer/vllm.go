package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// vLLM's `bench serve` writes one object, or appends one to a file; single requests stand
// in it, a list per value, with --save-detailed alone. The file does not name the version.

// vllmStat is a statistic of vLLM's: mean_ttft_ms, p99_tpot_ms.
var vllmStats = map[string]string{"mean": "avg", "median": "p50", "std": "std"}

// columnsOfRequests are the lists that hold a value of each request, and are passed over
// where only the summary is asked for.
var columnsOfRequests = []string{
	"input_lens", "output_lens", "ttfts", "itls", "latencies", "start_times", "queue_times", "generated_texts", "errors",
}

func readVLLM(path string, res *Result) error { return readLists(path, res) }

// readLists reads the form that vLLM's and SGLang's clients share.
func readLists(path string, res *Result) error {
	return eachObject(path, func(n int, d *json.Decoder) error {
		run := Run{Label: baseLabel, Closed: true}
		columns, values := map[string]bool{}, map[string]any{}
		listed, failures := 0, 0
		err := members(d, func(key string) (bool, error) {
			if slices.Contains(columnsOfRequests, key) {
				if columns[key] = true; key != "errors" {
					return false, nil
				}
				return true, items(d, func(i int) error {
					var v any
					err := d.Decode(&v)
					if listed = i + 1; words(v) != "" {
						failures++
					}
					return err
				})
			}
			var v any
			err := d.Decode(&v)
			values[key] = v
			return true, err
		})
		if err != nil {
			return err
		}
		if _, ok := values["completed"].(float64); !ok {
			return fmt.Errorf("%q is not a number", "completed")
		}
		for _, key := range sortedKeys(values) {
			if v, ok := values[key].(float64); ok {
				metric, stat := vllmFigure(key)
				run.Figures = append(run.Figures, Figure{Key: key, Metric: metric, Stat: stat, Value: v})
			}
		}
		run.Model = words(values["model_id"])
		run.OK, run.Failed = whole(values["completed"]), whole(values["failed"])
		if _, told := values["failed"]; !told { // the single requests tell, else how many are missing
			run.Failed = cmp.Or(int64(failures), max(0, whole(values["num_prompts"])-run.OK))
		}
		endpoint := "completions"
		if kind := words(values["backend"]) + words(values["endpoint_type"]); strings.Contains(kind, "chat") {
			endpoint = "chat"
		} else if strings.Contains(kind, "embedding") {
			endpoint = "embeddings"
		} else if strings.Contains(kind, "audio") {
			endpoint = "audio"
		}
		run.set("endpoint.type", endpoint)
		run.load(values["max_concurrency"], values["request_rate"], values["burstiness"])
		switch asked := number64(values["num_prompts"]); {
		case asked != "":
			run.set("phases.0.requests", asked)
		case listed > 0:
			run.set("phases.0.requests", strconv.Itoa(listed))
		default: // fewer may have been asked for, or some may have failed: it does not say
			run.set("completed", number64(values["completed"]))
		}
		run.set("dataset_name", words(values["dataset_name"])) // SGLang's
		for _, name := range []string{"random_input_len", "random_output_len", "random_range_ratio"} {
			run.set(name, number64(values[name]))
		}
		if at, err := time.ParseInLocation("20060102-150405", words(values["date"]), time.Local); err == nil {
			run.Began = at
		}
		if run.OK == 0 {
			run.Err = "no request succeeded"
		}
		if columns["ttfts"] && columns["output_lens"] {
			run.Each = func(take func(*Request) error) error { return eachVLLM(path, n, take) }
		}
		res.Runs = append(res.Runs, run)
		return nil
	})
}

// vllmFigure splits mean_ttft_ms in ttft and avg. What has no statistic is the value of
// the run.
func vllmFigure(key string) (metric, stat string) {
	first, rest, ok := strings.Cut(key, "_")
	if !ok || !strings.HasSuffix(rest, "_ms") {
		return key, ""
	}
	stat = vllmStats[first]
	if p, isPercentile := strings.CutPrefix(first, "p"); isPercentile {
		if _, err := strconv.ParseFloat(p, 64); err == nil {
			stat = "p" + strings.ReplaceAll(p, ".", "")
		}
	}
	if stat == "" {
		return key, ""
	}
	return strings.TrimSuffix(rest, "_ms"), stat
}

// eachVLLM goes through the requests of the n-th object of a file. A request that failed
// has an error; it has no latency, since the client drops it.
func eachVLLM(path string, n int, take func(*Request) error) error {
	var in, out, ttft, sum, latency, start []float64
	var failed []string
	done := fmt.Errorf("done")
	err := eachObject(path, func(i int, d *json.Decoder) error {
		if i < n {
			return members(d, func(string) (bool, error) { return false, nil })
		}
		err := members(d, func(key string) (read bool, err error) {
			read = true
			switch key {
			case "input_lens":
				in, err = numbers(d)
			case "output_lens":
				out, err = numbers(d)
			case "ttfts":
				ttft, err = numbers(d)
			case "latencies":
				latency, err = numbers(d)
			case "start_times":
				start, err = numbers(d)
			case "itls":
				err = items(d, func(int) error {
					total := 0.0
					err := items(d, func(int) error {
						v, err := number(d)
						total += v
						return err
					})
					sum = append(sum, total)
					return err
				})
			case "errors":
				err = items(d, func(int) error {
					t, err := d.Token()
					failed = append(failed, words(t))
					return err
				})
			default:
				return false, nil
			}
			return true, err
		})
		if err != nil {
			return err
		}
		return done
	})
	if err != done { //nolint:errorlint // its own
		return err
	}
	for i := range ttft {
		first, tokens := at(ttft, i), at(out, i)
		whole := at(latency, i)
		if math.IsNaN(whole) { // files of before it was written
			whole = first + at(sum, i)
		}
		r := &Request{
			Intended: math.NaN(), Sent: 1e9 * at(start, i), End: 1e9 * (at(start, i) + whole), TTFT: 1000 * first,
			Latency: 1000 * whole, ITL: perToken(1000*(whole-first), tokens), ISL: at(in, i), OSL: tokens,
			UsagePrompt: math.NaN(), Status: "ok",
		}
		if i < len(failed) && failed[i] != "" {
			r.Status, r.ErrorKind, r.ErrorMessage = "error", "request", lastLine(failed[i])
			r.TTFT, r.ITL, r.Latency, r.OSL, r.End = math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()
		}
		if err := take(r); err != nil {
			return err
		}
	}
	return nil
}

// knowsVLLM: the client of vLLM, and of those before it that its form comes from.
func knowsVLLM(h *head) bool {
	return h.json && h.has("num_prompts", "request_rate", "model_id") && (h.has("backend") || h.has("endpoint_type"))
}
