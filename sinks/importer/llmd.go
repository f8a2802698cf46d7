package importer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// llm-d's benchmark report is one form that several tools' results are brought into: a
// summary, in YAML or JSON, with the unit beside every figure. From 0.2 on the figures lie
// under results, in 0.1 under metrics.

func knowsLLMD(h *head) bool {
	if h.json {
		return h.has("version", "run") && h.has("results.request_performance") ||
			h.has("version", "scenario", "metrics.latency")
	}
	return strings.Contains("\n"+h.text, "\nversion:") && (strings.Contains(h.text, "request_performance:") ||
		strings.Contains(h.text, "\nmetrics:") && strings.Contains(h.text, "\nscenario:"))
}

// worth is what a unit is worth in that of the definitions: ms, tokens, seconds of a run.
var worth = map[string]float64{"s": 1000, "s/token": 1000, "us": .001, "ns": 1e-6}

const (
	mostReport  = 16 << 20 // bytes of a report
	newestLLMD  = "0.2.1"
	deepestYAML = 12
)

func readLLMD(path string, res *Result) error {
	doc, err := readYAML(path)
	if err != nil {
		return err
	}
	run := Run{Version: words(doc["version"])}
	if v := asFloat(doc["version"]); run.Version == "" && v > 0 { // 0.3 without quotes is a number in YAML
		run.Version = fmt.Sprint(v)
	}
	if compareVersions(run.Version, newestLLMD) > 0 {
		res.note("report version %s is newer than those that are known here, up to %s: what it added is left out",
			run.Version, newestLLMD)
	}
	at, all := "results.request_performance.aggregate", branch(doc, "results", "request_performance", "aggregate")
	if all == nil {
		at, all = "metrics", doc["metrics"]
	}
	for _, group := range []string{"latency", "throughput", "requests"} {
		of, _ := branch(all, group).(map[string]any)
		for _, name := range sortedKeys(of) {
			scale := 1.0
			if u := worth[words(branch(of[name], "units"))]; u != 0 {
				scale = u
			}
			run.spread(at+"."+group+"."+name, name, of[name], scale)
		}
	}
	total, failed := whole(branch(all, "requests", "total")), whole(branch(all, "requests", "failures"))
	run.OK, run.Failed = max(0, total-failed), failed
	if began, ok := branch(doc, "run", "time", "start").(string); ok {
		if t, err := time.Parse(time.RFC3339, began); err == nil {
			run.Began = t
		}
	}
	if run.Figures == nil {
		return fmt.Errorf("no figures under %s", at)
	}
	run.Label = baseLabel
	run.failsWithout()
	res.Runs = append(res.Runs, run)
	return nil
}

// readYAML reads a document of YAML, or of JSON, with all its numbers as those of JSON.
func readYAML(path string) (map[string]any, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostReport))
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := yaml.Unmarshal(b, &doc); err != nil { // JSON is YAML, too
		return nil, errors.New(strings.ReplaceAll(err.Error(), "\n", " "))
	}
	doc, _ = floats(doc, 0).(map[string]any)
	return doc, nil
}

// floats makes every number of a tree one of JSON's.
func floats(v any, depth int) any {
	switch x := v.(type) {
	case int:
		return float64(x)
	case map[string]any:
		if depth > deepestYAML {
			return nil
		}
		for k := range x {
			x[k] = floats(x[k], depth+1)
		}
	}
	return v
}
