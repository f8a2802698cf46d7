package results_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sinks/importer"
)

// own are where five of the tools of testdata/pairs write a figure, and which of ours it is: file of
// the pair, place in it, metric and statistic of ours, and the factor between the units.
type own struct {
	file, place, metric, stat string
	factor                    float64
}

// latencies are the same figure of several statistics: "p50" is ours, "median" theirs.
func latencies(file, before, metric string, factor float64, stats ...string) (all []own) {
	for _, s := range stats {
		ours, theirs, ok := strings.Cut(s, "=")
		if !ok {
			theirs = ours
		}
		all = append(all, own{file, before + theirs, metric, ours, factor})
	}
	return all
}

func ownFigures(tool string) []own {
	switch tool {
	case "guidellm":
		of := func(name string) string { return "benchmarks.0.metrics." + name + ".successful." }
		three := []string{"avg=mean", "p50=median", "p99=percentiles.p99"}
		return slices.Concat(
			latencies("", of("time_to_first_token_ms"), metrics.TimeToFirstToken, 1, three...),
			latencies("", of("inter_token_latency_ms"), metrics.InterTokenLatency, 1, three...),
			latencies("", of("request_latency"), metrics.RequestLatency, 1000, three...),
			latencies("", of("prompt_token_count"), metrics.InputSequenceLength, 1, three...),
			latencies("", of("output_token_count"), metrics.OutputSequenceLength, 1, three...),
			[]own{
				{"", of("requests_per_second") + "mean", metrics.RequestThroughput, "avg", 1},
				{"", of("output_tokens_per_second") + "mean", metrics.OutputTokenThroughput, "avg", 1},
				{"", "benchmarks.0.metrics.request_totals.successful", metrics.RequestCount, "avg", 1},
				{"", "benchmarks.0.metrics.request_totals.errored", metrics.ErrorRequestCount, "avg", 1},
				{"", "benchmarks.0.duration", metrics.BenchmarkDuration, "avg", 1},
			})
	case "aiperf":
		file, three := "profile_export_aiperf.json", []string{"avg", "p50", "p99"}
		var all []own
		for _, tag := range []string{
			metrics.TimeToFirstToken, metrics.InterTokenLatency, metrics.RequestLatency, metrics.InputSequenceLength,
			metrics.OutputSequenceLength,
		} {
			all = append(all, latencies(file, tag+".", tag, 1, three...)...)
		}
		for _, tag := range []string{
			metrics.RequestThroughput, metrics.OutputTokenThroughput, metrics.RequestCount, metrics.BenchmarkDuration,
		} {
			all = append(all, own{file, tag + ".avg", tag, "avg", 1})
		}
		return all
	case "inference-perf":
		file, three := "stage_0_lifecycle_metrics.json", []string{"avg=mean", "p50=median", "p99"}
		in := func(name string) string { return "successes.latency." + name + "." }
		return slices.Concat(
			latencies(file, in("time_to_first_token"), metrics.TimeToFirstToken, 1000, three...),
			latencies(file, in("time_per_output_token"), metrics.InterTokenLatency, 1000, three...),
			latencies(file, in("request_latency"), metrics.RequestLatency, 1000, three...),
			latencies(file, "successes.prompt_tokens.", metrics.InputSequenceLength, 1, three...),
			latencies(file, "successes.output_tokens.", metrics.OutputSequenceLength, 1, three...),
			[]own{
				{file, "successes.throughput.requests_per_sec", metrics.RequestThroughput, "avg", 1},
				{file, "successes.throughput.output_tokens_per_sec", metrics.OutputTokenThroughput, "avg", 1},
				{file, "successes.count", metrics.RequestCount, "avg", 1},
				{file, "failures.count", metrics.ErrorRequestCount, "avg", 1},
				{file, "benchmark_time_seconds", metrics.BenchmarkDuration, "avg", 1},
			})
	case "genai-bench":
		three := []string{"avg=mean", "p50", "p99"}
		in := func(name string) string { return "aggregated_metrics.stats." + name + "." }
		return slices.Concat(
			latencies("*_time_*.json", in("ttft"), metrics.TimeToFirstToken, 1000, three...),
			latencies("*_time_*.json", in("tpot"), metrics.InterTokenLatency, 1000, three...),
			latencies("*_time_*.json", in("e2e_latency"), metrics.RequestLatency, 1000, three...),
			latencies("*_time_*.json", in("num_input_tokens"), metrics.InputSequenceLength, 1, three...),
			latencies("*_time_*.json", in("num_output_tokens"), metrics.OutputSequenceLength, 1, three...),
			[]own{
				{"*_time_*.json", "aggregated_metrics.requests_per_second", metrics.RequestThroughput, "avg", 1},
				{"*_time_*.json", "aggregated_metrics.num_completed_requests", metrics.RequestCount, "avg", 1},
				{"*_time_*.json", "aggregated_metrics.num_error_requests", metrics.ErrorRequestCount, "avg", 1},
				{"*_time_*.json", "aggregated_metrics.run_duration", metrics.BenchmarkDuration, "avg", 1},
			})
	case "endpoints":
		file, three := "result_summary.json", []string{"avg", "p50=median", "max"}
		return slices.Concat(
			latencies(file, "ttft.", metrics.TimeToFirstToken, 1e-6, three...),
			latencies(file, "tpot.", metrics.InterTokenLatency, 1e-6, three...),
			latencies(file, "latency.", metrics.RequestLatency, 1e-6, three...),
			latencies(file, "output_sequence_lengths.", metrics.OutputSequenceLength, 1, three...),
			[]own{
				{file, "qps", metrics.RequestThroughput, "avg", 1},
				{file, "tps", metrics.OutputTokenThroughput, "avg", 1},
				{file, "n_samples_completed", metrics.RequestCount, "avg", 1},
				{file, "n_samples_failed", metrics.ErrorRequestCount, "avg", 1},
				{file, "duration_ns", metrics.BenchmarkDuration, "avg", 1e-9},
			})
	}
	return nil
}

// at finds a number in a document by names and places of a list.
func at(t *testing.T, doc any, place string) float64 {
	t.Helper()
	for name := range strings.SplitSeq(place, ".") {
		switch x := doc.(type) {
		case map[string]any:
			doc = x[name]
		case []any:
			doc = x[name[0]-'0']
		}
	}
	v, ok := doc.(float64)
	if !ok {
		t.Fatalf("%s is not a number", place)
	}
	return v
}

func document(t *testing.T, path string) (doc any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &doc)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return doc
}

// pairPath is where a result of testdata/pairs lies: a file, or a folder of several.
func pairPath(tool, name string) string {
	path := filepath.Join("testdata", "pairs", tool, name)
	if _, err := os.Stat(path + ".json"); err == nil {
		return path + ".json"
	}
	return path
}

// pairNames are all results of a tool.
var pairNames = []string{
	"a1", "a2", "drawn1", "drawn2", "drawn3", "requests", "concurrency", "isl", "osl", "model", "failures",
}

// Each figure that people ask for is the one in the tool's own file, in our unit. The file is
// read here by names written down by hand, without the importers.
func TestImportedFiguresAreTheToolsOwn(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"aiperf", "endpoints", "genai-bench", "guidellm", "inference-perf"} {
		checked := 0
		for _, name := range pairNames {
			path := pairPath(tool, name)
			r, err := importer.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if r.Tool != tool || len(r.Runs) != 1 || len(r.Notes) > 0 && tool != "inference-perf" {
				t.Fatalf("%s %s: tool %s, %d runs, notes %v", tool, name, r.Tool, len(r.Runs), r.Notes)
			}
			for _, o := range ownFigures(tool) {
				file := path
				if o.file != "" {
					found, err := filepath.Glob(filepath.Join(path, o.file))
					if err != nil || len(found) != 1 {
						t.Fatalf("%s in %s: %v %v", o.file, path, found, err)
					}
					file = found[0]
				}
				got, want := math.NaN(), at(t, document(t, file), o.place)*o.factor
				for i := range r.Runs[0].Stats {
					if s := &r.Runs[0].Stats[i]; s.Tag == o.metric {
						got = s.Value(o.stat)
					}
				}
				if checked++; !(math.Abs(got-want) <= 1e-12*math.Abs(want)) {
					t.Errorf("%s %s: %s %s is %v, %s says %v", tool, name, o.metric, o.stat, got, o.place, want)
				}
			}
		}
		t.Logf("%s: %d figures", tool, checked)
	}
}

// endpoints counts the requests that failed among those that it completed, and in its rate: of 40
// requests 12 failed, 28 answers of 16 tokens came, and its rate is 40 over its duration.
func TestFailuresOfEndpoints(t *testing.T) {
	t.Parallel()
	path := pairPath("endpoints", "failures")
	doc := document(t, filepath.Join(path, "result_summary.json"))
	seconds := at(t, doc, "duration_ns") * 1e-9
	for place, want := range map[string]float64{
		"n_samples_completed": 40, "n_samples_failed": 12, "output_sequence_lengths.total": 28 * 16,
		"qps": 40 / seconds,
	} {
		if got := at(t, doc, place); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s is %v, want %v", place, got, want)
		}
	}
	r, err := importer.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if run := r.Runs[0]; run.OK != 28 || run.Failed != 12 {
		t.Errorf("%d ended well, %d failed", run.OK, run.Failed)
	}
	for name, want := range map[string]importer.Relation{"failures": importer.NotComparable, "a1": importer.Equal} {
		r, err := importer.Open(pairPath("endpoints", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range r.Runs[0].Definitions() {
			if (d.Metric == "qps" || d.Metric == "n_samples_completed") && d.Relation != want {
				t.Errorf("%s: %s is %s, want %s", name, d.Metric, d.Relation, want)
			}
		}
	}
}

// The single requests that were kept give the summary again.
func TestPairsRecomputed(t *testing.T) {
	t.Parallel()
	for tool, least := range map[string]int{"aiperf": 20, "genai-bench": 20, "guidellm": 8, "inference-perf": 20} {
		for _, name := range []string{"a1", "drawn1", "failures"} {
			r, err := importer.Open(pairPath(tool, name))
			if err != nil {
				t.Fatal(err)
			}
			checked, _, bad, err := r.Recompute()
			if err != nil || len(bad) > 0 || checked < least {
				t.Errorf("%s %s: %d recomputed: %v %v", tool, name, checked, bad, err)
			}
		}
	}
}

// What guidellm calls time per output token has the first wait in it: of each of its requests it is
// (last token − request) / tokens. Its inter token latency of a request is ours. Means are taken over
// tokens: where lengths differ a long answer weighs more, and the mean is another than ours.
func TestTokenTimesOfGuideLLM(t *testing.T) {
	t.Parallel()
	for name, drawn := range map[string]bool{"a1": false, "drawn1": true} {
		path := pairPath("guidellm", name)
		doc := document(t, path)
		one, _ := doc.(map[string]any)["benchmarks"].([]any)[0].(map[string]any)
		requests, _ := one["requests"].(map[string]any)["successful"].([]any)
		if len(requests) != 40 {
			t.Fatalf("%d requests", len(requests))
		}
		var whole, tokens, between, gaps, each float64
		for _, r := range requests {
			get := func(place string) float64 { return at(t, r, place) }
			sent, first := get("info.timings.request_start"), get("info.timings.first_token_iteration")
			last, n := get("info.timings.last_token_iteration"), get("output_metrics.total_tokens")
			for place, want := range map[string]float64{
				"time_per_output_token_ms": 1000 * (last - sent) / n,
				"inter_token_latency_ms":   1000 * (last - first) / (n - 1),
			} {
				if got := get(place); math.Abs(got-want) > 1e-9 {
					t.Errorf("%s is %v, its moments say %v", place, got, want)
				}
			}
			whole, tokens = whole+1000*(last-sent), tokens+n
			between, gaps = between+1000*(last-first), gaps+n-1
			each += 1000 * (last - first) / (n - 1) / 40
		}
		for place, want := range map[string]float64{
			"benchmarks.0.metrics.time_per_output_token_ms.successful.mean": whole / tokens,
			"benchmarks.0.metrics.inter_token_latency_ms.successful.mean":   between / gaps,
		} {
			if got := at(t, doc, place); math.Abs(got-want) > 1e-6 {
				t.Errorf("%s: %s is %v, its requests say %v", name, place, got, want)
			}
		}
		if apart := math.Abs(each-between/gaps) > 1e-6; apart != drawn {
			t.Errorf("%s: the mean of requests is %v, that of tokens %v", name, each, between/gaps)
		}
		r, err := importer.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		unlike := false
		for _, d := range r.Runs[0].Definitions() {
			unlike = unlike || d.Ours == metrics.InterTokenLatency && d.Relation == importer.NotComparable
		}
		if unlike != drawn {
			t.Errorf("%s: inter token latency is not comparable: %v", name, unlike)
		}
	}
}
